"""A table, its policy and a store of certificates, for the tests of what may leave."""

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.errors import CertificateError
from privacy_plugin.sources import open_source

KEY = b"0123456789abcdef0123456789abcdef"


GIVEN = {
    "dataset": "visits",
    "columns": {"name": "identifier", "age": "quasi_identifier", "disease": "sensitive"},
    "requirements": [{"k_anonymity": {"at_least": 2}}],
}


POLICY = pp.Policy.from_dict(GIVEN)


FRAME = pd.DataFrame({"age": [30, 30, 41, 41], "disease": ["flu", "cold", "flu", None]})


def store_of(tmp_path, *, frame=FRAME, policy=POLICY, partition=None):
    store = pp.CertificateStore(tmp_path, key=KEY)
    store.record(policy.judge(frame, partition=partition, fingerprint=True))
    return store


def refused(store, *, frame=FRAME, policy=POLICY, partition=None, words=None):
    with pytest.raises(CertificateError, match=words):
        store.require(policy, open_source(frame), partition=partition)
