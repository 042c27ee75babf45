from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from pathlib import Path

import pytest

from lab import config, keys


def handshake(paths: config.Paths, server: str, name: str) -> None:
    """One TLS connection over a socket pair, verified as a client would; raises what the client raises."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(paths.pki / f"{server}.crt", paths.pki / f"{server}.key")
    near, far = socket.socketpair()

    def serve() -> None:
        with contextlib.suppress(ssl.SSLError, OSError), context.wrap_socket(far, server_side=True):
            pass

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        client = ssl.create_default_context(cafile=str(paths.pki / "ca.crt"))
        client.wrap_socket(near, server_hostname=name).close()
    finally:
        near.close()
        thread.join()


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> config.Paths:
    result = config.Paths(tmp_path_factory.mktemp("lab"))
    keys.make_all(result)
    return result


@pytest.mark.parametrize(
    ("server", "name"),
    [
        ("vcenter", "127.78.0.3"),
        ("vcenter", "vcenter.lab"),
        ("registry", "registry"),
        ("registry", "10.78.0.5"),
    ],
)
def test_certificate_is_valid_for_the_name_that_clients_use(paths: config.Paths, server: str, name: str) -> None:
    handshake(paths, server, name)


def test_certificate_of_one_server_does_not_pass_for_another(paths: config.Paths) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(paths, "registry", "127.78.0.3")


def test_another_labs_ca_does_not_pass(paths: config.Paths, tmp_path: Path) -> None:
    other = config.Paths(tmp_path)
    keys.make_all(other)
    (other.pki / "vcenter.crt").write_bytes((paths.pki / "vcenter.crt").read_bytes())
    (other.pki / "vcenter.key").write_bytes((paths.pki / "vcenter.key").read_bytes())
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(other, "vcenter", "127.78.0.3")
