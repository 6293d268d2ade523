"""Locations of files: paths of this machine, and objects in S3, Google Cloud Storage or Azure, read through obstore.

Credentials come from the environment (AWS_ACCESS_KEY_ID, GOOGLE_SERVICE_ACCOUNT, AZURE_STORAGE_ACCOUNT_NAME, ...) and
are never part of a location. Errors of a store are raised as OSError: their own messages quote requests.
"""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from privacy_plugin.errors import ObjectStoreError, SourceError

SCHEMES = ("s3", "gs", "az", "abfss")

_OBJECT = re.compile(rf"(?P<scheme>{'|'.join(SCHEMES)})://?(?P<bucket>[^/]+)(?:/(?P<key>.*))?", re.DOTALL)
_RETRIES: Any = {"max_retries": 2, "retry_timeout": timedelta(seconds=20)}
_CLIENT: Any = {"connect_timeout": timedelta(seconds=5), "timeout": timedelta(minutes=10)}
_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION",
    "gs": "GOOGLE_SERVICE_ACCOUNT",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}


@dataclass(frozen=True, kw_only=True)
class ObjectPath:
    """A file or folder in an object store, with the methods of a path that this package needs.

    Writing is atomic: an object is the old one or the new one.
    """

    scheme: str
    bucket: str
    key: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.key}"

    def __truediv__(self, name: str) -> "ObjectPath":
        return self._with_key(str(PurePosixPath(self.key) / name))

    @property
    def name(self) -> str:
        """The last part of the key."""
        return PurePosixPath(self.key).name

    @property
    def stem(self) -> str:
        """The name without its suffix."""
        return PurePosixPath(self.key).stem

    @property
    def suffix(self) -> str:
        """The suffix of the name."""
        return PurePosixPath(self.key).suffix

    @property
    def parent(self) -> "ObjectPath":
        """The folder of the object."""
        parent = str(PurePosixPath(self.key).parent)
        return self._with_key("" if parent == "." else parent)

    def with_name(self, name: str) -> "ObjectPath":
        """Return another object of the same folder."""
        return self.parent / name

    def _with_key(self, key: str) -> "ObjectPath":
        return ObjectPath(scheme=self.scheme, bucket=self.bucket, key=key)

    def absolute(self) -> "ObjectPath":
        """Return the location itself: it has no working directory."""
        return self

    resolve = absolute

    def samefile(self, other: object) -> bool:
        """Return whether the other location is the same object."""
        return self == other

    def exists(self) -> bool:
        """Return whether the object exists, or any below it."""
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        """Return whether the object exists."""
        try:
            self.state()
        except FileNotFoundError:
            return False
        return True

    def is_dir(self) -> bool:
        """Return whether there are objects below the key."""
        return next(self.files(), None) is not None

    def mkdir(self, **_: Any) -> None:
        """Do nothing: folders of an object store exist as soon as they hold an object."""

    def state(self) -> tuple[Any, ...]:
        """Return what changes when the object is replaced."""
        with self._errors():
            found = _library().head(_store(self.scheme, self.bucket), self.key)
        return found["e_tag"], found["version"], found["size"], found["last_modified"]

    def files(self) -> "Iterator[ObjectPath]":
        """Return all objects below the key."""
        with self._errors():
            pages = _library().list(_store(self.scheme, self.bucket), prefix=self.key or None)
            for page in pages:
                yield from (self._with_key(each["path"]) for each in page)

    def read_bytes(self) -> bytes:
        """Return the content."""
        with self._errors():
            return bytes(_library().get(_store(self.scheme, self.bucket), self.key).bytes())

    def read_text(self, encoding: str = "utf-8") -> str:
        """Return the content as text."""
        return self.read_bytes().decode(encoding)

    def write_text(self, text: str, encoding: str = "utf-8") -> None:
        """Replace the object."""
        with self._errors():
            _library().put(_store(self.scheme, self.bucket), self.key, text.encode(encoding))

    def download(self, path: Path) -> None:
        """Write the content to a file of this machine."""
        with open(path, "wb") as file, self._errors():
            for piece in _library().get(_store(self.scheme, self.bucket), self.key).stream():
                file.write(piece)

    def upload(self, path: Path) -> None:
        """Replace the object by a file of this machine."""
        with self._errors():
            _library().put(_store(self.scheme, self.bucket), self.key, path)

    def unlink(self, missing_ok: bool = False) -> None:
        """Delete the object."""
        with self._errors():
            _library().delete(_store(self.scheme, self.bucket), self.key)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise OSError with a sentence of ours instead of the errors of obstore, which quote URLs and headers."""
        exceptions = _library().exceptions
        names = _CREDENTIALS.get(self.scheme, _CREDENTIALS["az"])
        try:
            yield
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self)) from None
        except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError):
            reason = f"access is denied; check {names} and the rights of that account"
            raise ObjectStoreError(errno.EACCES, reason, str(self)) from None
        except exceptions.BaseError:
            reason = f"the store cannot be reached or refuses the request; check {names}, the address and the network"
            raise ObjectStoreError(errno.EIO, reason, str(self)) from None


Location = Path | ObjectPath


def parse_location(place: object) -> Location:
    """Return the location of a path or URL; a URL may have lost a slash, as it does in a `Path`.

    >>> parse_location("s3://clinic/visits.csv").name, parse_location("visits.csv")
    ('visits.csv', PosixPath('visits.csv'))
    """
    if isinstance(place, Path | ObjectPath) and not _OBJECT.match(str(place)):
        return place
    found = _OBJECT.fullmatch(str(place))
    if found is None:
        return Path(str(place))
    bucket = found["bucket"]
    if "@" in bucket and (found["scheme"] != "abfss" or ":" in bucket):
        raise SourceError("a URL with a user or password is not read; set credentials in the environment instead")
    if "?" in str(place) or "#" in str(place):
        raise SourceError("a URL of an object has no options after '?' or '#'; set credentials in the environment")
    return ObjectPath(scheme=found["scheme"], bucket=bucket, key=(found["key"] or "").strip("/"))


@cache
def _library() -> Any:
    try:
        import obstore
    except ModuleNotFoundError:
        raise SourceError(
            "s3://, gs:// and az:// need the package obstore; pip install 'privacy-plugin[cloud]'"
        ) from None
    return obstore


def _store(scheme: str, bucket: str) -> Any:
    """Return the store of a bucket, made anew where the credentials of the environment have changed."""
    given = tuple(sorted((k, v) for k, v in os.environ.items() if k.startswith(("AWS_", "GOOGLE_", "AZURE_"))))
    return _cached_store(scheme, bucket, given)


@cache
def _cached_store(scheme: str, bucket: str, _: tuple[tuple[str, str], ...]) -> Any:
    _library()
    from obstore.store import from_url

    # options that are given here replace those of the environment
    plain = any(os.environ.get(f"{cloud}_ALLOW_HTTP", "").lower() == "true" for cloud in ("AWS", "GOOGLE", "AZURE"))
    try:
        client: Any = {**_CLIENT, "allow_http": plain}
        return from_url(f"{scheme}://{bucket}", retry_config=_RETRIES, client_options=client)
    except (ValueError, _library().exceptions.BaseError):  # an account that is not named; the message may quote the URL
        reason = f"the settings of the store are missing or wrong; set {_CREDENTIALS.get(scheme, _CREDENTIALS['az'])}"
        raise ObjectStoreError(errno.EACCES, reason, f"{scheme}://{bucket}") from None
