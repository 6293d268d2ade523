"""The key that signs certificates, and what is signed with it."""

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


def signature(content: dict[str, Any], key: bytes) -> str:
    """Sign plain content; whoever has not the key can neither make this nor change the content unnoticed."""
    if not isinstance(key, bytes) or len(key) < _SHORTEST_KEY:
        raise CertificateError(f"a signing key must be at least {_SHORTEST_KEY} bytes")
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def signing_key() -> bytes:
    """Return the key that signs certificates.

    The environment variable PRIVACY_PLUGIN_KEY (at least 16 characters, for teams and schedulers), else a random
    key in the user's configuration folder, made on first use and readable by the user only.
    """
    given = os.environ.get(KEY_VARIABLE)
    if given is not None:
        if _is_plain(given):
            raise CertificateError(
                f"{KEY_VARIABLE} is too short or too plain; give at least {_SHORTEST_KEY} random characters, such as "
                "`openssl rand -hex 32` prints"
            )
        return os.fsencode(given)
    path = _configuration_folder() / "privacy_plugin" / "signing.key"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _create_key(path)
        key, found = path.read_bytes(), path.stat()
    except OSError as problem:
        raise CertificateError(
            f"no signing key at {str(path)!r} ({type(problem).__name__}); set {KEY_VARIABLE} instead"
        ) from None
    if len(key) < _SHORTEST_KEY:
        raise CertificateError(f"the key file {str(path)!r} is damaged; remove it and judge the tables again")
    _require_own(path, found)
    return key


def _is_plain(key: str) -> bool:
    """Tell whether a key is short, repeats something short, or has hardly any different characters.

    Of keys of 16 random hexadecimal digits that is less than one in 500 million, and of longer ones fewer.
    """
    repeated = (key + key).find(key, 1)  # how long the piece is that the key repeats: itself, if it repeats none
    return repeated < _SHORTEST_KEY or len(set(key)) < _FEWEST_CHARACTERS


def _require_own(path: Path, found: os.stat_result) -> None:
    """Refuse a key that others have; where a disk or a mount decides who may read, only the variable helps."""
    if os.name != "posix":
        return
    if found.st_uid != os.geteuid():
        raise CertificateError(f"the key file {str(path)!r} belongs to another user; set {KEY_VARIABLE} instead")
    if found.st_mode & 0o077:
        raise CertificateError(
            f"others can read the key file {str(path)!r}, and its signatures prove nothing; remove it, or set "
            f"{KEY_VARIABLE} where it would be made anew for all to read"
        )


def _configuration_folder() -> Path:
    """Return the user's own; one that is relative would be another in every folder, and in the midst of a project."""
    given = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    try:
        folder = given if given.is_absolute() else Path.home() / ".config"
    except RuntimeError:  # a user without a home, as containers have
        folder = given
    if not folder.is_absolute():
        raise CertificateError(f"this user has no home for a signing key; set {KEY_VARIABLE} instead")
    return folder


def _create_key(path: Path) -> None:
    """Create the key file unless it is there; a link makes it appear whole, whoever comes first."""
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
