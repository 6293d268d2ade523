"""Certificates on disk: whole or not at all, one file a partition."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

import privacy_plugin as pp
from privacy_plugin.errors import CertificateError
from tests.certificates import FRAME, KEYS, POLICY, store_of


def test_certificates_are_written_atomically(tmp_path, monkeypatch):
    store = store_of(tmp_path)
    before = store.path("visits").read_bytes()

    def fails(source, target):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(CertificateError, match=r"cannot write the certificate .*: OSError"):
        store.record(POLICY.judge(FRAME.assign(age=1), fingerprint=True))
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]


def test_concurrent_gates_write_complete_certificates(tmp_path):
    store = pp.CertificateStore(tmp_path, keys=KEYS)
    verdict = POLICY.judge(FRAME, fingerprint=True)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: store.record(replace(verdict, partition=str(n % 2))), range(40)))
    assert len(list(tmp_path.iterdir())) == 2
    assert store.find("visits", "0").passed
    assert store.find("visits", "1").passed


def test_names_with_any_characters_have_separate_files(tmp_path):
    store = pp.CertificateStore(tmp_path, keys=KEYS)
    names = ["../visits", "a/b", "a-b", "a b", "é" * 300, "", "CON"]
    paths = {store.path(name, partition) for name in names for partition in (None, "", "../x", "None")}
    assert len(paths) == len(names) * 4
    assert {path.parent for path in paths} == {tmp_path}
