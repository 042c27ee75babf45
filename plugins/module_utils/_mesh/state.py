# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node of the mesh looks like and what is wanted of it; the parsers that let nothing odd into a key file.

Pure: no I/O, no Ansible import. Imports on Python 3.8.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import ipaddress
import json
import re
import struct
from typing import Any, Mapping, Sequence

from .._layer import ParseError, RefusedError

# The comment of a key that this collection generated starts so; only such keys are ever deleted.
KEY_COMMENT_PREFIX = "rocemesh.multinode"
# First comment line of a file that belongs to this collection as a whole.
FILE_HEADER = "# Managed by rocemesh.multinode (module ssh_container_mesh). Changes made here are overwritten."
ADOPTED_SUFFIX = ".before-rocemesh"
# The pair that a rotation will put in the place of the present one; peers accept both until it has.
NEXT_SUFFIX = ".next"

_KEY_TYPES = ("ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521")
# No @: OpenSSH would read a user or an alias pattern into it; no blank, quote, comma or wildcard: separators of the
# files in which names are written.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\Z")
_CONTAINER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\Z")
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\$?\Z")


@dataclasses.dataclass(frozen=True)
class PublicKey:
    """One OpenSSH public key; ``text`` is type and base64 without the comment."""

    text: str
    comment: str = ""

    @property
    def generated_here(self) -> bool:
        return self.comment.startswith(KEY_COMMENT_PREFIX)


@dataclasses.dataclass(frozen=True)
class Account:
    """A user of the node, as in its password database."""

    name: str
    uid: int
    gid: int
    home: str


@dataclasses.dataclass(frozen=True)
class FileState:
    """One path, relative to the home directory or absolute, not followed if it is a symbolic link.

    ``kind``: missing, file, directory, symlink or other; ``content`` only for files that were asked for (never a
    private key); ``mode`` permission bits; ``size`` in bytes, of a file.
    """

    path: str
    kind: str = "missing"
    content: bytes | None = None
    mode: int = 0
    uid: int = -1
    gid: int = -1
    size: int = -1

    @property
    def exists(self) -> bool:
        return self.kind != "missing"


@dataclasses.dataclass(frozen=True)
class KeyState:
    """A key pair. ``public``: what the ``.pub`` file says; ``derived``: the public half computed from the private key.

    ``derived`` is None without a private key, and while its mode is so open that ssh refuses to use it.
    """

    private: FileState
    public_file: FileState
    public: PublicKey | None = None
    derived: PublicKey | None = None

    @property
    def usable(self) -> PublicKey | None:
        return self.derived or self.public if self.private.exists else None


@dataclasses.dataclass(frozen=True)
class Earlier:
    """What a release with a broker wrote, by its own record (the sudoers rule and the first lines of its files).

    ``account``: its account, empty if there is none; ``busy``: a process of this account runs; ``files``: in the order
    in which access is taken away; ``directories``: those that hold nothing else, innermost first.
    """

    account: str
    busy: bool
    files: tuple[str, ...]
    directories: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class MeshState:
    """What was seen on the node. ``files`` by path, relative to the home directory or absolute; ``keys`` by path of the
    private key.

    ``local_networks``: the node's addresses as address/prefix; ``entries``: all names in each directory of the mesh;
    ``effective_uid``: who the module runs as; ``earlier``: what a release with a broker left, if anything.
    """

    account: Account
    container_account: Account
    files: Mapping[str, FileState]
    keys: Mapping[str, KeyState]
    ssh_host_keys: tuple[str, ...]
    local_networks: tuple[str, ...]
    entries: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    effective_uid: int = 0
    earlier: Earlier | None = None


@dataclasses.dataclass(frozen=True)
class Layout:
    """Where the files are. What belongs to the user is relative to the home directory, with the guide's names where it
    has any. What the container mounts is root's and lies in no home: whoever can rename or link a directory could lead
    the engine elsewhere."""

    directory: str = "/etc/rocemesh/mesh"
    ssh: str = ".ssh"
    authorized_keys: str = ".ssh/authorized_keys"
    config: str = ".ssh/config"
    config_mesh: str = ".ssh/config_mesh"
    known_hosts: str = ".ssh/known_hosts_mesh"
    script: str = ".ssh/mpicont.sh"
    host_key: str = ".ssh/id_ed25519_host"
    container_key_name: str = "id_ed25519_cont"
    key_type: str = "ed25519"
    key_bits: int = 0

    @property
    def container(self) -> str:
        """Mounted at /root/.ssh of the container, read-only."""
        return f"{self.directory}/container"

    @property
    def container_config(self) -> str:
        return f"{self.container}/config"

    @property
    def container_known_hosts(self) -> str:
        return f"{self.container}/known_hosts"

    @property
    def container_key(self) -> str:
        return f"{self.container}/{self.container_key_name}"

    @property
    def server_key(self) -> str:
        """Host key of the container's SSH server. It stays when the container is made again."""
        return f"{self.container}/ssh_host_ed25519_key"

    @property
    def server_files(self) -> tuple[str, str, str]:
        """Configuration of the container's SSH server, the keys that it accepts, the program that starts it."""
        return (f"{self.container}/sshd_config", f"{self.container}/authorized_keys", f"{self.container}/start_sshd.sh")

    @property
    def above(self) -> tuple[str, ...]:
        """The mesh's directory and all above it, outermost first."""
        parts = self.directory.strip("/").split("/")
        return tuple("/" + "/".join(parts[: count + 1]) for count in range(len(parts)))

    @property
    def blocks(self) -> tuple[str, str]:
        """Files of somebody else, in which one marked block is ours."""
        return (self.authorized_keys, self.config)

    @property
    def user_files(self) -> tuple[str, str, str]:
        """Files of the user's side that are ours as a whole; only the guide's way has them."""
        return (self.config_mesh, self.known_hosts, self.script)

    @property
    def keys(self) -> tuple[str, ...]:
        """Private keys; the second pair of the first two is there while a rotation is under way."""
        pairs = (self.host_key, self.container_key)
        return (*pairs, *(path + NEXT_SUFFIX for path in pairs), self.server_key)

    @property
    def owned(self) -> tuple[str, ...]:
        """Files that are ours as a whole."""
        return (*self.user_files, self.container_config, self.container_known_hosts, *self.server_files)


MODERN = Layout()
GUIDE = Layout(host_key=".ssh/id_rsa_host", container_key_name="id_rsa_cont", key_type="rsa", key_bits=3072)


@dataclasses.dataclass(frozen=True)
class Peer:
    """One node of the mesh, as every other node must know it. ``planned``: seen in check mode, has no keys yet;
    ``next_...``: keys that a rotation under way is going to use; ``ssh_host_keys``: of the server that is logged in to,
    the container's or, in the guide's way, the node's."""

    name: str
    addresses: tuple[str, ...]
    port: int
    user: str
    host_public_key: PublicKey | None
    container_public_key: PublicKey | None
    ssh_host_keys: tuple[str, ...]
    planned: bool = False
    next_host_public_key: PublicKey | None = None
    next_container_public_key: PublicKey | None = None


@dataclasses.dataclass(frozen=True)
class Wanted:
    """The request. ``state``: identity, present or absent; ``transport``: container (its own SSH server) or guide (the
    node's SSH server and a forced command); ``planning``: check mode, keys may still be missing."""

    state: str
    name: str
    user: str
    transport: str = "container"
    addresses: tuple[str, ...] = ()
    cidr: tuple[str, ...] = ()
    port: int = 2222
    peers: tuple[Peer, ...] = ()
    topology: str = "all"
    head: str = ""
    allow_from: tuple[str, ...] = ()
    host_login: bool = False
    container_name: str = "mpicont"
    docker_command: tuple[str, ...] = ("docker",)
    rotation: str = "none"
    connect_timeout: int = 10
    layout: Layout = MODERN
    adopt: bool = False
    planning: bool = False

    @property
    def guide(self) -> bool:
        return self.transport == "guide"

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """What is taken away may have been made with either."""
        if self.state != "absent":
            return (self.layout,)
        return tuple(dataclasses.replace(each, directory=self.layout.directory) for each in (MODERN, GUIDE))

    @property
    def introduces(self) -> bool:
        """Whether this call makes the node's keys if there are none, and returns its identity."""
        if self.state == "present":
            return bool(self.addresses or self.cidr) and all(peer.name != self.name for peer in self.peers)
        return self.state == "identity"


def parse_public_key(text: str, *, host: str, thing: str) -> PublicKey:
    """Read one line of an OpenSSH ``.pub`` file; the key blob must say the same type as the line.

    Raises `ParseError`. Options in front of the key, a second line or an unknown type are refused: this text is going
    to be written into ``authorized_keys``.
    """
    line = text.strip()
    words = line.split(None, 2)
    if "\n" in line or "\r" in line or len(words) < 2 or words[0] not in _KEY_TYPES:
        raise ParseError(
            "not one OpenSSH public key of type {}".format(", ".join(_KEY_TYPES)), host=host, thing=thing, raw=text
        )
    try:
        blob = base64.b64decode(words[1].encode("ascii"), validate=True)
        (length,) = struct.unpack(">I", blob[:4])
        inner = blob[4 : 4 + length].decode("ascii")
    except (binascii.Error, UnicodeError, struct.error) as error:
        raise ParseError("the public key is not valid base64", host=host, thing=thing, raw=text) from error
    if inner != words[0] or len(blob) <= 4 + length:
        raise ParseError(
            f"the public key says {words[0]} outside and {inner!r} inside", host=host, thing=thing, raw=text
        )
    return PublicKey(text=" ".join(words[:2]), comment=words[2] if len(words) > 2 else "")


def parse_ssh_host_keys(files: Mapping[str, str], *, host: str) -> tuple[str, ...]:
    """``path -> text`` of ``/etc/ssh/ssh_host_*_key.pub``: the keys without comments, sorted.

    A type that current OpenSSH clients do not accept any more (ssh-dss) is left out. Raises `ParseError`.
    """
    keys = []
    for path, text in files.items():
        if text.startswith("ssh-dss "):
            continue
        keys.append(parse_public_key(text, host=host, thing=path).text)
    return tuple(sorted(keys))


def parse_local_networks(text: str, *, host: str) -> tuple[str, ...]:
    """Output of ``ip -json address show``: every address with its prefix length, in the order of the interfaces."""
    try:
        found = tuple(
            "{}/{}".format(address["local"], address["prefixlen"])
            for link in json.loads(text)
            for address in link.get("addr_info") or ()
            if "local" in address
        )
        for each in found:
            ipaddress.ip_interface(each)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ParseError("not the JSON of iproute2", host=host, thing="ip -json address show", raw=text) from error
    return found


def parse_address(text: Any, *, host: str, thing: str) -> str:
    """An IPv4 or IPv6 address in its canonical spelling; names are refused, sshd would have to resolve them."""
    try:
        return str(ipaddress.ip_address(str(text)))
    except ValueError:
        raise RefusedError(
            "is not an IP address",
            host=host,
            thing=thing,
            value=text,
            remedy="give the address that this node has on the network of the mesh; names are not used because "
            "sshd compares addresses",
        ) from None


def parse_network(text: Any, *, host: str, thing: str) -> str:
    try:
        return str(ipaddress.ip_network(str(text), strict=True))
    except ValueError as error:
        raise RefusedError(
            f"is not a network: {error}", host=host, thing=thing, value=text, remedy="write it as 10.0.0.0/24"
        ) from None


def _matching(pattern: re.Pattern[str], text: Any, *, host: str, thing: str) -> str:
    if not isinstance(text, str) or not pattern.match(text):
        raise RefusedError(
            "contains a character that has a meaning in SSH files or is empty",
            host=host,
            thing=thing,
            value=text,
            remedy="use letters, digits, dot, underscore and minus",
        )
    return text


def parse_name(text: Any, *, host: str, thing: str) -> str:
    return _matching(_NAME, text, host=host, thing=thing)


def parse_container_name(text: Any, *, host: str) -> str:
    return _matching(_CONTAINER, text, host=host, thing="container_name")


def parse_user(text: Any, *, host: str) -> str:
    return _matching(_USER, text, host=host, thing="user")


def parse_port(number: Any, *, host: str, thing: str) -> int:
    if not isinstance(number, int) or not 1 <= number <= 65535:
        raise RefusedError("is not a TCP port", host=host, thing=thing, value=number, remedy="use 1 to 65535")
    return number


def parse_peer(raw: Mapping[str, Any], *, host: str, user: str, planning: bool, guide: bool) -> Peer:
    """One entry of ``peers``, that is one ``identity`` that the module returned on another node. Users have keys of
    their own in the guide's way alone.

    Raises `RefusedError` for a peer without keys (allowed only in check mode) and `ParseError` for odd keys.
    """
    name = parse_name(raw.get("name"), host=host, thing="peers: name")
    about = f"peer {name}: "
    planned = bool(raw.get("planned"))
    if planned and not planning:
        raise RefusedError(
            "has no keys yet: this is the placeholder of a check mode run",
            host=host,
            thing="peer",
            value=name,
            remedy="run state=identity on it without check mode and pass what it returns",
        )
    keys: dict[str, PublicKey | None] = {}
    for field in ("host_public_key", "container_public_key"):
        text = raw.get(field) or ""
        needed = not planned and (guide or field != "host_public_key")
        keys[field] = parse_public_key(text, host=host, thing=about + field) if text or needed else None
    for field in ("next_host_public_key", "next_container_public_key"):
        text = raw.get(field) or ""
        keys[field] = parse_public_key(text, host=host, thing=about + field) if text else None
    addresses = tuple(parse_address(each, host=host, thing=about + "address") for each in raw.get("addresses") or ())
    host_keys = tuple(
        parse_public_key(each, host=host, thing=about + "ssh_host_keys").text for each in raw.get("ssh_host_keys") or ()
    )
    for field, value, remedy in (
        ("addresses", addresses, "give the peer's address on the network of the mesh"),
        ("ssh_host_keys", host_keys, "pass the peer's identity as the module returned it; without its host keys "
         "every machine on the network could pose as this peer"),
    ):  # fmt: skip
        if not value and not planned:
            raise RefusedError(f"has no {field}", host=host, thing="peer", value=name, remedy=remedy)
    return Peer(
        name=name,
        addresses=addresses,
        port=parse_port(raw.get("port") or (22 if guide else 2222), host=host, thing=about + "port"),
        user=parse_user(raw.get("user") or user, host=host),
        host_public_key=keys["host_public_key"],
        container_public_key=keys["container_public_key"],
        next_host_public_key=keys["next_host_public_key"],
        next_container_public_key=keys["next_container_public_key"],
        ssh_host_keys=tuple(sorted(set(host_keys))),
        planned=planned,
    )


def parse_peers(
    raw: Sequence[Mapping[str, Any]], *, host: str, user: str, planning: bool, guide: bool
) -> tuple[Peer, ...]:
    """All peers; the same name, or one address for two peers, is refused."""
    peers = tuple(parse_peer(each, host=host, user=user, planning=planning, guide=guide) for each in raw)
    seen: dict[str, str] = {}
    for peer in peers:
        # A peer's own name and addresses may coincide (an inventory that names hosts by address).
        for key in {peer.name, *((address, peer.port) for address in peer.addresses)}:
            label = str(key) if isinstance(key, str) else "{} port {}".format(*key)
            if label in seen:
                raise RefusedError(
                    f"stands for two peers: {seen[label]} and {peer.name}",
                    host=host,
                    thing="peers",
                    value=label,
                    remedy="every peer needs its own name and its own address",
                )
            seen[label] = peer.name
    return peers


def parse_wanted(params: Mapping[str, Any], *, host: str, user: str, planning: bool) -> Wanted:
    """Module parameters -> `Wanted`. Raises `RefusedError` and `ParseError`."""
    guide = params["transport"] == "guide"
    peers = parse_peers(params.get("peers") or (), host=host, user=user, planning=planning, guide=guide)
    head = params.get("head") or ""
    state = params["state"]
    names = [peer.name for peer in peers]
    if state == "present":
        if not peers:
            raise RefusedError(
                "is empty", host=host, thing="peers", remedy="pass the identities that state=identity returned"
            )
        if params["topology"] == "head" and head not in names:
            raise RefusedError(
                "is not one of the peers ({})".format(", ".join(names)),
                host=host,
                thing="head",
                value=head,
                remedy="name the peer from whose container mpirun is started",
            )
    command = tuple(params.get("docker_command") or ())
    if not command or any(not word or "\n" in word for word in command):
        raise RefusedError("is not a command", host=host, thing="docker_command", value=list(command))
    if params["host_login"] and not guide:
        raise RefusedError(
            "needs the node's own SSH server",
            host=host,
            thing="host_login",
            value=True,
            remedy="set transport to guide, or host_login to false",
        )
    return Wanted(
        state=state,
        name=parse_name(params.get("name") or host, host=host, thing="name"),
        user=parse_user(user, host=host),
        transport=params["transport"],
        addresses=tuple(parse_address(each, host=host, thing="addresses") for each in params.get("addresses") or ()),
        cidr=tuple(parse_network(each, host=host, thing="cidr") for each in params.get("cidr") or ()),
        port=parse_port(params.get("ssh_port") or (22 if guide else 2222), host=host, thing="ssh_port"),
        peers=peers,
        topology=params["topology"],
        head=head,
        allow_from=tuple(parse_network(each, host=host, thing="allow_from") for each in params.get("allow_from") or ()),
        host_login=bool(params["host_login"]),
        container_name=parse_container_name(params["container_name"], host=host),
        docker_command=command,
        rotation=params.get("rotation") or "none",
        connect_timeout=int(params["connect_timeout"]),
        layout=dataclasses.replace(
            GUIDE if params["guide_compatible"] else MODERN,
            directory=parse_directory(params.get("directory") or MODERN.directory, host=host),
        ),
        adopt=bool(params["adopt"]),
        planning=planning,
    )


def parse_directory(text: Any, *, host: str) -> str:
    """A place of the mesh's own. sshd and the engine read it as root, so it has to be plain to see where it leads."""
    path = str(text)
    parts = path.split("/")[1:]
    if not path.startswith("/") or len(parts) < 2 or any(not _NAME.match(part) for part in parts):
        raise RefusedError(
            "is not an absolute path with a directory above it, in letters, digits, dot, underscore and minus",
            host=host,
            thing="directory",
            value=text,
            remedy=f"use for example {MODERN.directory}",
        )
    return path


def mesh_addresses(state: MeshState, wanted: Wanted, *, host: str) -> tuple[str, ...]:
    """The node's addresses in the mesh: those given, else those that lie in ``cidr``. Raises `RefusedError`.

    Every Docker host also has 172.17.0.1; that is why nothing is guessed here.
    """
    interfaces = [ipaddress.ip_interface(each) for each in state.local_networks]
    if wanted.addresses:
        for each in wanted.addresses:
            address = ipaddress.ip_address(each)
            if not any(
                address == own.ip or (own.ip.is_loopback and address.version == own.version and address in own.network)
                for own in interfaces
            ):
                raise RefusedError(
                    "is not an address of this node; it has {}".format(", ".join(state.local_networks) or "none"),
                    host=host,
                    thing="addresses",
                    value=each,
                    remedy="peers see the address from which this node connects: give that one",
                )
        return wanted.addresses
    if not wanted.cidr:
        raise RefusedError(
            "neither addresses nor cidr says which network the mesh uses",
            host=host,
            thing="addresses",
            remedy="give the network that all nodes share, for example cidr: [10.0.0.0/24]",
        )
    networks = [ipaddress.ip_network(each) for each in wanted.cidr]
    found = tuple(
        str(own.ip) for own in interfaces if any(own.version == net.version and own.ip in net for net in networks)
    )
    if not found:
        raise RefusedError(
            "no address of this node lies in it; it has {}".format(", ".join(state.local_networks) or "none"),
            host=host,
            thing="cidr",
            value=list(wanted.cidr),
            remedy="correct cidr, or bring the interface up",
        )
    return found


def identity(state: MeshState, wanted: Wanted, addresses: Sequence[str]) -> dict[str, Any]:
    """What the other nodes must know: exactly one entry of their ``peers``. Public data only."""
    layout = wanted.layout

    def usable(path: str) -> PublicKey | None:
        pair = state.keys.get(path)
        return pair.usable if pair else None

    def text(path: str) -> str:
        key = usable(path)
        return key.text if key else ""

    server = usable(layout.server_key)
    own = text(layout.host_key) if wanted.guide else ""
    return {
        "name": wanted.name,
        "user": state.account.name,
        "addresses": list(addresses),
        "port": wanted.port,
        "host_public_key": own,
        "container_public_key": text(layout.container_key),
        "next_host_public_key": text(layout.host_key + NEXT_SUFFIX) if wanted.guide else "",
        "next_container_public_key": text(layout.container_key + NEXT_SUFFIX),
        "ssh_host_keys": list(state.ssh_host_keys) if wanted.guide else [server.text] if server else [],
        "planned": not text(layout.container_key) or not (own if wanted.guide else server),
    }
