"""Verify what a recipient got: the certificate's signature, its validity, and that the content is what it certifies.

Neither the policy nor the source is needed, and nothing is asked over a network: a public key, a certificate and the
table suffice. A table in the engine that was judged is compared by that engine's fingerprint; any other table (a
Parquet file exported from a database) by the content fingerprint, which is the same in every engine. In CSV every value
is text, so that a CSV file can be verified only if it was released as one.
"""

from privacy_plugin.errors import CertificateError
from privacy_plugin.gate.certificate import Certificate, ReleasedTable, require_current, require_signature
from privacy_plugin.gate.keyring import Keyring
from privacy_plugin.sources import Source
from privacy_plugin.sources.fingerprint import LOCAL_SCHEME, fingerprint_table


def verify_table(source: Source, certificate: Certificate, *, keys: Keyring) -> ReleasedTable:
    """Return the certified table that this is; raise CertificateError if it is none, or the certificate is not valid.

    The file may hold more than its rows (metadata of a Parquet file); that is not covered.
    """
    require_signature(certificate, keys)
    if not certificate.passed:
        raise CertificateError("this is a refusal: the gate did not pass, and nothing may be released under it")
    require_current(certificate)
    candidates = [table for table in certificate.tables if set(table.fingerprints[0].columns) == set(source.columns)]
    if not candidates or len(set(source.columns)) != len(source.columns):
        raise CertificateError("the table has other columns than the certified one")
    own = source.fingerprint(source.columns)
    compared = own.scheme in {found.scheme for table in candidates for found in table.fingerprints}
    for table in candidates:
        if own in table.fingerprints:
            return table
    portable = [table for table in candidates if any(found.scheme == LOCAL_SCHEME for found in table.fingerprints)]
    if portable and own.scheme != LOCAL_SCHEME:
        content = fingerprint_table(source.frequencies(sorted(source.columns)))
        for table in portable:
            if content in table.fingerprints:
                return table
    elif not compared:
        raise CertificateError(
            "this table cannot be compared: it was judged in another engine, with too many rows for a fingerprint that "
            "every engine computes; verify it in the database where it was released"
        )
    raise CertificateError("the content is not what was certified")
