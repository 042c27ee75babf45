"""This machine with another disk: an overlay in a mount namespace of its own, gone when the test ends.

Packages are really installed there with the machine's own apt and dpkg, from repositories that the test builds. The
packages carry the names and the layout of NVIDIA's and nothing else of them: everything they do is SIMULATED.
"""

from __future__ import annotations

import contextlib
import email.utils
import gzip
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Iterator, Sequence

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]


class Disk:
    """``run`` runs a command with the throw-away disk as its root.

    ``shared`` is seen there under its own path, and as /mirror, where apt's unprivileged helper can read it too.
    """

    def __init__(self, shared: pathlib.Path, holder: subprocess.Popen[str], root: str) -> None:
        self.shared = shared
        self._inside = ["nsenter", f"--target={holder.pid}", "--mount", "chroot", root]
        self._seen = f"/proc/{holder.pid}/root{root}"

    def run(
        self, *argv: str, env: dict[str, str] | None = None, timeout: float = 240
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._inside, *argv],
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def start(self, *argv: str, env: dict[str, str], output: pathlib.Path) -> subprocess.Popen[bytes]:
        """A program that goes on: nsenter, chroot and env become it, so its process is the one returned."""
        with output.open("wb") as handle:
            return subprocess.Popen(
                [*self._inside, *argv],
                env={**os.environ, **env},
                stdin=subprocess.DEVNULL,
                stdout=handle,
                stderr=subprocess.STDOUT,
            )

    def boot(self, *argv: str, env: dict[str, str], output: pathlib.Path) -> subprocess.Popen[bytes]:
        """A program as process 1 of a name space whose root is this disk, as whoever starts containers needs it. What
        it starts ends with it, and it ends with the process returned (SIGKILL)."""
        *enter, _chroot, root = self._inside
        script = 'mount --make-rprivate /; cd "$0"; mkdir -p outside; pivot_root . outside; cd /; umount -l outside'
        script += '; mount -t proc proc /proc; exec "$@"'
        with output.open("wb") as handle:
            return subprocess.Popen(
                [*enter, "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", script, root, *argv],
                env={**os.environ, **env},
                stdin=subprocess.DEVNULL,
                stdout=handle,
                stderr=subprocess.STDOUT,
            )

    def write(self, path: str, text: str, mode: int = 0o755) -> None:
        done = subprocess.run(
            [*self._inside, "sh", "-c", f'mkdir -p "$(dirname "$1")" && cat > "$1" && chmod {mode:o} "$1"', "sh", path],
            input=text,
            text=True,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def small(self, path: str, size: int) -> None:
        """A file system of ``size`` bytes of its own at ``path``; again with another size to make space."""
        script = 'mkdir -p "$1"; if mountpoint -q "$1"; then mount -o "remount,size=$2" "$1";'
        script += ' else mount -t tmpfs -o "size=$2" small "$1"; fi'
        done = self.run("sh", "-c", script, "sh", path, str(size))
        assert done.returncode == 0, done.stderr

    def exists(self, path: str) -> bool:
        return os.path.exists(self._seen + path)

    def version(self, package: str) -> str:
        """Installed version, '' when it is not (wholly) installed."""
        done = self.run("dpkg-query", "-W", "-f=${db:Status-Status} ${Version}", package)
        words = done.stdout.split()
        return words[1] if done.returncode == 0 and words[:1] == ["installed"] else ""


_SCRIPT = """set -e
mount --make-rprivate /
mount -t tmpfs throwaway "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o lowerdir=/,upperdir="$1/upper",workdir="$1/work" "$1/root"
for name in proc sys dev; do mount --rbind "/$name" "$1/root/$name"; done
mkdir -p "$1/root$2" && mount --bind "$2" "$1/root$2"
mkdir "$1/root/mirror" && mount --bind "$2" "$1/root/mirror"
rm -rf "$1/root/etc/apt/sources.list" "$1/root/etc/apt/sources.list.d" && mkdir "$1/root/etc/apt/sources.list.d"
mkdir -p "$1/root/boot" && touch "$1/root/boot/vmlinuz-$(uname -r)"
echo ready
read -r _
"""


@contextlib.contextmanager
def disk(place: pathlib.Path, shared: pathlib.Path) -> Iterator[Disk]:
    """``place``: an empty directory to mount on; ``shared``: a directory that is the same on both disks."""
    place.mkdir()
    holder = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", _SCRIPT, "sh", str(place), str(shared)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None
        if holder.stdout.readline().strip() != "ready":
            raise RuntimeError(f"no throw-away disk: {holder.communicate()[1].strip()}")
        yield Disk(shared, holder, f"{place}/root")
    finally:
        holder.communicate("end\n", timeout=30)


def possible() -> str:
    """'' or why this machine cannot have a throw-away disk."""
    if os.geteuid() != 0:
        return "needs root"
    for program in ("unshare", "nsenter", "dpkg-deb", "dpkg-scanpackages", "gpg", "apt-get"):
        if not any(os.access(os.path.join(path, program), os.X_OK) for path in os.get_exec_path()):
            return f"no {program}"
    probe = "import apt"
    if subprocess.run(["/usr/bin/python3", "-c", probe], capture_output=True, check=False).returncode:
        return "no python3-apt"
    script = 'mount -t tmpfs t "$1" && mkdir "$1/u" "$1/w" "$1/r"'
    script += ' && mount -t overlay o -o lowerdir=/,upperdir="$1/u",workdir="$1/w" "$1/r"'
    with tempfile.TemporaryDirectory() as place:
        command = ["unshare", "--mount", "sh", "-c", script, "sh", place]
        done = subprocess.run(command, capture_output=True, check=False, text=True)
    return "" if done.returncode == 0 else f"no overlay: {done.stderr.strip()}"


# ---- packages -------------------------------------------------------------------------------------------------------


def package(directory: pathlib.Path, name: str, version: str, **fields: str) -> pathlib.Path:
    """Builds NAME_VERSION_amd64.deb. ``fields``: fields of it; ``file:PATH`` a file; ``preinst``, ``postinst``."""
    tree = directory / f".build-{name}-{version}"
    (tree / "DEBIAN").mkdir(parents=True)
    control = [
        f"Package: {name}",
        f"Version: {version}",
        "Architecture: amd64",
        "Maintainer: nobody <nobody@example.com>",
    ]
    for key, text in fields.items():
        if key.startswith("file:"):
            target = tree / key[len("file:/") :]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
            target.chmod(0o755)
        elif key in ("preinst", "postinst"):
            (tree / "DEBIAN" / key).write_text(text, encoding="utf-8")
            (tree / "DEBIAN" / key).chmod(0o755)
        elif key != "tree":
            control.append(f"{key.replace('_', '-')}: {text}")
    if "tree" in fields:  # SOURCE:TARGET, a directory to carry
        source, target_name = fields["tree"].split(":")
        subprocess.run(["cp", "-a", source, f"{tree}/{target_name.lstrip('/')}"], check=True)
    control.append("Description: SIMULATED package of a test")
    (tree / "DEBIAN/control").write_text("\n".join(control) + "\n", encoding="utf-8")
    made = directory / f"{name}_{version}_amd64.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", str(tree), str(made)], check=True,
                   capture_output=True)  # fmt: skip
    subprocess.run(["rm", "-rf", str(tree)], check=True)
    return made


def index(directory: pathlib.Path) -> None:
    """Packages and Release of a flat repository."""
    for stale in ("Packages", "Packages.gz", "Release", "InRelease"):
        (directory / stale).unlink(missing_ok=True)
    done = subprocess.run(
        ["dpkg-scanpackages", "--multiversion", "."], cwd=directory, capture_output=True, check=True, text=True
    )
    (directory / "Packages").write_text(done.stdout, encoding="utf-8")
    with gzip.open(directory / "Packages.gz", "wt", encoding="utf-8") as handle:
        handle.write(done.stdout)
    date = email.utils.formatdate(usegmt=True).replace("GMT", "UTC")
    lines = ["Origin: DOCA-HOST SIMULATED", "Suite: ./", f"Date: {date}", "SHA256:"]
    for name in ("Packages", "Packages.gz"):
        content = (directory / name).read_bytes()
        lines.append(f" {hashlib.sha256(content).hexdigest()} {len(content)} {name}")
    (directory / "Release").write_text("\n".join(lines) + "\n", encoding="utf-8")


def sign(directory: pathlib.Path) -> pathlib.Path:
    """Signs the Release with a new key; returns the public key in ASCII."""
    # The agent's socket lies there, and its path may have no more than 108 characters.
    with tempfile.TemporaryDirectory(prefix="rm-", dir="/tmp") as home:
        return _sign(directory, home)


def _sign(directory: pathlib.Path, home: str) -> pathlib.Path:
    gpg = ["gpg", "--homedir", home, "--batch", "--yes", "--pinentry-mode", "loopback", "--passphrase", ""]
    commands: list[Sequence[str]] = [
        [*gpg, "--quick-generate-key", "SIMULATED <nobody@example.com>", "ed25519", "sign", "1d"],
        [*gpg, "--clearsign", "--output", str(directory / "InRelease"), str(directory / "Release")],
        [*gpg, "--armor", "--export", "--output", str(directory / "KEY.pub")],
    ]
    for command in commands:
        subprocess.run(command, check=True, capture_output=True)
    subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"], check=False, capture_output=True)
    return directory / "KEY.pub"


def checksum(path: pathlib.Path) -> str:
    return "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()


def playbook() -> str:
    return str(pathlib.Path(sys.executable).parent / "ansible-playbook")
