"""A certificate that was changed, damaged or signed by another is none."""

import copy
import json
from dataclasses import replace

import pytest

import privacy_plugin as pp
from privacy_plugin.gate.keyring import Keyring
from tests.certificates import FRAME, KEY, OTHER_KEY, refused, store_of


def leaves(value, path=()):
    if isinstance(value, dict) and value:
        return [leaf for key, item in value.items() for leaf in leaves(item, (*path, key))]
    if isinstance(value, list) and value:
        return [leaf for number, item in enumerate(value) for leaf in leaves(item, (*path, number))]
    return [(path, value)]


def rewritten(issued, statement):
    return replace(issued, payload=json.dumps(statement).encode()).to_json()


def test_any_changed_added_or_removed_field_is_detected(tmp_path):
    store = store_of(tmp_path)
    path, issued = store.path("visits"), store.find("visits")
    places = leaves(issued.statement)
    assert len(places) > 30
    for (*parents, last), value in places:
        for damage in ("change", "remove"):
            tampered = copy.deepcopy(issued.statement)
            inner = tampered
            for name in parents:
                inner = inner[name]
            if damage == "remove":
                del inner[last]
            else:
                inner[last] = (not value) if isinstance(value, bool) else f"{value} "
            path.write_text(rewritten(issued, tampered))
            refused(store, words="changed after it was issued")
    path.write_text(rewritten(issued, {**issued.statement, "extra": 1}))
    refused(store, words="changed after it was issued")


def test_a_refusal_cannot_be_turned_into_a_pass(tmp_path):
    bad = FRAME.assign(age=[1, 2, 3, 4])
    store = store_of(tmp_path, frame=bad)
    issued = store.find("visits")
    forged = {**issued.statement, "predicate": {**issued.content, "passed": True}}
    store.path("visits").write_text(rewritten(issued, forged))
    refused(store, frame=bad, words="changed after it was issued")


@pytest.mark.parametrize("signature", ["", "AAAA", "A" * 88, "é" * 64, None, 5, [1], "\ud800"])
def test_a_false_signature_is_detected(tmp_path, signature):
    store = store_of(tmp_path)
    path = store.path("visits")
    envelope = json.loads(path.read_text())
    path.write_text(json.dumps({**envelope, "signatures": [{"keyid": KEY.id, "sig": signature}]}))
    refused(store)
    path.write_text(json.dumps({**envelope, "signatures": []}))
    refused(store, words="no signature")


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"{}", b'{"content": {}}',
     b'{"content": 5, "signature": "x"}', b'{"payloadType": "application/vnd.in-toto+json"}', b"\xff\xfe",
     b"[" * 10**5],
    ids=lambda content: repr(content[:30]),
)  # fmt: skip
def test_a_damaged_certificate_is_rejected(tmp_path, content):
    store = store_of(tmp_path)
    store.path("visits").write_bytes(content)
    refused(store)


def test_an_unreadable_certificate_is_rejected(tmp_path):
    store = store_of(tmp_path)
    store.path("visits").unlink()
    store.path("visits").mkdir()
    refused(store, words="cannot read the certificate")


def test_a_certificate_signed_with_another_key_is_rejected(tmp_path):
    store_of(tmp_path)
    refused(pp.CertificateStore(tmp_path, keys=Keyring.of(OTHER_KEY)), words="signed with another key")
