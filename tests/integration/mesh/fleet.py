"""Many nodes on this machine, each with its own network, host name, processes, files and sshd; only the engine is a
stand-in, which runs what it is asked for on the node itself, the container's own sshd among it.

A node is a set of namespaces: the machine's files with a layer of its own above them (so that /root, /tmp, /etc/ssh and
/usr/local/libexec are its own), one interface on a bridge that no other network touches, and sshd as its first process.
A "fabric" namespace holds the bridge; who administers the nodes (Ansible, the guide's shell) runs there. Ending the
first process of a node ends everything in it, and the kernel takes its interface and its files away.

Needs root, iproute2, openssh-server and a kernel with overlayfs. Leaves nothing in the network of the machine.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

SSHD = "/usr/sbin/sshd"
NETWORK = "10.79.0.0/16"
CONTROLLER = "10.79.255.254"
CONTAINER = "mpicont"
MESH = "/etc/rocemesh/mesh"
CONTAINER_USER = "/run/container_user"  # uid, gid and home, where the container does not run as root
CONTAINER_LOG = "/run/container.log"  # what `docker logs` shows of a node's container

# The engine of a node. What is executed "in the container" sees the mesh's files at /root/.ssh, as the mount of the
# real one would show them; processes, network and host name are the node's, as with --net=host --uts=host.
DOCKER = f"""#!/bin/bash
case "$1" in
  inspect) echo true ;;
  run)
    exec > {CONTAINER_LOG} 2>&1 < /dev/null
    exec setsid "$0" exec {CONTAINER} /bin/sh -c 'exec /bin/sh ~/.ssh/start_sshd.sh' & ;;
  exec)
    shift
    while [ "$1" = --env ]; do export "$2"; shift 2; done
    [ "$1" = {CONTAINER} ] || exit 125
    shift
    ssh={MESH}/container
    [ -d "$ssh" ] || ssh=/root/.ssh/ssh_container # where the guide has it
    home=/root
    if read -r uid gid home 2> /dev/null < {CONTAINER_USER}; then
      set -- setpriv --reuid "$uid" --regid "$gid" --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all \
        env HOME="$home" "$@"
    fi
    exec unshare --mount /bin/sh -c 'test -z "$2" || mount -t tmpfs -o mode=755,uid="$2" none /run/sshd
      mount --bind "$0" "$1/.ssh" && mount -o remount,ro,bind "$1/.ssh" && shift 2 && exec "$@"' \
      "$ssh" "$home" "${{uid:-}}" "$@" ;;
  *) exit 125 ;;
esac
"""

# First process of a node. Arguments: folder of the node, host name, address. Waits for a line before it uses the
# interface that it is given meanwhile.
_INIT = r"""
set -e
folder=$1 name=$2 address=$3
mount --make-rprivate /
mount -t tmpfs -o mode=755 none "$folder"
mkdir "$folder/upper" "$folder/work" "$folder/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
root=$folder/root
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 none "$root/tmp"
mount -t tmpfs -o mode=755 none "$root/run"
mount -t tmpfs -o mode=700 none "$root/root"
if [ -n "$4" ]; then mkdir -p "$root$4"; mount --bind "$4" "$root$4"; fi
hostname "$name"
mkdir -p "$root/run/sshd" "$root/root/.ssh"
chmod 700 "$root/root/.ssh"
cp "$5" "$root/root/.ssh/authorized_keys"
rm -f "$root"/etc/ssh/ssh_host_* "$root/etc/ssh/ssh_config.d"/* "$root/etc/ssh/sshd_config.d"/*
ssh-keygen -q -t ed25519 -N '' -C "$name" -f "$root/etc/ssh/ssh_host_ed25519_key"
cp "$6" "$root/usr/local/bin/docker"
printf '%s\n' 'HostKey /etc/ssh/ssh_host_ed25519_key' 'UsePAM no' 'PasswordAuthentication no' \
  'KbdInteractiveAuthentication no' 'PermitRootLogin prohibit-password' 'LogLevel VERBOSE' 'PidFile none' \
  'UseDNS no' "SetEnv PATH=$7" 'Subsystem sftp internal-sftp' > "$root/etc/ssh/sshd_config"
printf '127.0.0.1 localhost\n%s %s\n' "$address" "$name" > "$root/etc/hosts"
echo ready
read -r go
ip link set lo up
ip address add "$address/16" dev eth0
ip link set eth0 up
exec chroot "$root" /usr/sbin/sshd -D -E /run/sshd.log
"""
# A test that is killed leaves no nodes behind.
_DIE_WITH_US = ("setpriv", "--pdeathsig", "KILL")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def missing() -> str:
    """Why no fleet can run here; empty if it can."""
    if os.getuid() != 0:
        return "needs root"
    for program, package in (
        (SSHD, "openssh-server"), ("ip", "iproute2"), ("unshare", "util-linux")
    ):  # fmt: skip
        if not (os.path.exists(program) or shutil.which(program)):
            return f"needs {package}"
    tried = subprocess.run(
        ["unshare", "--mount", "--net", "--uts", "--pid", "--fork", "/bin/sh", "-c",
         "mount --make-rprivate / && mount -t tmpfs none /mnt && mkdir /mnt/u /mnt/w /mnt/m && "
         "mount -t overlay o -o lowerdir=/,upperdir=/mnt/u,workdir=/mnt/w /mnt/m && ip link add x type bridge"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return "" if tried.returncode == 0 else f"cannot make namespaces here: {tried.stderr.strip()[-200:]}"


class Node:
    """One machine of the fleet. ``pid``: its first process, in the namespaces of the node."""

    def __init__(self, name: str, address: str, process: subprocess.Popen[str]) -> None:
        self.name, self.address, self.process = name, address, process
        self.pid = 0

    @property
    def root(self) -> Path:
        """The node's files as this machine can see them."""
        return Path(f"/proc/{self.pid}/root")

    def inside(self, command: Sequence[str], timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Run on the node, as a process of that node."""
        return subprocess.run(
            [*self.entering(), *command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout,
            check=False, env={"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8"},
        )  # fmt: skip

    def entering(self) -> list[str]:
        pid = str(self.pid)
        return ["nsenter", "--target", pid, "--mount", "--uts", "--net", "--pid", "--root", "--wdns=/"]

    def in_container(self, command: Sequence[str], timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """What ``docker exec`` of the container would do there."""
        return self.inside(["/usr/local/bin/docker", "exec", CONTAINER, *command], timeout)

    def start_container(self) -> None:
        """Start the container, and wait until its SSH server listens. The role mesh wrote its files before."""
        log = self.root / CONTAINER_LOG.lstrip("/")
        log.unlink(missing_ok=True)
        done = self.inside(["/usr/local/bin/docker", "run"])
        assert done.returncode == 0, done.stderr
        _listens(self, log)

    def log(self, of: str = CONTAINER_LOG) -> str:
        """What the SSH server of the container wrote; ``of``: another file of the node."""
        path = self.root / of.lstrip("/")
        return path.read_text(errors="replace") if path.exists() else ""

    def connections(self, of: str = CONTAINER_LOG) -> int:
        """TCP connections that the SSH server took since it started."""
        return sum(1 for line in self.log(of).splitlines() if line.startswith("Connection from "))


class Fleet:
    """``nodes`` in the order of their names; ``run`` is the administrator's shell."""

    def __init__(self, folder: Path, fabric: subprocess.Popen[str], nodes: list[Node]) -> None:
        self.folder, self.nodes = folder, nodes
        self._fabric = fabric
        self.key = folder / "admin"
        self.known_hosts = folder / "known_hosts"

    def entering(self) -> list[str]:
        return ["nsenter", "--target", str(self._fabric.pid), "--net"]

    def run(
        self, command: Sequence[str], *, timeout: float = 600, cwd: Path | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.entering(), *command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout,
            check=False, cwd=cwd, env={**os.environ, **environment},
        )  # fmt: skip

    def connections(self) -> int:
        """Of the administrator, to the nodes' own SSH servers."""
        return sum(node.connections("/run/sshd.log") for node in self.nodes)


@contextmanager
def fleet(count: int, *, shared: Path | None = None) -> Iterator[Fleet]:
    """``count`` nodes, all of which answer. ``shared``: a folder that every node sees at the same path."""
    base = Path(tempfile.mkdtemp(prefix="rocemesh-fleet-", dir="/run"))
    started: list[subprocess.Popen[str]] = []
    result: Fleet | None = None
    try:
        result = _start(base, count, shared, started)
        yield result
    finally:
        if started:
            _end_strays(started[0].pid)
        for process in started:
            process.send_signal(signal.SIGKILL)  # the first process: its namespaces end with it
        for process in started:
            process.wait(30)
            for stream in (process.stdin, process.stdout):
                if stream:
                    stream.close()
        shutil.rmtree(base, ignore_errors=True)  # a stray may have been removing its socket meanwhile


def _end_strays(fabric: int) -> None:
    """What the administrator left running in the fabric, such as the connections that Ansible keeps open."""
    network = os.readlink(f"/proc/{fabric}/ns/net")
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int(entry.name) != fabric and os.readlink(entry / "ns/net") == network:
                os.kill(int(entry.name), signal.SIGKILL)


def _start(base: Path, count: int, shared: Path | None, started: list[subprocess.Popen[str]]) -> Fleet:
    base.chmod(0o755)
    (base / "docker").write_text(DOCKER)
    (base / "docker").chmod(0o755)
    (base / "init").write_text(_INIT)
    key = base / "admin"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "administrator", "-f", key], check=True)
    piped = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    bridge = (
        "ip link set lo up && ip link add mesh type bridge && "
        f"ip address add {CONTROLLER}/16 dev mesh && ip link set mesh up"
    )
    fabric = subprocess.Popen(
        [*_DIE_WITH_US, "unshare", "--net", "/bin/sh", "-c", f"{bridge} && echo ready && exec cat"],
        **piped,  # type: ignore[call-overload]
    )
    started.append(fabric)
    _ready(fabric, "fabric")
    nodes = []
    for number in range(1, count + 1):
        name, address = f"gpu{number:03d}", f"10.79.{number // 250}.{number % 250 + 1}"
        (base / name).mkdir()
        process = subprocess.Popen(
            [*_DIE_WITH_US, "unshare", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child",
             "/bin/bash", "-c",
             _INIT, "init", base / name, name, address, str(shared or ""), key.with_suffix(".pub"), base / "docker",
             PATH],
            **piped,  # type: ignore[call-overload]
        )  # fmt: skip
        started.append(process)
        nodes.append(Node(name, address, process))
    lines = []
    for number, node in enumerate(nodes):
        _ready(node.process, node.name)
        node.pid = _child(node.process)
        lines.append(f"link add v{number} type veth peer name eth0 netns {node.pid}")
        lines += [f"link set v{number} master mesh", f"link set v{number} up"]
    result = Fleet(base, fabric, nodes)
    subprocess.run([*result.entering(), "ip", "-batch", "-"], input="\n".join(lines) + "\n", text=True, check=True)
    for node in nodes:
        assert node.process.stdin
        node.process.stdin.write("go\n")
        node.process.stdin.flush()
    with result.known_hosts.open("w") as known:
        for node in nodes:
            _listens(node, node.root / "run/sshd.log")
            public = (node.root / "etc/ssh/ssh_host_ed25519_key.pub").read_text().split()
            known.write(f"{node.address},{node.name} {public[0]} {public[1]}\n")
    return result


def _ready(process: subprocess.Popen[str], name: str) -> None:
    assert process.stdout
    if process.stdout.readline() != "ready\n":
        raise RuntimeError(f"{name} of the fleet did not start (status {process.wait(10)}); see the lines above")


def _child(process: subprocess.Popen[str]) -> int:
    return int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])


def _listens(node: Node, log: Path) -> None:
    """Waits until an sshd has said that it listens; what it said otherwise is the error."""
    deadline = time.monotonic() + 60
    while not (log.exists() and "Server listening" in log.read_text()):
        if node.process.poll() is not None or time.monotonic() > deadline:
            said = log.read_text() if log.exists() else "nothing"
            raise RuntimeError(f"{node.name}: sshd does not listen; its log: {said}")
        time.sleep(0.02)
