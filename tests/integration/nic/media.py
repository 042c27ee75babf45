"""What NVIDIA would ship, SIMULATED: packages, archives and installers with the names, the layout and the failures of
the real ones and nothing else of them. ``python -m tests.integration.nic.media DIRECTORY`` writes everything, for the
lab's
nodes.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tarfile

from tests.integration.nic.throwaway import checksum, index, package, sign

KERNEL_PACKAGE = "mlnx-ofed-kernel-dkms"
BURNT = "/etc/SIMULATED-firmware-was-burnt"
DOCA_OLD, DOCA_NEW = "3.2.1-044000", "3.3.0-010000"
OFED_OLD, OFED_NEW = "5.2-1.0.4.0", "5.2-2.2.4.0"
SYSTEM = "debian12"
NV = "1.1-0"

# dkms says what this file says; without it, that its modules are built for the running kernel.
DKMS = """#!/bin/sh
[ -e /etc/SIMULATED-dkms ] && exec cat /etc/SIMULATED-dkms
for name in mlnx-ofed-kernel nvidia-peer-memory; do
  ls /usr/src | grep -q "^$name-" && echo "$name/1, $(uname -r), x86_64: installed"
done
true
"""
# In the middle of the work: ends dpkg once, or waits until it is let go (at most two minutes).
MIDDLE = """#!/bin/sh
if [ -e /etc/SIMULATED-kill-%(stage)s ]; then
  rm /etc/SIMULATED-kill-%(stage)s
  kill -9 "$PPID"
  exit 1
fi
[ -e /etc/SIMULATED-wait ] || exit 0
touch /etc/SIMULATED-reached
turns=0
while [ -e /etc/SIMULATED-wait ] && [ "$turns" -lt 600 ]; do sleep 0.2; turns=$((turns + 1)); done
"""
PREINST, POSTINST = MIDDLE % {"stage": "unpack"}, MIDDLE % {"stage": "configure"}
# As much as this lies in /opt/mellanox, a directory that a test can make too small.
TOOLS_SIZE = 600_000


def driver(directory: pathlib.Path, version: str, ballast: int = TOOLS_SIZE) -> pathlib.Path:
    """The package of the kernel module: source for DKMS, dkms itself, and something for /opt/mellanox."""
    files = {
        f"file:/usr/src/mlnx-ofed-kernel-{version}/dkms.conf": f"PACKAGE_VERSION={version}\n",
        "file:/usr/sbin/dkms": DKMS,
        "file:/opt/mellanox/SIMULATED/tools": "S" * ballast,
    }
    return package(directory, KERNEL_PACKAGE, version, preinst=PREINST, postinst=POSTINST, **files)


# ---- DOCA-OFED ------------------------------------------------------------------------------------------------------


def doca(directory: pathlib.Path, size_kib: int = 0) -> pathlib.Path:
    """A repository with two releases; each recommends the package that burns firmware.

    ``size_kib``: what they claim to need, 0 for no claim.
    """
    directory.mkdir(parents=True)
    claim = {"Installed-Size": str(size_kib)} if size_kib else {}
    # An upgrade of the package itself can be interrupted, too.
    middle = {"preinst": PREINST, "postinst": POSTINST, "file:/opt/mellanox/SIMULATED/doca": "S" * TOOLS_SIZE}
    for version in (DOCA_OLD, DOCA_NEW):
        package(
            directory, "doca-ofed", version, Depends=KERNEL_PACKAGE, Recommends="mlnx-fw-updater", **claim, **middle
        )
    driver(directory, "26.01")
    package(directory, "mlnx-fw-updater", "25.10", postinst=f"#!/bin/sh\ntouch {BURNT}\n")
    index(directory)
    return directory


# ---- MLNX_OFED ------------------------------------------------------------------------------------------------------

INSTALLER = f"""#!/bin/sh
# SIMULATED mlnxofedinstall: real dpkg, in its order, with its words.
cd "$(dirname "$0")" || exit 1
logs=/tmp/MLNX_OFED_LINUX.$$.logs
mkdir -p "$logs"
log=$logs/general.log
echo "Logs dir: $logs"
echo "General log file: $log"
force='' firmware=yes
for word in "$@"; do
  case $word in
    --force) force=yes ;;
    --without-fw-update) firmware='' ;;
    -q | --add-kernel-support) ;;
    *) exit 22 ;;
  esac
done
[ -n "$force" ] || {{ echo 'Do you want to continue?[y/N]:'; exit 1; }}
echo "$@" >> /etc/SIMULATED-installer-arguments
dpkg --purge --force-depends {KERNEL_PACKAGE} ofed-scripts >> "$log" 2>&1
for name in ofed-scripts {KERNEL_PACKAGE}; do
  if ! dpkg --install DEBS/$name_*.deb DEBS/"$name"_*.deb >> "$log" 2>&1; then
    echo "Error: $name installation failed!"
    tail -n 8 "$log"
    exit 1
  fi
done
[ -n "$firmware" ] && touch {BURNT}
echo 'Installation passed successfully'
echo 'To load the new driver, run:'
echo '/etc/init.d/openibd restart'
""".replace("DEBS/$name_*.deb ", "")


def ofed(directory: pathlib.Path, version: str) -> pathlib.Path:
    """MLNX_OFED_LINUX-VERSION-SYSTEM-x86_64.tgz; ofed_info comes with its first package."""
    name = f"MLNX_OFED_LINUX-{version}-{SYSTEM}-x86_64"
    debs = directory / name / "DEBS"
    debs.mkdir(parents=True)
    major, _dash, minor = version.partition("-")
    said = f"#!/bin/sh\necho MLNX_OFED_LINUX-{version}:\n"
    package(debs, "ofed-scripts", f"{major}-OFED.{major}.{minor}", **{"file:/usr/bin/ofed_info": said})
    driver(debs, f"{major}-OFED.{major}.{minor.rpartition('.')[0]}.1")
    (directory / name / "mlnxofedinstall").write_text(INSTALLER, encoding="utf-8")
    (directory / name / "mlnxofedinstall").chmod(0o755)
    return pack(directory, name, f"{name}.tgz")


def pack(directory: pathlib.Path, name: str, archive: str) -> pathlib.Path:
    made = directory / archive
    with tarfile.open(made, "w:gz") as handle:
        handle.add(directory / name, name)
    subprocess.run(["rm", "-rf", str(directory / name)], check=True)
    return made


# ---- nv_peer_memory -------------------------------------------------------------------------------------------------

CONTROL = """Source: nvidia-peer-memory
Section: kernel
Priority: optional
Maintainer: nobody <nobody@example.com>
Build-Depends: debhelper (>= 9.0), autotools-dev, bzip2, dkms
Standards-Version: 1.0

Package: nvidia-peer-memory
Architecture: all
Description: SIMULATED

Package: nvidia-peer-memory-dkms
Architecture: all
Depends: dkms, make, mlnx-ofed-kernel-dkms | mlnx-ofed-kernel-modules
Description: SIMULATED
"""
# Plain dpkg in place of debhelper, which a test's machine need not have.
RULES = """#!/usr/bin/make -f
TOP = debian/nvidia-peer-memory debian/nvidia-peer-memory-dkms
clean:
\trm -rf $(TOP) debian/files
build build-arch build-indep:
binary binary-arch binary-indep:
\tmkdir -p $(addsuffix /DEBIAN,$(TOP)) debian/nvidia-peer-memory-dkms/usr/src/nvidia-peer-memory-1.1
\tcp dkms.conf nv_peer_mem.c debian/nvidia-peer-memory-dkms/usr/src/nvidia-peer-memory-1.1
\tmkdir -p debian/nvidia-peer-memory/etc/infiniband
\tcp nv_peer_mem.conf debian/nvidia-peer-memory/etc/infiniband
\tinstall -m 755 debian/dkms.postinst debian/nvidia-peer-memory-dkms/DEBIAN/postinst
\tfor name in nvidia-peer-memory nvidia-peer-memory-dkms; do \\
\t  dpkg-gencontrol -p$$name -Pdebian/$$name && dpkg-deb --root-owner-group --build debian/$$name .. || exit 1; done
"""
# It loads its module, and a module that cannot be loaded leaves the package half configured.
LOADS = """#!/bin/sh
set -e
modprobe nv_peer_mem
"""


def nv_peer_memory(directory: pathlib.Path, version: str = NV, tag: str = NV) -> pathlib.Path:
    """The archive of a tag as a forge makes it; ``version``: what its changelog says."""
    name = f"nv_peer_memory-{tag}"
    tree = directory / name
    (tree / "debian/source").mkdir(parents=True)
    files = {
        "debian/control": CONTROL,
        "debian/rules": RULES,
        "debian/compat": "9\n",
        "debian/source/format": "3.0 (quilt)\n",
        "debian/dkms.postinst": LOADS,
        "debian/changelog": f"nvidia-peer-memory ({version}) unstable; urgency=low\n\n  * SIMULATED\n\n"
        " -- nobody <nobody@example.com>  Mon, 27 Jul 2020 16:01:20 +0200\n",
        "dkms.conf": 'PACKAGE_NAME="nv_peer_mem"\n',
        "nv_peer_mem.c": "/* SIMULATED */\n",
        "nv_peer_mem.conf": "ONBOOT=yes\n",
    }
    for path, text in files.items():
        (tree / path).write_text(text, encoding="utf-8")
    (tree / "debian/rules").chmod(0o755)
    return pack(directory, name, f"{name}.tar.gz")


def build_tools(directory: pathlib.Path) -> None:
    """Stand-ins for the distribution's packages that the packaging of nv_peer_memory asks for, as a repository."""
    directory.mkdir(parents=True, exist_ok=True)
    package(directory, "debhelper", "12")
    package(directory, "autotools-dev", "1")
    package(directory, "dkms", "2.8")
    index(directory)


def main(target: pathlib.Path) -> None:
    """Everything for the lab's nodes, with ``facts.json`` for the playbooks that use it."""
    target.mkdir(parents=True)
    repository = doca(target / "doca")
    key = sign(repository)
    archives = {version: ofed(target, version) for version in (OFED_OLD, OFED_NEW)}
    facts = {
        "doca_old": DOCA_OLD,
        "doca_new": DOCA_NEW,
        "ofed_old": OFED_OLD,
        "ofed_new": OFED_NEW,
        "system": SYSTEM,
        "key_checksum": checksum(key),
        "ofed_checksums": {version: checksum(path) for version, path in archives.items()},
        "ofed_names": {version: path.name for version, path in archives.items()},
    }
    (target / "facts.json").write_text(json.dumps(facts), encoding="utf-8")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
