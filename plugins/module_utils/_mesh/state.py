"""What a node of the mesh looks like and what is wanted of it; the parsers that let nothing odd into a key file.

Pure: no I/O, no Ansible import. Imports on Python 3.8. A path is absolute (the mesh's, root owns it) or relative to
the user's home directory.
"""

from __future__ import annotations

import base64
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
# The pair that a rotation will put in the place of the present one; peers accept both until it has.
NEXT_SUFFIX = ".next"

_KEY_TYPES = ("ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521")
# No @: OpenSSH would read a user or an alias pattern into it; no blank, quote, comma or wildcard: separators of the
# files in which names are written.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\Z")
_CONTAINER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\Z")
_HOME = re.compile(r"(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)+\Z")
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


ROOT = Account("root", 0, 0, "/root")


@dataclasses.dataclass(frozen=True)
class FileState:
    """One path, not followed if it is a symbolic link. ``kind``: missing, file, directory, symlink or other;
    ``content``: of files that were read (never a private key); ``mode``: permission bits; ``size``: in bytes."""

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
class MeshState:
    """What was seen on the node, by path. ``public``: what the ``.pub`` file beside a private key says; ``derived``:
    the public half computed from the private key, unless its mode is so open that ssh refuses it; ``local_networks``:
    the node's addresses as address/prefix; ``entries``: the names in the directories that might be removed;
    ``outside``: the user of the guide's way is not in the group docker; ``rank``: whose files the container's are;
    ``earlier``: action, path and arguments that take away what a release with a broker wrote; ``busy``: its account, if
    a process of it runs."""

    account: Account
    root: Account
    files: Mapping[str, FileState]
    public: Mapping[str, PublicKey]
    derived: Mapping[str, PublicKey]
    ssh_host_keys: tuple[str, ...] = ()
    local_networks: tuple[str, ...] = ()
    entries: Mapping[str, list[str] | None] = dataclasses.field(default_factory=dict)
    outside: bool = False
    rank: Account = ROOT
    earlier: Sequence[tuple[str, str, Mapping[str, str]]] = ()
    busy: str = ""

    def file(self, path: str) -> FileState:
        return self.files.get(path, FileState(path))

    def owner(self, path: str) -> Account:
        if path.startswith(Layout.container + "/"):
            return self.rank
        return self.root if path.startswith("/") else self.account

    def shown(self, path: str) -> str:
        return path if path.startswith("/") else f"{self.account.home}/{path}"

    def key(self, path: str) -> PublicKey | None:
        """Public half of the key that is in use at ``path``; None without its private key."""
        return (self.derived.get(path) or self.public.get(path)) if self.file(path).exists else None


@dataclasses.dataclass(frozen=True)
class Layout:
    """Where the files are. The user's have the guide's names. What the container mounts is root's and lies in no home:
    an account that can rename or link a directory could lead the engine elsewhere."""

    host_key: str = ".ssh/id_ed25519_host"
    container_key_name: str = "id_ed25519_cont"
    key_type: str = "ed25519"

    ssh = ".ssh"
    authorized_keys = ".ssh/authorized_keys"
    config = ".ssh/config"
    config_mesh = ".ssh/config_mesh"
    known_hosts = ".ssh/known_hosts_mesh"
    script = ".ssh/mpicont.sh"
    # Files of other owners, in which one marked block is ours.
    blocks = (config, authorized_keys)

    directory = "/etc/rocemesh/mesh"
    # Mounted at /root/.ssh of the container, read-only.
    container = directory + "/container"
    # Outermost first.
    places = ("/etc", "/etc/rocemesh", directory, container)
    # Host key of the container's SSH server. It stays when the container is made again.
    server_key = container + "/ssh_host_ed25519_key"

    def inside(self, name: str) -> str:
        return f"{self.container}/{name}"

    @property
    def container_key(self) -> str:
        return self.inside(self.container_key_name)

    @property
    def keys(self) -> tuple[str, ...]:
        """Private keys; the second pair of the first two is there while a rotation is under way."""
        pairs = (self.host_key, self.container_key)
        return (*pairs, *(path + NEXT_SUFFIX for path in pairs), self.server_key)

    @property
    def owned(self) -> tuple[str, ...]:
        """Files that are ours as a whole, the one that opens the container last."""
        names = ("known_hosts", "config", "sshd_config", "start_sshd.sh", "authorized_keys")
        return (self.known_hosts, self.config_mesh, self.script, *map(self.inside, names))


MODERN = Layout()
GUIDE = Layout(host_key=".ssh/id_rsa_host", container_key_name="id_rsa_cont", key_type="rsa")


@dataclasses.dataclass(frozen=True)
class Peer:
    """One node of the mesh, as every other node must know it. A key for logging in has a second one while a rotation
    is under way, and none before it is made; ``ssh_host_keys``: of the server that is logged in to."""

    name: str
    addresses: tuple[str, ...]
    port: int
    user: str
    host_public_keys: tuple[str, ...] = ()
    container_public_keys: tuple[str, ...] = ()
    ssh_host_keys: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Wanted:
    """The request. ``guide``: the node's SSH server and a forced command, instead of the container's own server;
    ``head``: whose container key alone is accepted, empty for all; ``rank``: the user that the container runs as, with
    its home there; ``planning``: check mode, keys may be missing."""

    state: str
    name: str
    user: str
    guide: bool = False
    addresses: tuple[str, ...] = ()
    cidr: tuple[str, ...] = ()
    port: int = 2222
    peers: tuple[Peer, ...] = ()
    head: str = ""
    host_login: bool = False
    container_name: str = "mpicont"
    rotation: str = "none"
    layout: Layout = MODERN
    rank: Account = ROOT
    planning: bool = False

    @property
    def inside(self) -> str:
        """Where the container has the directory of the mesh, read-only."""
        return self.rank.home + "/.ssh"

    @property
    def keys(self) -> tuple[str, ...]:
        """What is taken away may have been made with either layout."""
        layouts = (MODERN, GUIDE) if self.state == "absent" else (self.layout,)
        return tuple(dict.fromkeys(path for layout in layouts for path in layout.keys))

    @property
    def pairs(self) -> dict[str, str]:
        """The node's private keys -> what its identity has of them."""
        layout = self.layout
        second = {layout.host_key: "host_public_keys"} if self.guide else {layout.server_key: "ssh_host_keys"}
        return {**second, layout.container_key: "container_public_keys"}

    @property
    def own(self) -> Peer | None:
        return next((peer for peer in self.peers if peer.name == self.name), None)

    @property
    def introduces(self) -> bool:
        """Whether this call makes the node's keys if there are none, and returns its identity."""
        if self.state == "present":
            return bool(self.addresses or self.cidr) and self.own is None
        return self.state == "identity"


def parse_public_key(text: str, *, host: str, thing: str) -> PublicKey:
    """Read one line of an OpenSSH ``.pub`` file; the key blob must say the same type as the line.

    Raises `ParseError`. Options in front of the key, a second line or an unknown type are refused: this text is going
    to be written into ``authorized_keys``.
    """
    line = text.strip()
    kind, encoded, comment = [*line.split(None, 2), "", "", ""][:3]
    try:
        begin = struct.pack(">I", len(kind)) + kind.encode("ascii")
        blob = base64.b64decode(encoded, validate=True)
    except ValueError:
        begin = blob = b""
    if "\n" in line or "\r" in line or kind not in _KEY_TYPES or not blob[len(begin) :] or not blob.startswith(begin):
        what = "not one OpenSSH public key of type {}".format(", ".join(_KEY_TYPES))
        raise ParseError(what, host=host, thing=thing, raw=text)
    return PublicKey(f"{kind} {encoded}", comment)


def parse_local_networks(text: str, *, host: str) -> tuple[str, ...]:
    """Output of ``ip -json address show``: every address with its prefix length, in the order of the interfaces."""
    try:
        return tuple(
            str(ipaddress.ip_interface("{}/{}".format(address["local"], address["prefixlen"])))
            for link in json.loads(text)
            for address in link.get("addr_info") or ()
            if "local" in address
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ParseError("not the JSON of iproute2", host=host, thing="ip -json address show", raw=text) from error


class _Reader:
    """Parsers of the request; each raises `RefusedError` or `ParseError` with the name of the host."""

    def __init__(self, host: str) -> None:
        self.host = host

    def refused(self, thing: str, value: Any, what: str, remedy: str) -> RefusedError:
        return RefusedError(what, host=self.host, thing=thing, value=value, remedy=remedy)

    def address(self, text: Any, thing: str) -> str:
        """An IPv4 or IPv6 address in its canonical spelling; names are refused, sshd would have to resolve them."""
        try:
            if "%" in str(text):  # a zone is free text, which would reach key files and the configuration of ssh
                raise ValueError
            return str(ipaddress.ip_address(str(text)))
        except ValueError:
            remedy = "give the address that this node has on the network of the mesh; sshd compares addresses"
            raise self.refused(thing, text, "is not an IP address", remedy) from None

    def network(self, text: Any) -> str:
        try:
            return str(ipaddress.ip_network(str(text), strict=True))
        except ValueError as error:
            raise self.refused("cidr", text, f"is not a network: {error}", "write it as 10.0.0.0/24") from None

    def word(self, pattern: re.Pattern[str], text: Any, thing: str) -> str:
        if not isinstance(text, str) or not pattern.match(text):
            what = "contains a character that has a meaning in SSH files or is empty"
            raise self.refused(thing, text, what, "use letters, digits, dot, underscore and minus")
        return text

    def rank(self, raw: Mapping[str, Any]) -> Account:
        """An account of the image; empty is root."""
        given = {**dataclasses.asdict(ROOT), **raw}
        numbers = [int(given[key]) for key in ("uid", "gid") if str(given[key]).isdigit()]
        named = given["name"] != ROOT.name and _USER.match(str(given["name"])) and _HOME.match(str(given["home"]))
        if raw and not (len(given) == len(raw) == 4 and named and len(numbers) == 2 and min(numbers) > 0):
            remedy = "give name, uid, gid and home of an account of the image that is not root's, or nothing"
            raise self.refused("container_user", raw, "is no account of an image", remedy)
        return Account(given["name"], int(given["uid"]), int(given["gid"]), given["home"])

    def port(self, number: Any, thing: str) -> int:
        if not isinstance(number, int) or not 1 <= number <= 65535:
            raise self.refused(thing, number, "is not a TCP port", "use 1 to 65535")
        return number

    def peer(self, raw: Mapping[str, Any], user: str, *, planning: bool, guide: bool) -> Peer:
        """One entry of ``peers``, that is one ``identity`` that the module returned on another node."""
        name = self.word(_NAME, raw.get("name"), "peers: name")
        about = f"peer {name}: "

        def keys(field: str) -> tuple[str, ...]:
            given = raw.get(field) or ()
            return tuple(parse_public_key(each, host=self.host, thing=about + field).text for each in given)

        peer = Peer(
            name=name,
            addresses=tuple(self.address(each, about + "address") for each in raw.get("addresses") or ()),
            port=self.port(raw.get("port") or (22 if guide else 2222), about + "port"),
            user=self.word(_USER, raw.get("user") or user, "user"),
            host_public_keys=keys("host_public_keys"),
            container_public_keys=keys("container_public_keys"),
            ssh_host_keys=tuple(sorted(set(keys("ssh_host_keys")))),
        )
        needed = ("container_public_keys", "addresses", "ssh_host_keys", *(("host_public_keys",) if guide else ()))
        for field in needed if not planning else ():
            if not getattr(peer, field):
                remedy = "pass its identity as the module returned it outside of check mode; without host keys every "
                raise self.refused("peer", name, f"has no {field}", remedy + "machine of the network could pose as it")
        return peer

    def peers(self, raw: Sequence[Mapping[str, Any]], user: str, *, planning: bool, guide: bool) -> tuple[Peer, ...]:
        """All peers; the same name, or one address for two peers, is refused."""
        peers = tuple(self.peer(each, user, planning=planning, guide=guide) for each in raw)
        seen: dict[str, str] = {}
        for peer in peers:
            # A peer's own name and addresses may coincide (an inventory that names hosts by address).
            for label in {peer.name, *(f"{address} port {peer.port}" for address in peer.addresses)}:
                if label in seen:
                    what = f"stands for two peers: {seen[label]} and {peer.name}"
                    raise self.refused("peers", label, what, "every peer needs its own name and its own address")
                seen[label] = peer.name
        return peers


def parse_wanted(params: Mapping[str, Any], *, host: str, user: str, planning: bool) -> Wanted:
    """Module parameters -> `Wanted`. Raises `RefusedError` and `ParseError`."""
    read = _Reader(host)
    guide = params["transport"] == "guide"
    peers = read.peers(params["peers"], user, planning=planning, guide=guide)
    head = params["head"] or ""
    names = [peer.name for peer in peers]
    if params["state"] == "present" and not peers:
        raise read.refused("peers", None, "is empty", "pass the identities that state=identity returned")
    if params["state"] == "present" and head and head not in names:
        what = "is not one of the peers ({})".format(", ".join(names))
        raise read.refused("head", head, what, "name the peer from whose container mpirun is started")
    if params["host_login"] and not guide:
        what = "needs the node's own SSH server"
        raise read.refused("host_login", True, what, "set transport to guide, or host_login to false")
    return Wanted(
        state=params["state"],
        name=read.word(_NAME, params["name"] or host, "name"),
        user=read.word(_USER, user, "user"),
        guide=guide,
        addresses=tuple(read.address(each, "addresses") for each in params["addresses"]),
        cidr=tuple(map(read.network, params["cidr"])),
        port=read.port(params["ssh_port"] or (22 if guide else 2222), "ssh_port"),
        peers=peers,
        head=head,
        host_login=bool(params["host_login"]),
        container_name=read.word(_CONTAINER, params["container_name"], "container_name"),
        rotation=params["rotation"],
        layout=GUIDE if params["guide_compatible"] else MODERN,
        rank=read.rank(params["container_user"] or {}),
        planning=planning,
    )


def mesh_addresses(state: MeshState, wanted: Wanted, *, host: str) -> tuple[str, ...]:
    """The node's addresses in the mesh: those given, else those that lie in ``cidr``. Raises `RefusedError`.

    Every Docker host also has 172.17.0.1; that is why nothing is guessed here.
    """
    refused = _Reader(host).refused
    interfaces = [ipaddress.ip_interface(each) for each in state.local_networks]
    has = "it has {}".format(", ".join(state.local_networks) or "none")
    for each in wanted.addresses:
        if ipaddress.ip_address(each) not in [own.ip for own in interfaces]:
            remedy = "peers see the address from which this node connects: give that one"
            raise refused("addresses", each, f"is not an address of this node; {has}", remedy)
    if wanted.addresses:
        return wanted.addresses
    networks = [ipaddress.ip_network(each) for each in wanted.cidr]
    # No peer reaches ::1 or 127.0.0.1, and fe80::1 is one only with its interface.
    own = [each.ip for each in interfaces if not each.ip.is_loopback and not (each.version == 6 and each.is_link_local)]
    found = tuple(str(each) for each in own if any(each.version == net.version and each in net for net in networks))
    if not found:
        remedy = "give the network that all nodes share, for example cidr: [10.0.0.0/24], or bring the interface up"
        raise refused("cidr", list(wanted.cidr), f"no address of this node lies in it; {has}", remedy)
    return found


def identity(state: MeshState, wanted: Wanted, addresses: Sequence[str]) -> dict[str, Any]:
    """What the other nodes must know: exactly one entry of their ``peers``. Public data only."""

    own = {"name": wanted.name, "user": state.account.name, "addresses": list(addresses), "port": wanted.port}
    keys: dict[str, list[str]] = {"host_public_keys": [], "ssh_host_keys": list(state.ssh_host_keys)}
    for path, field in wanted.pairs.items():
        keys[field] = [key.text for key in map(state.key, (path, path + NEXT_SUFFIX)) if key]
    return {**own, **keys}
