"""Object stores of this process: one that speaks S3 (moto's server) and one that speaks Google's."""

import logging
from contextlib import contextmanager
from unittest.mock import patch

import requests

KEY, SECRET = "AKIDTHATNOBODYHAS", "a-secret-that-nobody-may-read"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_EC2_METADATA_DISABLED": "true"}


class S3:
    """A running store. url: of a folder in its one bucket; endpoint: for AWS_ENDPOINT_URL; server: its WSGI server."""

    def __init__(self, server):
        self.server, port = server, server.port
        self.endpoint = f"http://127.0.0.1:{port}"
        self.url = "s3://bucket/folder"
        requests.put(f"{self.endpoint}/bucket", timeout=30).raise_for_status()

    @property
    def environment(self):
        """What a process needs to reach it."""
        return {**CREDENTIALS, "AWS_ENDPOINT_URL": self.endpoint, "AWS_DEFAULT_REGION": "us-east-1"}

    @property
    def objects(self):
        """name -> bytes of all that is in the bucket."""
        from moto.s3.models import s3_backends

        backend = s3_backends["123456789012"]["aws"]
        return {name: key.value for name, key in backend.buckets["bucket"].keys.items()}

    def change(self, name, data):
        """Damage an object, as nobody's software does."""
        requests.put(f"{self.endpoint}/bucket/{name}", data=data, timeout=30).raise_for_status()


@contextmanager
def s3():
    """Yield a store that lives as long as the block."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        requests.post(f"http://127.0.0.1:{server.get_host_and_port()[1]}/moto-api/reset", timeout=30).raise_for_status()
        yield S3(server._server)
    finally:
        server.stop()


@contextmanager
def google():
    """Yield the address of a folder in a store that lives as long as the block."""
    from gcp_storage_emulator.server import create_server

    server = create_server("127.0.0.1", 0, in_memory=True, default_bucket="bucket")
    with patch("builtins.print"):
        server.start()
        try:
            port = server._api._httpd.server_address[1]
            yield f"gs://anonymous@bucket/folder?endpoint_override=127.0.0.1:{port}&scheme=http&retry_limit_seconds=5"
        finally:
            server.stop()
