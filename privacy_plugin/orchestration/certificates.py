"""Where gates keep what they found, as a Dagster resource: certificates, reports, plans, papers of releases."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field, PrivateAttr

from privacy_plugin.atomic_write import beside
from privacy_plugin.gate.certificate import Certificate, CertificateStore
from privacy_plugin.orchestration.launching import replaced_at_launch, require_as_defined

OUTPUT_VARIABLE = "PRIVACY_PLUGIN_OUTPUT"
REPORTS_VARIABLE = "PRIVACY_PLUGIN_REPORTS_URL"
DEFAULT_FOLDER = "demo-output"
_LONGEST_NAME = 80


class CertificateStoreResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """A folder for what gates find; the key that signs certificates comes from the environment, never from here.

    Every gate has its own certificates, so that two gates of one dataset (as it is, and generalized) do not
    overwrite each other's word. The key is PRIVACY_PLUGIN_KEY or the user's own key file; runs on several machines
    need the former and a folder they share. A run's configuration cannot name another folder or address: both are
    shown, and a configuration may ask for any variable of the environment, the key among them.
    """

    folder: str = Field(default=DEFAULT_FOLDER, description="Folder of certificates, reports and plans")
    reports_url: str = Field(
        default="",
        description=f"Address under which the folder of reports is served; left out, {REPORTS_VARIABLE} names it",
    )

    _replaced: bool = PrivateAttr(default=False)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Notice a run whose configuration names another place than the definitions; whoever uses it is told."""
        self._replaced = replaced_at_launch(context, {"folder": self.folder, "reports_url": self.reports_url})

    @classmethod
    def from_environment(cls, *, default: str = DEFAULT_FOLDER) -> "CertificateStoreResource":
        """Take the folder from PRIVACY_PLUGIN_OUTPUT, or the default."""
        return cls(folder=os.environ.get(OUTPUT_VARIABLE) or default)

    def store(self, gate: dg.AssetKey) -> CertificateStore:
        """Return the certificates of the gate of one asset."""
        return CertificateStore(self._root / "certificates" / file_name(gate))

    def report_path(self, gate: dg.AssetKey, partition: str | None = None) -> Path:
        """Return where the report of a gate lies."""
        return self._made("reports") / f"{file_name(gate, partition)}.html"

    def report_metadata(self, path: Path) -> dict[str, Any]:
        """Return what Dagster shows of a report: where it is, and a link or what to do to have one.

        No browser follows a link from Dagster's pages to a file, so without an address there is none.
        """
        where = {"report file": dg.MetadataValue.path(str(path))}
        address = self.reports_url or os.environ.get(REPORTS_VARIABLE, "")
        if address:
            return {"report": dg.MetadataValue.url(f"{address.rstrip('/')}/{path.name}"), **where}
        advice = f"open the report file in a browser; for a link here, serve its folder and set {REPORTS_VARIABLE}"
        return {"report": dg.MetadataValue.text(advice), **where}

    def plan_path(self, asset: dg.AssetKey, partition: str | None = None) -> Path:
        """Return where the plan lies that made an anonymized asset."""
        return self._made("plans") / f"{file_name(asset, partition)}.json"

    @contextmanager
    def handing_over(
        self, release: dg.AssetKey, partition: str | None = None
    ) -> Iterator[Callable[[Certificate], Path]]:
        """Give what writes the certificate that a release goes with; it takes its place when the release has happened.

        Where the release fails, what stands there is still that of the release before.
        """
        path = self._made("releases") / f"{file_name(release, partition)}.certificate.json"
        staging = beside(path)

        def written(certificate: Certificate) -> Path:
            staging.write_text(certificate.to_json(), encoding="utf-8")
            return path

        try:
            yield written
            if staging.exists():
                os.replace(staging, path)
        finally:
            staging.unlink(missing_ok=True)

    @property
    def _root(self) -> Path:
        require_as_defined(self._replaced, "place of certificates and reports")
        return Path(self.folder).absolute()

    def _made(self, name: str) -> Path:
        folder = self._root / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def file_name(key: dg.AssetKey, partition: str | None = None) -> str:
    """Name a file after an asset and a partition: readable, safe, and different for different ones.

    >>> file_name(dg.AssetKey("visits"))
    'visits'
    """
    parts = [*key.path, *([] if partition is None else [partition])]
    plain = "-".join(parts)
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in plain)[:_LONGEST_NAME]
    if len(parts) == 1 and safe == plain:
        return safe
    separated = "\0".join([str(len(key.path)), *parts])
    return f"{safe}-{hashlib.sha256(separated.encode()).hexdigest()[:8]}"
