"""The key of the release history: people and sensitive values are stored as keyed hashes.

The key is not the one that signs certificates: that one is rotated, and people would not be recognized any more.
"""

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from privacy_plugin.atomic_write import staging_path
from privacy_plugin.errors import HistoryError

HISTORY_KEY_VARIABLE = "PRIVACY_PLUGIN_HISTORY_KEY"
_SHORTEST_KEY = 16


def history_key() -> bytes:
    """Return the key: PRIVACY_PLUGIN_HISTORY_KEY, or a random key file of this user, created on first use."""
    given = os.environ.get(HISTORY_KEY_VARIABLE)
    if given is not None:
        return require_key(os.fsencode(given))
    folder = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    try:
        path = (folder if folder.is_absolute() else Path.home() / ".config") / "privacy_plugin" / "history.key"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _create_key(path)
        found = path.stat()
        if os.name == "posix" and (found.st_uid != os.geteuid() or found.st_mode & 0o077):
            raise HistoryError(f"other users can read or own the key file of the history; set {HISTORY_KEY_VARIABLE}")
        return require_key(path.read_bytes())
    except (OSError, RuntimeError) as problem:
        raise HistoryError(
            f"cannot read or create the key file of the history ({type(problem).__name__}); set {HISTORY_KEY_VARIABLE}"
        ) from None


def require_key(key: bytes) -> bytes:
    """Return the key; raise if it is short or regular."""
    if not isinstance(key, bytes) or len(key) < _SHORTEST_KEY or len(set(key)) < 4:
        raise HistoryError(
            f"the key of the history ({HISTORY_KEY_VARIABLE}) must be at least {_SHORTEST_KEY} random bytes, for "
            "example from `openssl rand -hex 32`"
        )
    return key


def keyed_hash(key: bytes, *parts: str) -> str:
    """Return 128 bits of the HMAC-SHA256 of some texts, injectively joined."""
    content = "".join(f"{len(part)}:{part}" for part in parts)
    return hmac.new(key, content.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:32]


def encrypt(key: bytes, text: str) -> bytes:
    """Encrypt a text by AES-GCM with a key that is derived from the history's."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = secrets.token_bytes(12)
    return nonce + AESGCM(_encryption_key(key)).encrypt(nonce, text.encode(), None)


def decrypt(key: bytes, content: bytes) -> str:
    """Return the text that `encrypt` hid; raise HistoryError if it was changed."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        return AESGCM(_encryption_key(key)).decrypt(content[:12], content[12:], None).decode()
    except (InvalidTag, ValueError):
        raise HistoryError("a plan in the history was changed, or encrypted with another key") from None


def _encryption_key(key: bytes) -> bytes:
    return hmac.new(key, b"plans of releases", hashlib.sha256).digest()


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
