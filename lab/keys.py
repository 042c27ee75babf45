"""Passwords, ssh keys and certificates of one lab: made once, kept until `down`."""

from __future__ import annotations

import datetime
import ipaddress
import secrets
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from . import config, files

_LIFETIME = datetime.timedelta(days=365)


def make_all(paths: config.Paths) -> list[str]:
    """Makes what is missing and returns the names of the new files; an existing key is never replaced."""
    made: list[str] = []
    for name in ("switch", "vcenter", "registry"):
        if not paths.secret(name).exists():
            files.write(paths.secret(name), secrets.token_urlsafe(18), 0o600)
            made.append(f"secrets/{name}_password")
    for path, comment in ((paths.controller_key, "rocemesh-lab controller"), (paths.switch / "host_key", "sw01")):
        if not path.exists():
            _ssh_key(path, comment)
            made.append(str(path.relative_to(paths.root)))
    made += _pki(
        paths,
        {
            "vcenter": [
                x509.DNSName("vcenter.lab"),
                *(x509.IPAddress(ipaddress.ip_address(address)) for address in config.VCENTERS.values()),
            ],
            "registry": [
                x509.DNSName(config.REGISTRY_NAME),
                x509.IPAddress(ipaddress.ip_address(config.REGISTRY_IP)),
            ],
        },
    )
    return made


def _ssh_key(path: Path, comment: str) -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    files.write(path, private, 0o600)
    files.write(path.with_name(path.name + ".pub"), public.decode() + f" {comment}\n")


def _name(common_name: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "rocemesh lab (SIMULATED data centre)"),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
    )


def _pki(paths: config.Paths, servers: dict[str, list[x509.GeneralName]]) -> list[str]:
    """One CA and a certificate per server. The CA's own key signs these and is then forgotten: nothing of the lab
    can issue a certificate later, so a person may put ca.crt into a trust store without handing out that power."""
    wanted = [paths.pki / "ca.crt", *(paths.pki / f"{name}.{end}" for name in servers for end in ("crt", "key"))]
    if all(path.exists() for path in wanted):
        return []
    now = datetime.datetime.now(datetime.timezone.utc)
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca_name = _name("rocemesh lab CA")

    def issue(
        subject: x509.Name, public: ec.EllipticCurvePublicKey, extensions: list[tuple[x509.ExtensionType, bool]]
    ) -> x509.Certificate:
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(ca_name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            # Ten minutes back: the clock of a container host may be behind this one's.
            .not_valid_before(now - datetime.timedelta(minutes=10))
            .not_valid_after(now + _LIFETIME)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), False)
        )
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        return builder.sign(ca_key, hashes.SHA256())

    def usage(*, signs_certificates: bool) -> x509.KeyUsage:
        return x509.KeyUsage(
            digital_signature=not signs_certificates,
            key_cert_sign=signs_certificates,
            crl_sign=signs_certificates,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )

    ca = issue(
        ca_name,
        ca_key.public_key(),
        [(x509.BasicConstraints(ca=True, path_length=0), True), (usage(signs_certificates=True), True)],
    )
    files.write(paths.pki / "ca.crt", ca.public_bytes(serialization.Encoding.PEM))
    for name, alternatives in servers.items():
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = issue(
            _name(name),
            key.public_key(),
            [
                (x509.BasicConstraints(ca=False, path_length=None), True),
                (usage(signs_certificates=False), True),
                (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False),
                (x509.SubjectAlternativeName(alternatives), False),
            ],
        )
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        files.write(paths.pki / f"{name}.key", private, 0o600)
        files.write(paths.pki / f"{name}.crt", certificate.public_bytes(serialization.Encoding.PEM))
    return [str(path.relative_to(paths.root)) for path in wanted]


def known_hosts_line(ip: str, port: int, public_key: str) -> str:
    """One line of ssh's known_hosts; ``public_key`` is the content of a .pub file (its comment is left out)."""
    kind, blob = public_key.split()[:2]
    return f"{ip if port == 22 else f'[{ip}]:{port}'} {kind} {blob}"
