"""A certificate of an earlier state does not release rolled-back data, once the history has a later release."""

from collections.abc import Iterator

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.errors import CertificateError
from privacy_plugin.gate.certificate import Certificate, issue, require_certificate
from privacy_plugin.gate.verdict import Verdict
from privacy_plugin.history import release_history
from privacy_plugin.history.in_use import using_history
from privacy_plugin.sources import open_source
from tests.certificates import FRAME, KEYS, POLICY

OTHER = FRAME.assign(disease="gout")
YEARS = tuple(f"200{year}-01-01T00:00:00+00:00" for year in range(5))


def certificate_of(frame: pd.DataFrame, judged_at: str, partition: str | None = None) -> Certificate:
    found = POLICY.judge(frame, partition=partition, fingerprint=True)
    content = {name: getattr(found, name) for name in found.__dataclass_fields__}
    return issue(Verdict(**{**content, "judged_at": judged_at}), keys=KEYS)


@pytest.fixture
def history() -> Iterator[pp.ReleaseHistory]:
    with using_history(pp.ReleaseHistory("sqlite://", key=b"an example of a key, not secret")) as history:
        yield history


def released(history: pp.ReleaseHistory, certificate: Certificate, frame: pd.DataFrame, at: str) -> None:
    require(certificate, frame)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(release_history, "_now", lambda: at)
        record(history, certificate, frame)


def record(history: pp.ReleaseHistory, certificate: Certificate, frame: pd.DataFrame) -> None:
    name = f"/anywhere/visits.{certificate.release_name}.certificate.json"
    history.record(frame, policy=POLICY, certificate=name)


def require(certificate: Certificate, frame: pd.DataFrame) -> None:
    require_certificate(certificate, policy=POLICY, staged=open_source(frame), keys=KEYS)


def test_an_old_certificate_of_rolled_back_data_is_recognised(history: pp.ReleaseHistory) -> None:
    first, second = certificate_of(FRAME, YEARS[0]), certificate_of(OTHER, YEARS[2])
    released(history, first, FRAME, YEARS[1])
    require(first, FRAME)  # the same release again
    released(history, second, OTHER, YEARS[3])
    require(second, OTHER)
    with pytest.raises(CertificateError, match="release 2 of 'visits' has published other rows"):
        require(first, FRAME)
    require(certificate_of(FRAME, YEARS[4]), FRAME)  # judged again, after that release


def test_a_release_of_another_partition_does_not_count(history: pp.ReleaseHistory) -> None:
    certificate = certificate_of(FRAME, YEARS[0])
    history.record(OTHER, policy=POLICY, partition="2024-02", certificate=None)
    require(certificate, FRAME)
    history.record(OTHER, policy=POLICY, certificate=None)  # what it published is not known
    with pytest.raises(CertificateError, match="published other rows"):
        require(certificate, FRAME)


def test_without_a_history_nothing_is_known_of_later_releases() -> None:
    require(certificate_of(FRAME, YEARS[0]), FRAME)
