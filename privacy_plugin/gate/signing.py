"""The signing key of certificates, and the signature."""

import hashlib
import hmac
import json
import os
import secrets
from pathlib import Path
from typing import Any

from privacy_plugin.atomic_write import staging_path
from privacy_plugin.errors import CertificateError

KEY_VARIABLE = "PRIVACY_PLUGIN_KEY"
_SHORTEST_KEY = 16
_FEWEST_CHARACTERS = 4


def sign(content: dict[str, Any], key: bytes) -> str:
    """Return the HMAC-SHA256 of JSON content; raise if the key is too short."""
    if not isinstance(key, bytes) or len(key) < _SHORTEST_KEY:
        raise CertificateError(f"a signing key must have at least {_SHORTEST_KEY} bytes")
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def signing_key() -> bytes:
    """Return the key that signs certificates.

    That is the environment variable PRIVACY_PLUGIN_KEY (at least 16 characters, for teams and schedulers), or a random
    key file in the user's configuration folder, created on first use and readable by the user only.
    """
    given = os.environ.get(KEY_VARIABLE)
    if given is not None:
        if _is_weak(given):
            raise CertificateError(
                f"{KEY_VARIABLE} is too short or too regular; set it to at least {_SHORTEST_KEY} random characters, "
                "for example with `openssl rand -hex 32`"
            )
        return os.fsencode(given)
    path = _configuration_folder() / "privacy_plugin" / "signing.key"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _create_key(path)
        key, found = path.read_bytes(), path.stat()
    except OSError as problem:
        raise CertificateError(
            f"cannot read or create the key file {str(path)!r} ({type(problem).__name__}); set {KEY_VARIABLE} instead"
        ) from None
    if len(key) < _SHORTEST_KEY:
        raise CertificateError(f"the key file {str(path)!r} is damaged; delete it and judge the tables again")
    _require_private(path, found)
    return key


def _is_weak(key: str) -> bool:
    """Return whether a key is short, repeats a short piece, or has fewer than four different characters.

    Of keys of 16 random hexadecimal digits, less than one in 500 million is rejected; of longer keys, fewer.
    """
    repeated = (key + key).find(key, 1)  # length of the shortest piece whose repetition is the key
    return repeated < _SHORTEST_KEY or len(set(key)) < _FEWEST_CHARACTERS


def _require_private(path: Path, found: os.stat_result) -> None:
    """Raise if other users can read the key file or own it; where a mount sets the mode, the variable is needed."""
    if os.name != "posix":
        return
    if found.st_uid != os.geteuid():
        raise CertificateError(f"the key file {str(path)!r} belongs to another user; set {KEY_VARIABLE} instead")
    if found.st_mode & 0o077:
        raise CertificateError(
            f"other users can read the key file {str(path)!r}, so that its signatures prove nothing; delete it to "
            f"create a new one, or set {KEY_VARIABLE} if the file system does not support private files"
        )


def _configuration_folder() -> Path:
    """Return the user's configuration folder; a relative path would depend on the working directory."""
    given = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    try:
        folder = given if given.is_absolute() else Path.home() / ".config"
    except RuntimeError:  # a user without a home directory, as in containers
        folder = given
    if not folder.is_absolute():
        raise CertificateError(f"this user has no home directory for a signing key; set {KEY_VARIABLE} instead")
    return folder


def _create_key(path: Path) -> None:
    """Create the key file unless it exists; a hard link makes it appear atomically, also in concurrent runs."""
    if path.exists():
        return
    staging = staging_path(path)
    descriptor = os.open(staging, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(32))
    try:
        os.link(staging, path)
    except FileExistsError:
        pass
    finally:
        staging.unlink()
