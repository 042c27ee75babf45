"""What the installer of MLNX_OFED and DKMS say about the driver of the card, and when it must not be restarted. Pure.

Sources: a public transcript of mlnxofedinstall, the vendor's list of its exit codes, the two formats of `dkms status`.
Not verified on hardware.
"""

from __future__ import annotations

import re
from typing import Any, Mapping, Sequence

from .._layer import ParseError

INSTALLER_CODES = {
    0: "",
    1: "the installation failed",
    2: "no firmware found for the adapter",
    22: "an argument is not valid",
    28: "not enough free space",
    171: "not applicable: there is no adapter",
    172: "a prerequisite is missing",
    173: "the mst driver did not start",
}


_REMEDIES = (
    (r"does not have drivers available for this kernel", "add --add-kernel-support to guest_ofed_install_args"),
    (r"The current MLNX_OFED_LINUX is intended for (\S+)", "take the archive of this distribution"),
    (r"No space left on device|not enough free space", "free space in /tmp, /usr/src and /lib/modules, and run again"),
)


def parse_installer(code: int, text: str) -> dict[str, Any]:
    """``mlnxofedinstall``: its last words count, not its firmware step, which fails on every OEM card.

    ``installed``: whether the driver is on the disk; ``problem`` and ``remedy`` are '' then.
    """
    passed = "Installation passed successfully" in text
    problem = "" if passed and code in (0, 2) else INSTALLER_CODES.get(code, "") or "it did not say that it passed"
    if problem and re.search(r"No space left on device", text):
        problem = INSTALLER_CODES[28]
    general = re.search(r"^General log file: (\S+)$", text, re.MULTILINE)
    remedy = f"read {general.group(1)}" if general else "read the newest /tmp/MLNX_OFED_LINUX.*.logs/general.log"
    if problem:
        remedy = next((action for pattern, action in _REMEDIES if re.search(pattern, text + problem)), remedy)
    return {"installed": not problem, "problem": problem, "remedy": remedy if problem else ""}


_DONE = "installed"


def ofed_state(info: str, package: str, wanted: str, unfinished: bool) -> dict[str, str]:
    """``found``: the release of MLNX_OFED on the disk; ``state``: missing, unfinished, wanted or other.

    ``info``: output of ``ofed_info -s``, '' where it does not answer; ``package``: status and version of
    mlnx-ofed-kernel-dkms from dpkg; ``unfinished``: an installation of ours has begun and not ended. ofed_info comes
    early in an installation, so its word does not count while the driver's package is half done.
    """
    said = re.search(r"MLNX_OFED_LINUX-([0-9][0-9.-]*[0-9])", info)
    status, _space, version = package.strip().partition(" ")
    found = said.group(1) if said else version if status == _DONE else ""
    if unfinished or status not in ("", _DONE, "not-installed", "config-files", "unknown"):
        return {"found": found, "state": "unfinished"}
    if not found:
        return {"found": "", "state": "missing"}
    same = said.group(1) == wanted if said else _is_package_of(version, wanted)
    return {"found": found, "state": "wanted" if same else "other"}


def _is_package_of(version: str, release: str) -> bool:
    """5.2-OFED.5.2.2.2.4.1 belongs to 5.2-2.2.4.0: the numbers of the release but its last."""
    numbers = re.search(r"OFED\.([0-9.]+)", version)
    if numbers:
        return numbers.group(1).startswith(release.replace("-", ".").rpartition(".")[0] + ".")
    return version.startswith(release.split("-", maxsplit=1)[0] + "-")


_DKMS = re.compile(
    r"^(?P<name>[^,/\s]+)(?:/|, )(?P<version>[^,:\s]+)(?:, (?P<kernel>[^,\s]+), (?P<arch>[^,:\s]+))?: (?P<status>\w+)"
)


def parse_dkms(text: str, host: str) -> list[dict[str, str]]:
    """``dkms status``: ``mod/ver, kernel, arch: installed`` (3.x) or ``mod, ver, kernel, arch: installed`` (2.x)."""
    rows = []
    for line in text.splitlines():
        if not line.strip() or line.lower().startswith(("warning", "deprecated")):
            continue
        found = _DKMS.match(line.strip())
        if not found:
            raise ParseError("an unknown line", host=host, thing="dkms status", raw=text)
        rows.append({key: value or "" for key, value in found.groupdict().items()})
    return rows


def kernel_key(release: str) -> tuple[tuple[int, str], ...]:
    """Sorts 5.15.0-9 before 5.15.0-91."""
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in re.findall(r"\d+|[a-zA-Z]+", release))


def next_kernel(images: Sequence[str]) -> str:
    """The newest of ``/boot/vmlinuz-*``, which the next boot takes unless someone chose otherwise; '' for none."""
    releases = [image.rsplit("vmlinuz-", 1)[1] for image in images if "vmlinuz-" in image]
    return max(releases, key=kernel_key, default="")


def dkms_gaps(text: str, host: str, modules: Sequence[str], running: str, images: Sequence[str]) -> list[str]:
    """One sentence per module and kernel without a built module: after the next boot the driver would be missing."""
    rows = parse_dkms(text, host)
    kernels = [running, *([] if next_kernel(images) in ("", running) else [next_kernel(images)])]
    gaps = []
    for module in modules:
        if module not in {row["name"] for row in rows}:
            gaps.append(f"DKMS does not know {module}")
            continue
        for kernel in kernels:
            states = [row["status"] for row in rows if row["name"] == module and row["kernel"] == kernel]
            if "installed" not in states:
                which = "running" if kernel == running else "next"
                found = states[0] if states else "not built"
                gaps.append(f"{module} is {found} for the {which} kernel {kernel}")
    return gaps


def restart_refusals(rdma: Mapping[str, Any], connection: str) -> list[str]:
    """Why the driver of the card must not be restarted now; empty: it may.

    ``rdma``: result of rdma_info; ``connection``: the interface that carries this very session, '' for none, with those
    that it lies on and their drivers.
    """
    reasons = []
    own = {device["netdev"] for device in rdma.get("devices") or () if device.get("netdev")}
    carrying = connection.replace("@", " ").split()
    if {*own, "mlx4_core", "mlx5_core"}.intersection(carrying):
        reasons.append(f"{carrying[0]} carries this Ansible connection and belongs to the card")
    holders = rdma.get("holders")
    if holders is None:
        reasons.append("what holds ib_core could not be read")
    reasons += [f"module {name} holds ib_core" for name in holders or ()]
    return reasons
