"""A local S3 server (moto) for tests, started once a session, on first use."""

import atexit
import secrets
import socket
import subprocess
import sys
import time
from functools import cache

import boto3
import pytest


def s3_bucket(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the URL of a new bucket; the environment names the server and its credentials until the test ends."""
    address = _server()
    for name, value in {
        "AWS_ACCESS_KEY_ID": "tester",
        "AWS_SECRET_ACCESS_KEY": "zqsecret-of-the-store",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": address,
        "AWS_ALLOW_HTTP": "true",
        "NO_PROXY": "127.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)
    name = f"clinic-{secrets.token_hex(6)}"
    boto3.client("s3", endpoint_url=address).create_bucket(Bucket=name)
    return f"s3://{name}"


@cache
def _server() -> str:
    """Start the server in a process of its own: a client that keeps Python's lock would wait for a thread for ever."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(_end, running)
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return f"http://127.0.0.1:{port}"
        time.sleep(0.1)
    raise RuntimeError("moto's server did not start")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    process.wait(timeout=20)
