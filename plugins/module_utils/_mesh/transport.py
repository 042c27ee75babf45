"""Files and keys of one node. All I/O of the mesh layer is here.

The module often runs as root inside a directory that an ordinary user owns. Every access therefore starts at a file
descriptor of the home directory and goes down one name at a time without following symbolic links, so that nothing
outside ``~/.ssh`` can be read or written, whatever the user does in the meantime. Files are replaced atomically.
"""

from __future__ import annotations

import contextlib
import glob
import grp
import os
import pwd
import secrets
import stat
import subprocess
import tempfile
from typing import Iterator

from .._layer import ApplyError, RefusedError, UnreachableError
from .state import Account, FileState, parse_public_key

_LIMIT = 4 * 1024 * 1024  # bytes; a key file beyond this is not a key file
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}
_TIMEOUT = 60  # seconds for ssh-keygen and ip; RSA generation on a busy node takes a few


class NodeTransport:
    """The real node. ``home`` of the account is trusted as the password database gives it, nothing below it is."""

    def __init__(self, host: str, account: Account, ssh_host_key_directory: str = "/etc/ssh") -> None:
        self.host = host
        self.account = account
        self._ssh_host_keys = ssh_host_key_directory

    # -- descriptors

    @contextlib.contextmanager
    def _directory(self, relative: str) -> Iterator[int]:
        """A descriptor of the directory ``relative`` (empty: the home directory)."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        descriptor = os.open(self.account.home, flags)
        try:
            for name in [part for part in relative.split("/") if part]:
                deeper = os.open(name, flags | os.O_NOFOLLOW, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = deeper
            yield descriptor
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def _explained(self, doing: str, relative: str) -> Iterator[tuple[int, str]]:
        """Parent and name, and OSError -> the typed error that names the host, the path and what to do."""
        thing = os.path.join(self.account.home, relative.lstrip("/"))
        parent, _slash, name = relative.rpartition("/")
        try:
            with self._directory(parent) as descriptor:
                yield descriptor, name
        except OSError as error:
            what = f"cannot {doing}: {error.strerror or error}"
            remedy = "look at this path on the node; files are replaced whole or not at all, so none is half written"
            raise ApplyError(what, host=self.host, thing=thing, remedy=remedy) from error

    # -- reading

    def inspect(self, relative: str, read: bool = False) -> FileState:
        """One path as it is, symbolic links not followed; with ``read`` the content of a regular file."""
        content = None
        try:
            with self._explained("look at it", relative) as (parent, name):
                status = os.stat(name, dir_fd=parent, follow_symlinks=False)
                kind = _KINDS.get(stat.S_IFMT(status.st_mode), "other")
                if read and kind == "file":
                    with _opened(parent, name) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as stream:
                        content = stream.read(_LIMIT + 1)
                    if len(content) > _LIMIT:
                        raise OSError(f"larger than {_LIMIT} bytes")
        except ApplyError as error:
            # Not a directory: below a symbolic link there is nothing to see; the plan names that link. Not permitted to
            # root: a home on NFS (root_squash), into which it has written nothing either.
            if isinstance(error.__cause__, (FileNotFoundError, NotADirectoryError, PermissionError)):
                return FileState(relative)
            raise
        mode = stat.S_IMODE(status.st_mode)
        return FileState(relative, kind, content, mode, status.st_uid, status.st_gid, status.st_size)

    def entries(self, relative: str) -> list[str] | None:
        """Names in a directory; None if it is missing or no directory."""
        with contextlib.suppress(OSError), self._directory(relative) as descriptor:
            return os.listdir(descriptor)
        return None

    # -- writing

    def write(self, relative: str, content: bytes, mode: int, uid: int, gid: int) -> None:
        with self._explained("write it", relative) as (parent, name):
            with _whole(parent, name, content, mode, uid=uid, gid=gid) as temporary:
                os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
            os.fsync(parent)

    def chmod(self, relative: str, mode: int, uid: int, gid: int) -> None:
        with self._explained("change its owner or mode", relative) as at, _opened(*at) as descriptor:
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode) and status.st_nlink != 1:
                # Another name of a file of another owner, put here to have that file given away.
                raise OSError(f"the file has {status.st_nlink} names (hard links)")
            _own(descriptor, mode, uid, gid)

    def mkdir(self, relative: str, mode: int, uid: int, gid: int) -> None:
        with self._explained("create it", relative) as (parent, name):
            os.mkdir(name, 0o700, dir_fd=parent)
            with self._directory(relative) as descriptor:
                _own(descriptor, mode, uid, gid)

    def unlink(self, relative: str) -> None:
        with self._explained("delete it", relative) as (parent, name):
            os.unlink(name, dir_fd=parent)

    def rmdir(self, relative: str) -> None:
        with self._explained("remove it", relative) as (parent, name):
            os.rmdir(name, dir_fd=parent)

    def replace(self, relative: str, to: str) -> None:
        """Within one directory, over the file that is there, in one step."""
        new = to.rpartition("/")[2]
        with self._explained("put it in the place of " + new, relative) as (parent, name):
            os.rename(name, new, src_dir_fd=parent, dst_dir_fd=parent)
            os.fsync(parent)

    # -- the account of an earlier release

    def account_at(self, name: str, home: str) -> int | None:
        """The uid of a system account with this home directory."""
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return entry.pw_uid if entry.pw_dir == home and entry.pw_uid else None
        return None

    def is_busy(self, uid: int) -> bool:
        """Whether a process of this account runs."""
        for status in glob.glob("/proc/[0-9]*"):
            with contextlib.suppress(OSError):
                if os.stat(status).st_uid == uid:
                    return True
        return False

    def userdel(self, _path: str, *, name: str) -> None:
        self._run(["userdel", name], thing=f"account {name}", remedy="end its processes, then repeat")

    # -- the group docker, which equals root

    def may_call_docker(self) -> bool:
        """False as well where there is no such group yet. Root needs none."""
        with contextlib.suppress(KeyError):
            group = grp.getgrnam("docker")
            return self.account.uid == 0 or self.account.gid == group.gr_gid or self.account.name in group.gr_mem
        return self.account.uid == 0

    def usermod(self, _path: str, *, name: str) -> None:
        self._run(["usermod", "--append", "--groups", "docker", name], thing=f"account {name}")

    # -- keys

    def ssh_keygen(self, relative: str, *, key_type: str, comment: str, uid: int, gid: int) -> None:
        """A new pair without passphrase, made in the directory where it stays; never over an existing file."""
        with self._explained("generate it", relative) as (parent, name):
            # Not in the directory where it stays: ssh-keygen follows links, and that directory may be an ordinary
            # user's, who could lead the public half of a key of his to root's authorized_keys. /run is root's alone.
            own = "/run" if os.access("/run", os.W_OK) else None
            with tempfile.TemporaryDirectory(prefix="rocemesh-", dir=own) as scratch:
                made = f"{scratch}/key"
                # The number of bits is for RSA; ed25519 has no choice and ignores it.
                command = ["ssh-keygen", "-q", "-t", key_type, "-b", "3072", "-N", "", "-C", comment, "-f", made]
                self._run(command, thing=relative)
                for suffix, mode in (("", 0o600), (".pub", 0o644)):
                    with open(made + suffix, "rb") as stream:
                        content = stream.read()
                    # Linked and not renamed: a file that was there stays.
                    with _whole(parent, name + suffix, content, mode, uid=uid, gid=gid) as temporary:
                        os.link(temporary, name + suffix, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)
            os.fsync(parent)

    def derive_public_key(self, relative: str) -> str:
        """The public half computed by ssh-keygen from the private key; the private text is not read by this code."""
        with self._explained("read it", relative) as at, _opened(*at) as descriptor:
            command = ["ssh-keygen", "-y", "-P", "", "-f", f"/proc/self/fd/{descriptor}"]
            remedy = "the mesh needs a private key without passphrase; move this file away and a new pair is made"
            return self._run(command, thing=relative, keep=(descriptor,), remedy=remedy)

    def ssh_host_keys(self) -> tuple[str, ...]:
        """The node's own SSH host keys, sorted, without ssh-dss, which no current client accepts. Raises `RefusedError`
        if there is none."""
        found = []
        for path in glob.glob(os.path.join(glob.escape(self._ssh_host_keys), "ssh_host_*_key.pub")):
            with open(path, encoding="utf-8", errors="replace") as stream:
                text = stream.read(_LIMIT)
            if not text.startswith("ssh-dss "):
                found.append(parse_public_key(text, host=self.host, thing=path).text)
        if not found:
            what = "holds no ssh_host_*_key.pub, so peers could not recognise this node"
            remedy = "install openssh-server on the node, or generate its host keys with ssh-keygen -A"
            raise RefusedError(what, host=self.host, thing=self._ssh_host_keys, remedy=remedy)
        return tuple(sorted(found))

    def address_report(self) -> str:
        return self._run(["ip", "-json", "address", "show"], thing="network addresses", remedy="install iproute2")

    def _run(self, command: list[str], *, thing: str, keep: tuple[int, ...] = (), remedy: str = "") -> str:
        program, null = command[0], subprocess.DEVNULL
        path = os.environ.get("PATH", "") + ":/usr/sbin:/usr/bin:/sbin:/bin"
        own = {**os.environ, "LC_ALL": "C", "PATH": path}
        try:
            done = subprocess.run(
                command, stdin=null, capture_output=True, pass_fds=keep, env=own, timeout=_TIMEOUT, check=False
            )
        except FileNotFoundError as error:
            package = {"ssh-keygen": "openssh-client", "ip": "iproute2"}.get(program, "passwd")
            remedy = f"install the package {package} on the node"
            raise RefusedError(f"{program} is not installed", host=self.host, thing=thing, remedy=remedy) from error
        except subprocess.TimeoutExpired as error:
            what, remedy = f"{program} gave no answer within {_TIMEOUT} s", "look at the load of the node and repeat"
            raise UnreachableError(what, host=self.host, thing=thing, remedy=remedy) from error
        if done.returncode != 0:
            message = done.stderr.decode("utf-8", "replace").strip() or "(no message)"
            what, remedy = f"{program} ended with status {done.returncode}: {message}", remedy or "read this message"
            raise ApplyError(what, host=self.host, thing=thing, remedy=remedy)
        return done.stdout.decode("utf-8", "replace")


@contextlib.contextmanager
def _opened(parent: int, name: str) -> Iterator[int]:
    """A descriptor of a file or directory, whatever else has its name meanwhile."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _whole(parent: int, name: str, content: bytes, mode: int, *, uid: int, gid: int) -> Iterator[str]:
    """The file, complete, under another name; it goes again unless it is given its own."""
    temporary = f".{name}.{secrets.token_hex(8)}"
    descriptor = os.open(temporary, _NEW, 0o600, dir_fd=parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            _own(stream.fileno(), mode, uid, gid)
            os.fsync(stream.fileno())
        yield temporary
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=parent)


def _own(descriptor: int, mode: int, uid: int, gid: int) -> None:
    status = os.fstat(descriptor)
    if (status.st_uid, status.st_gid) != (uid, gid):
        os.fchown(descriptor, uid, gid)
    os.fchmod(descriptor, mode)


def find_account(name: str, *, host: str) -> Account:
    """A user of this node. Raises `RefusedError` if there is none."""
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        what, remedy = "does not exist on this node", "create it or name another user"
        raise RefusedError(what, host=host, thing="user", value=name, remedy=remedy) from None
    return Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid, home=os.path.normpath(entry.pw_dir))
