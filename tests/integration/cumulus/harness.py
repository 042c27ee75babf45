"""The simulated NVUE switch with a certificate of its own, and switch_roce run against it."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.integration import simulated_switch
from tests.integration.simulated_switch import ADDRESS, started

USER = "cumulus"


class Simulator(simulated_switch.Simulator):
    module = "switch_roce"

    @property
    def options(self) -> dict[str, Any]:
        return {**super().options, "username": USER, "ca_path": str(self.trust), "system": "cumulus"}

    @property
    def role(self) -> dict[str, Any]:
        return {
            **super().role,
            "rocemesh_switch_driver": "cumulus",
            "switch_port": self.port,
            "switch_username": USER,
            "switch_ca_path": str(self.trust),
            "switch_ports": ["swp1-4"],
        }


def certificate(directory: Path, name: str, addresses: tuple[str, ...] = (ADDRESS,)) -> tuple[Path, Path]:
    """A certificate that signed itself, as a switch has one, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"SIMULATED {name}")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=10))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]), False
        )
        .sign(key, hashes.SHA256())
    )
    public, private = directory / f"{name}.crt", directory / f"{name}.key"
    public.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.touch(0o600)
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return public, private


@contextlib.contextmanager
def running(directory: Path, transport: str, *arguments: str) -> Iterator[Simulator]:
    directory.mkdir(parents=True, exist_ok=True)
    trust, key = certificate(directory, "server")
    words = ("--certificate", str(trust), "--key", str(key), *arguments)
    with started(f"lab.{transport}", directory, *words) as (port, control):
        yield Simulator(port, control, trust, directory)
