"""The image under all others: pulled where a container registry answers, else made from this machine's packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from . import config, engine

TARBALL = config.CACHE_DIR / f"base-{config.SUITE}-slim.tar.zst"
_UPSTREAM = f"debian:{config.SUITE}-slim"
_PULL_SECONDS = 60
# As Debian's slim image: what no program of the lab reads is in no image, and no pull carries it.
_UNREAD = ("doc", "groff", "info", "lintian", "linda", "locale", "man")
# How this machine talks to its package mirror: taken over into the base, so that apt works in it as it does here.
_APT_OPTIONS = ("Acquire::Check-", "Acquire::http", "Acquire::https", "Acquire::ForceIPv", "Acquire::Retries")


def ensure() -> str:
    """Makes the image if the engine has none; returns one line that says where it came from."""
    if engine.inspect("image", config.BASE_IMAGE):
        return "already there"
    if TARBALL.exists():
        _import()
        return f"from {TARBALL}"
    if _pull():
        return f"pulled {_UPSTREAM}"
    _bootstrap()
    _import()
    return f"made with debootstrap, kept in {TARBALL}"


def _pull() -> bool:
    theirs = engine.inspect("image", _UPSTREAM) is not None
    try:
        if not theirs and engine.docker("pull", "--quiet", _UPSTREAM, timeout=_PULL_SECONDS, check=False).returncode:
            return False
    except config.LabError:  # no answer in time
        return False
    engine.docker("tag", _UPSTREAM, config.BASE_IMAGE)
    if not theirs:
        # Only our own name stays, so that `down` can remove the image without touching what the user pulled.
        engine.docker("rmi", "--no-prune", _UPSTREAM)
    return True


def mirror_from_sources(texts: Iterable[str]) -> str | None:
    """The first package archive named in apt's source files (either format)."""
    for text in texts:
        for line in text.splitlines():
            words = line.split()
            if words[:1] == ["URIs:"] and len(words) > 1:
                return words[1]
            if words[:1] == ["deb"]:
                # deb [options] uri suite component...
                return next((word for word in words[1:] if "://" in word), None)
    return None


def _mirror() -> str:
    if os.environ.get("ROCEMESH_LAB_MIRROR"):
        return os.environ["ROCEMESH_LAB_MIRROR"]
    release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    files = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]
    # The distribution's own file first: others name single products.
    files.sort(key=lambda path: path.name not in {"debian.sources", "sources.list"})
    mirror = mirror_from_sources(path.read_text() for path in files if path.is_file())
    if release.get("ID", "").strip('"') != "debian" or mirror is None:
        raise config.LabError(
            f"no container registry gave {_UPSTREAM}, and this machine's packages are not Debian's; set "
            "ROCEMESH_LAB_MIRROR to the address of a Debian package mirror and run again"
        )
    return mirror


def _bootstrap() -> None:
    if shutil.which("debootstrap") is None or shutil.which("zstd") is None:
        raise config.LabError("debootstrap or zstd is not installed; run lab/bootstrap.sh")
    if os.geteuid() != 0:
        raise config.LabError("making the base image needs root (debootstrap); run as root")
    mirror = _mirror()
    config.CACHE_DIR.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=config.CACHE_DIR, prefix="root-") as directory:
        root = Path(directory, "root")
        log = config.CACHE_DIR / "debootstrap.log"
        with log.open("w") as output:
            status = subprocess.run(
                ["debootstrap", "--variant=minbase", "--include=ca-certificates", config.SUITE, str(root), mirror],
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            ).returncode
        if status:
            raise config.LabError(f"debootstrap ended with status {status}; see {log}")
        log.unlink()
        _apt_like_here(root)
        _slim(root)
        partial = TARBALL.with_name(TARBALL.name + ".part")
        excluded = ("./var/cache/apt/archives/*.deb", "./var/lib/apt/lists/*", "./var/cache/apt/*.bin", "./dev/*")
        with subprocess.Popen(
            ["tar", "-C", str(root), *(f"--exclude={pattern}" for pattern in excluded), "-cf", "-", "."],
            stdout=subprocess.PIPE,
        ) as tar:
            subprocess.run(["zstd", "-q", "-3", "-f", "-o", str(partial)], stdin=tar.stdout, check=True)
        if tar.returncode:
            raise config.LabError(f"tar of {root} ended with status {tar.returncode}")
        partial.replace(TARBALL)


def _apt_like_here(root: Path) -> None:
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout
    chosen = [line for line in dump.splitlines() if line.startswith(_APT_OPTIONS) and not line.endswith('"";')]
    # As in Debian's own image: no translations of package descriptions, and no fsync per unpacked file.
    chosen.append('Acquire::Languages "none";')
    (root / "etc/apt/apt.conf.d/90lab").write_text("\n".join(chosen) + "\n")
    (root / "etc/dpkg/dpkg.cfg.d/90lab").write_text("force-unsafe-io\n")
    # Certificate authorities that the operator of this machine added: a mirror behind https may need them.
    added = list(Path("/usr/local/share/ca-certificates").glob("**/*.crt"))
    for certificate in added:
        shutil.copy(certificate, root / "usr/local/share/ca-certificates")
    if added:
        subprocess.run(["chroot", str(root), "update-ca-certificates"], capture_output=True, check=True)


def _slim(root: Path) -> None:
    """Licences stay, as there."""
    share = Path("/usr/share")
    rules = [f"path-exclude={share / name}/*" for name in _UNREAD] + [f"path-include={share}/doc/*/copyright"]
    (root / "etc/dpkg/dpkg.cfg.d/90lab-slim").write_text("\n".join(rules) + "\n")
    for name in _UNREAD:
        for path in (root / "usr/share" / name).rglob("*"):
            if path.is_symlink() or (path.is_file() and path.name != "copyright"):
                path.unlink()


def _import() -> None:
    with subprocess.Popen(["zstd", "-qdc", str(TARBALL)], stdout=subprocess.PIPE) as unpacked:
        run = subprocess.run(
            engine.command("import", "--change", 'CMD ["bash"]', "-", config.BASE_IMAGE),
            stdin=unpacked.stdout,
            capture_output=True,
            text=True,
            env=engine.environment(),
            check=False,
        )
    if unpacked.returncode or run.returncode:
        raise config.LabError(f"{TARBALL} cannot be imported ({run.stderr.strip()}); remove the file and run again")
