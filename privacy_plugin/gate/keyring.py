"""Find the keys of certificates: the private key that signs, the public keys that are trusted, the revoked ones.

Environment variables come first, for schedulers and containers; otherwise a folder of key files, private to its user.
Several public keys are valid at once: make a new key, keep the old public key until its certificates are replaced, then
revoke it. A revoked key closes every gate it signed.
"""

import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from privacy_plugin.atomic_write import staging_path, sync_folder, write_atomically
from privacy_plugin.errors import CertificateError, unknown_name
from privacy_plugin.gate.signing import SEED_BYTES, PublicKey, SigningKey

KEY_VARIABLE = "PRIVACY_PLUGIN_KEY"
FOLDER_VARIABLE = "PRIVACY_PLUGIN_KEY_FOLDER"
PUBLIC_KEYS_VARIABLE = "PRIVACY_PLUGIN_PUBLIC_KEYS"
SEALING_VARIABLE = "PRIVACY_PLUGIN_SEALING_SECRET"
_FIRST = "first"


@dataclass(frozen=True)
class Keyring:
    """The keys in use: at most one that signs, any number of trusted public keys, ids of revoked keys, and secrets.

    >>> keys = Keyring.of(SigningKey.generate())
    >>> keys.signing_key.id in keys.public
    True
    """

    public: Mapping[str, PublicKey]
    private: SigningKey | None = field(default=None, repr=False)
    revoked: frozenset[str] = frozenset()
    sealing: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, key: SigningKey, *trusted: PublicKey, revoked: frozenset[str] = frozenset()) -> "Keyring":
        """Return a keyring that signs with one key and also trusts others."""
        public = {found.id: found for found in (key.public, *trusted)}
        return cls(public=public, private=key, revoked=revoked, sealing={key.id: key.sealing})

    @cached_property
    def signing_key(self) -> SigningKey:
        """The key that signs; raise CertificateError if there is none or it is revoked."""
        if self.private is None:
            raise CertificateError(f"no private key; set {KEY_VARIABLE}, or make one: privacy-plugin keys new")
        if self.private.id in self.revoked:
            raise CertificateError(
                f"the private key {self.private.id} is revoked; make another one: privacy-plugin keys new"
            )
        return self.private

    def sealing_secret(self, key_id: str) -> bytes:
        """Return the secret that sealed the digests of a certificate; raise CertificateError if it is not here."""
        if key_id not in self.sealing:
            raise CertificateError(
                f"this policy has a unit or compares with a population, whose digests key {key_id} has sealed; give "
                f"the release its sealing secret in {SEALING_VARIABLE} (the file .seal of that key)"
            )
        return self.sealing[key_id]


def load_keyring(*, signing: bool = False) -> Keyring:
    """Return the keys of the environment or of the key folder.

    `signing`: create a first key if none exists. PRIVACY_PLUGIN_KEY is a private key (64 hexadecimal digits or PEM);
    PRIVACY_PLUGIN_PUBLIC_KEYS lists files or folders of trusted public keys, separated like PATH; without it, the
    public key of PRIVACY_PLUGIN_KEY is trusted, or every key of the key folder.
    """
    given, listed = os.environ.get(KEY_VARIABLE), os.environ.get(PUBLIC_KEYS_VARIABLE)
    needed = given is None and (listed is None or signing)  # a container with variables may have no home directory
    folder = KeyFolder(signing=signing and given is None) if needed or os.environ.get(FOLDER_VARIABLE) else None
    private: SigningKey | None = None
    known: list[SigningKey] = []
    if given is not None:
        private = _from_variable(given)
        known = [private]
    elif folder is not None:
        known = folder.private_keys()
        if signing and not known:
            known = [folder.create_first()]
        usable = [key for key in known if key.id not in folder.revoked()]
        private = max(usable or known, key=lambda key: key.created, default=None)
    places = [Path(place) for place in (listed or "").split(os.pathsep) if place]
    trusted = [found for place in places for found in _read_public(place)]
    if listed is None:
        trusted = [key.public for key in known]
        trusted += [] if given is not None or folder is None else folder.public_keys()
    revoked = _revoked_near(places) | (folder.revoked() if folder is not None else frozenset())
    return Keyring(
        public={key.id: key for key in trusted},
        private=private,
        revoked=revoked,
        sealing=_sealing_secrets(known, trusted, folder, places),
    )


class KeyFolder:
    """A folder of key files: `<name>.key` (private, mode 0600), `.pub`, `.seal` (mode 0600) and `<id>.revoked`."""

    def __init__(self, path: str | Path | None = None, *, signing: bool = False) -> None:
        """Use PRIVACY_PLUGIN_KEY_FOLDER or the user's configuration folder if no path is given."""
        self.path = Path(path) if path is not None else _key_folder()
        if signing:
            self._create()
        _require_closed(self.path)

    def _create(self) -> None:
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as problem:
            raise CertificateError(
                f"cannot create the key folder {str(self.path)!r} ({type(problem).__name__}); set {KEY_VARIABLE} or "
                f"{FOLDER_VARIABLE}"
            ) from None

    def private_keys(self) -> list[SigningKey]:
        """Return every private key of the folder."""
        return [_read_private(path) for path in self._files("*.key")]

    def public_keys(self) -> list[PublicKey]:
        """Return every public key of the folder."""
        return [_parse_public(path) for path in self._files("*.pub")]

    def revoked(self) -> frozenset[str]:
        """Return the ids of revoked keys."""
        return frozenset(path.stem for path in self._files("*.revoked"))

    def sealing_secrets(self) -> dict[str, bytes]:
        """Return the sealing secrets by key id."""
        return dict(_read_sealing(path) for path in self._files("*.seal"))

    def create(self) -> SigningKey:
        """Create a key; from now on it signs."""
        self._create()
        key = SigningKey.generate()
        write_atomically(self.path / f"{key.id}.key", key.to_pem(), private=True)
        self._write_others(key)
        return key

    def create_first(self) -> SigningKey:
        """Create the first key unless it exists; a hard link makes it appear atomically, also in concurrent runs."""
        path = self.path / f"{_FIRST}.key"
        staging = staging_path(path.with_suffix(".new"))
        try:
            write_atomically(staging, SigningKey.generate().to_pem(), private=True)
            try:
                os.link(staging, path)
                sync_folder(self.path)
            except FileExistsError:
                pass
            finally:
                staging.unlink()
            key = _read_private(path)
            self._write_others(key)
        except OSError as problem:
            raise CertificateError(
                f"cannot write into the key folder {str(self.path)!r} ({type(problem).__name__}); set {KEY_VARIABLE}"
            ) from None
        return key

    def revoke(self, key_id: str, *, reason: str = "") -> Path:
        """Revoke a key by its id; raise CertificateError if the folder does not have it."""
        known = {key.id for key in (*self.public_keys(), *(key.public for key in self.private_keys()))}
        if key_id not in known:
            raise CertificateError(unknown_name("key", key_id, sorted(known)))
        path = self.path / f"{key_id}.revoked"
        now = datetime.now(UTC).isoformat(timespec="seconds")
        write_atomically(path, json.dumps({"key": key_id, "revoked_at": now, "reason": reason}, indent=2))
        return path

    def _write_others(self, key: SigningKey) -> None:
        write_atomically(self.path / f"{key.id}.pub", key.public.to_pem())
        write_atomically(self.path / f"{key.id}.seal", f"{key.id} {key.sealing.hex()}\n", private=True)

    def _files(self, pattern: str) -> list[Path]:
        try:
            return sorted(self.path.glob(pattern))
        except OSError as problem:
            raise CertificateError(
                f"cannot read the key folder {str(self.path)!r} ({type(problem).__name__})"
            ) from None


def read_trusted(places: Sequence[str | Path], *, revoked: Sequence[str | Path] = ()) -> Keyring:
    """Return the public keys of files or folders, and what revokes some of them.

    Keys are revoked by the files `.revoked` next to public keys, and by those that `revoked` lists: such files, folders
    of them, or text files with one key id a line.
    """
    trusted = [key for place in places for key in _read_public(Path(place))]
    withdrawn = [key_id for place in revoked for key_id in _read_revoked(Path(place))]
    return Keyring(
        public={key.id: key for key in trusted},
        revoked=_revoked_near([Path(place) for place in places]) | frozenset(withdrawn),
    )


def _read_revoked(place: Path) -> list[str]:
    """Return the ids of a revocation list; raise if it is none, because a list that is not read revokes nothing."""
    if place.is_dir():
        return [path.stem for path in place.glob("*.revoked")]
    try:
        text = place.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise CertificateError(f"cannot read the revocation list {str(place)!r} ({type(problem).__name__})") from None
    with suppress(ValueError, RecursionError):
        loaded = json.loads(text)
        if isinstance(loaded, dict) and isinstance(loaded.get("key"), str):
            return [loaded["key"]]
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    ids = [line for line in lines if line]
    if not all(re.fullmatch("[0-9a-f]{16}", found) for found in ids):
        raise CertificateError(
            f"the revocation list {str(place)!r} must have one key id a line, as `keys list` shows them, or be a file "
            ".revoked"
        )
    return ids


def _from_variable(given: str) -> SigningKey:
    try:
        return SigningKey.from_text(given)
    except CertificateError as problem:
        raise CertificateError(f"{KEY_VARIABLE}: {problem}") from None


def _read_private(path: Path) -> SigningKey:
    try:
        with open(path, encoding="utf-8") as file:
            _require_private(path, os.fstat(file.fileno()))
            return SigningKey.from_text(file.read(1 << 16))
    except (OSError, UnicodeDecodeError) as problem:
        raise CertificateError(f"cannot read the key file {str(path)!r} ({type(problem).__name__})") from None
    except CertificateError as problem:
        raise CertificateError(f"the key file {str(path)!r}: {problem}") from None


def _read_public(place: Path) -> list[PublicKey]:
    if place.is_dir():
        _require_closed(place)
        return [_parse_public(path) for path in sorted(place.glob("*.pub"))]
    return [_parse_public(place)]


def _parse_public(path: Path) -> PublicKey:
    try:
        with open(path, encoding="utf-8") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise CertificateError(f"the public key {str(path)!r} is not a file")
            if os.name == "posix" and found.st_mode & 0o002:
                raise CertificateError(f"every user can write the public key {str(path)!r}; restrict it: chmod o-w")
            return PublicKey.from_pem(file.read(1 << 16))
    except (OSError, UnicodeDecodeError) as problem:
        raise CertificateError(f"cannot read the public key {str(path)!r} ({type(problem).__name__})") from None


def _read_sealing(path: Path) -> tuple[str, bytes]:
    try:
        with open(path, encoding="utf-8") as file:
            _require_private(path, os.fstat(file.fileno()))
            return _parse_sealing(file.read(1 << 10))
    except (OSError, UnicodeDecodeError) as problem:
        raise CertificateError(f"cannot read the sealing secret {str(path)!r} ({type(problem).__name__})") from None


def _parse_sealing(text: str) -> tuple[str, bytes]:
    try:
        key_id, secret = text.split()
        parsed = bytes.fromhex(secret)
    except ValueError:
        parsed = b""
    if len(parsed) != SEED_BYTES:
        raise CertificateError("a sealing secret is a key id and 64 hexadecimal digits, as in the file .seal")
    return key_id, parsed


def _sealing_secrets(
    known: list[SigningKey], trusted: list[PublicKey], folder: KeyFolder | None, places: list[Path]
) -> dict[str, bytes]:
    """Return the secrets of private keys, of the variable, and of .seal files in the folders of public keys."""
    found = {key.id: key.sealing for key in known}
    folders = [place if place.is_dir() else place.parent for place in places]
    for path in dict.fromkeys([*([] if folder is None else [folder.path]), *folders]):
        for key in trusted:
            file = path / f"{key.id}.seal"
            if key.id not in found and file.exists():
                found.update([_read_sealing(file)])
    given = os.environ.get(SEALING_VARIABLE)
    if given:
        found.update([_parse_sealing(given)])
    return found


def _revoked_near(places: list[Path]) -> frozenset[str]:
    """Return the ids revoked by files in the folders of listed public keys."""
    folders = {place if place.is_dir() else place.parent for place in places}
    return frozenset(path.stem for folder in folders for path in folder.glob("*.revoked"))


def _require_private(path: Path, found: os.stat_result) -> None:
    """Raise if other users can read the key file or own it; where a mount sets the mode, the variable is needed."""
    if os.name != "posix":
        return
    if found.st_uid != os.geteuid():
        raise CertificateError(f"the key file {str(path)!r} belongs to another user; set {KEY_VARIABLE} instead")
    if found.st_mode & 0o077:
        raise CertificateError(
            f"other users can read the key file {str(path)!r}, so that its signatures prove nothing; revoke the key "
            f"and make a new one, or set {KEY_VARIABLE} if the file system does not support private files"
        )


def _require_closed(folder: Path) -> None:
    """Raise if every user can write into a key folder: they could add a key that is then trusted."""
    try:
        mode = folder.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as problem:
        raise CertificateError(f"cannot read the key folder {str(folder)!r} ({type(problem).__name__})") from None
    if not stat.S_ISDIR(mode):
        raise CertificateError(f"the key folder {str(folder)!r} is not a folder; set {FOLDER_VARIABLE}")
    if os.name == "posix" and mode & 0o002:
        raise CertificateError(
            f"every user can write into the key folder {str(folder)!r} and add keys; restrict it: chmod o-w, and "
            "remove keys that are not yours"
        )


def _key_folder() -> Path:
    """Return the key folder; a relative path would depend on the working directory."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        if not Path(named).is_absolute():
            raise CertificateError(f"{FOLDER_VARIABLE} must be an absolute path")
        return Path(named)
    given = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    try:
        folder = given if given.is_absolute() else Path.home() / ".config"
    except RuntimeError:  # a user without a home directory, as in containers
        folder = given
    if not folder.is_absolute():
        raise CertificateError(f"this user has no home directory for keys; set {KEY_VARIABLE} or {FOLDER_VARIABLE}")
    return folder / "privacy_plugin" / "keys"
