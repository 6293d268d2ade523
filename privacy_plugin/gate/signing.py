"""Ed25519 keys that sign certificates, and the DSSE envelope they sign.

Checks hold a private key; releases and recipients need only public keys. What a certificate must not show (digests of
data that is not released) is sealed with a secret that is derived from the private key and cannot sign: a release under
a policy with a unit or a population needs that secret too. `privacy_plugin.gate.keyring` finds the keys.
"""

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from privacy_plugin.errors import CertificateError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SEED_BYTES = 32
_FEWEST_DIFFERENT = 16
_ID_DIGITS = 16
_CREATED = "# created: "
_NOT_A_KEY = "give 64 hexadecimal digits (`openssl rand -hex 32`) or an Ed25519 key in PEM format"


@dataclass(frozen=True)
class PublicKey:
    """Verifies signatures; its `id` is the start of the SHA-256 of the key."""

    raw: bytes
    created: str = field(default="", compare=False)

    @property
    def id(self) -> str:
        """The key id that certificates name."""
        return hashlib.sha256(self.raw).hexdigest()[:_ID_DIGITS]

    def verify(self, message: bytes, signature: bytes) -> bool:
        """Return whether this key signed the message."""
        from cryptography.exceptions import InvalidSignature

        try:
            self._loaded().verify(signature, message)
        except InvalidSignature:
            return False
        return True

    def to_pem(self) -> str:
        """Return the key in PEM format (SubjectPublicKeyInfo), with its id as a comment."""
        from cryptography.hazmat.primitives import serialization

        written = self._loaded().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return f"# privacy-plugin public key {self.id}\n{_CREATED}{self.created}\n{written.decode()}"

    def _loaded(self) -> "Ed25519PublicKey":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        return Ed25519PublicKey.from_public_bytes(self.raw)

    @classmethod
    def from_pem(cls, text: str) -> "PublicKey":
        """Parse a public key; raise CertificateError for anything else."""
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            loaded = serialization.load_pem_public_key(_pem_block(text))
        except Exception:  # noqa: BLE001  the library raises many types for damaged files
            raise CertificateError("this is not an Ed25519 public key in PEM format") from None
        if not isinstance(loaded, Ed25519PublicKey):
            raise CertificateError("this is not an Ed25519 public key in PEM format")
        raw = loaded.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        return cls(raw, created=_created(text))


@dataclass(frozen=True)
class SigningKey:
    """A private Ed25519 key, as its seed of 32 bytes."""

    seed: bytes = field(repr=False)
    created: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.seed, bytes) or len(self.seed) != SEED_BYTES:
            raise CertificateError(f"a private key has {SEED_BYTES} bytes; {_NOT_A_KEY}")
        if is_guessable(self.seed):
            raise CertificateError("this private key is too regular to be random; make one: privacy-plugin keys new")

    @classmethod
    def generate(cls) -> "SigningKey":
        """Return a new random key."""
        import secrets

        return cls(secrets.token_bytes(SEED_BYTES), created=datetime.now(UTC).isoformat(timespec="microseconds"))

    @property
    def public(self) -> PublicKey:
        """The public key of this private key."""
        from cryptography.hazmat.primitives import serialization

        raw = self._loaded().public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        return PublicKey(raw, created=self.created)

    @property
    def id(self) -> str:
        """The id of the public key."""
        return self.public.id

    @property
    def sealing(self) -> bytes:
        """The secret that seals digests; it follows from the private key, but not the other way round."""
        return hmac.new(self.seed, b"privacy-plugin: seal digests", hashlib.sha256).digest()

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message."""
        return self._loaded().sign(message)

    def to_pem(self) -> str:
        """Return the private key in PEM format (PKCS8), not encrypted."""
        from cryptography.hazmat.primitives import serialization

        written = self._loaded().private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return f"# privacy-plugin private key {self.id}\n{_CREATED}{self.created}\n{written.decode()}"

    @classmethod
    def from_text(cls, text: str) -> "SigningKey":
        """Parse 64 hexadecimal digits or a private key in PEM format; raise CertificateError for anything else."""
        if "-----BEGIN" not in text:
            try:
                return cls(bytes.fromhex(text.strip()))
            except ValueError:
                raise CertificateError(f"this is not a private key; {_NOT_A_KEY}") from None
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        try:
            loaded = serialization.load_pem_private_key(_pem_block(text), password=None)
        except Exception:  # noqa: BLE001  the library raises many types for damaged files
            raise CertificateError(f"this is not a private key; {_NOT_A_KEY}, without a passphrase") from None
        if not isinstance(loaded, Ed25519PrivateKey):
            raise CertificateError(f"this private key is of another kind; {_NOT_A_KEY}")
        seed = loaded.private_bytes(
            serialization.Encoding.Raw, serialization.PrivateFormat.Raw, serialization.NoEncryption()
        )
        return cls(seed, created=_created(text))

    def _loaded(self) -> "Ed25519PrivateKey":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.seed)


def is_guessable(seed: bytes) -> bool:
    """Return whether bytes look chosen by a person: few different ones, even steps, a repeated piece, or plain text.

    Fewer than one in a billion random seeds of 32 bytes is rejected.
    """
    steps = {(after - before) % 256 for before, after in pairwise(seed)}
    repeated = (seed + seed).find(seed, 1) < len(seed)
    plain = all(32 <= octet < 127 for octet in seed)
    return repeated or plain or min(len(set(seed)), len(steps)) < _FEWEST_DIFFERENT


def seal(content: Any, secret: bytes) -> str:
    """Return a keyed hash (HMAC-SHA256) of JSON content: only holders of the secret can test guesses."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()


def encode_envelope(payload_type: str, payload: bytes) -> bytes:
    """Return the bytes that a DSSE signature covers (pre-authentication encoding, version 1).

    >>> encode_envelope("http://example.com/HelloWorld", b"hello world")
    b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    """
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def decode_base64(text: object) -> bytes:
    """Decode standard or URL-safe base64, as DSSE allows both; raise ValueError for anything else."""
    if not isinstance(text, str):
        raise ValueError("not text")
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except binascii.Error as problem:
        raise ValueError("not base64") from problem


def _pem_block(text: str) -> bytes:
    """Return the PEM block of a text with comments."""
    begin = text.find("-----BEGIN")
    return text[max(begin, 0) :].encode()


def _created(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith(_CREATED)]
    return lines[0].removeprefix(_CREATED).strip() if lines else ""
