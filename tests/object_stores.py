"""A local S3 server (moto) for tests, started once a session, on first use."""

import atexit
import secrets
from functools import cache

import boto3
import pytest
from moto.server import ThreadedMotoServer


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
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    atexit.register(server.stop)
    host, port = server.get_host_and_port()
    return f"http://{host}:{port}"
