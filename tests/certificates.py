"""A table, its policy and a store of certificates, for the tests of what may leave."""

import pandas as pd
import pytest

import privacy_plugin as pp
from privacy_plugin.errors import CertificateError
from privacy_plugin.gate.keyring import Keyring
from privacy_plugin.gate.signing import SigningKey
from privacy_plugin.sources import open_source

TEST_KEY = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
KEY = SigningKey.from_text(TEST_KEY)
OTHER_KEY = SigningKey.from_text(TEST_KEY[::-1])
KEYS = Keyring.of(KEY)


GIVEN = {
    "dataset": "visits",
    "columns": {"name": "identifier", "age": "quasi_identifier", "disease": "sensitive"},
    "requirements": [{"k_anonymity": {"at_least": 2}}],
}


POLICY = pp.Policy.from_dict(GIVEN)


FRAME = pd.DataFrame({"age": [30, 30, 41, 41], "disease": ["flu", "cold", "flu", None]})


def store_of(tmp_path, *, frame=FRAME, policy=POLICY, partition=None, keys=KEYS):
    store = pp.CertificateStore(tmp_path, keys=keys)
    store.record(policy.judge(frame, partition=partition, fingerprint=True))
    return store


def refused(store, *, frame=FRAME, policy=POLICY, partition=None, words=None):
    with pytest.raises(CertificateError, match=words):
        store.require(policy, open_source(frame), partition=partition)
