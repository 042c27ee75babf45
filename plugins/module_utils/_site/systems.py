"""Which operating systems of the GPU VMs are supported for what, and why the others are refused: one table. Pure.

The role preflight and the first tasks of guest, container and mesh obey it; docs/supported-systems.md is made from it
(`python -m tests.unit.site.supported_systems`).
"""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping, Sequence

# What a role does on a node, with what the person at the keyboard calls it.
PARTS = {
    "ats": "ATS and MTU with tools that are there (`guest_ofed_profile: none`)",
    "mstflint": "installs the tools (`guest_ofed_profile: mstflint`)",
    "guide": "installs MLNX_OFED 5.2 (`guest_ofed_profile: guide`); the archive has to be for this system",
    "current": "installs DOCA-OFED (`guest_ofed_profile: current`)",
    "engine": "installs the engine, Docker or Podman (`container_install_engine`)",
    "container": "image and container on an engine that is there",
    "mesh": "accounts and login of the mesh",
}
_APT = "it is installed with apt; install it yourself"
_INBOX = (
    "Ubuntu ships DOCA-OFED itself since 26.04 and warns of mixing it with NVIDIA's repository; install "
    "doca-ofed-generic from Ubuntu, and take guest_ofed_profile none or mstflint"
)
_RPM = {
    "mstflint": _APT,
    "guide": _APT,
    "current": _APT,
    "engine": _APT + " (docker-ce; or podman, podman-docker and skopeo)",
}


@dataclasses.dataclass(frozen=True)
class System:
    """``names``: as Ansible calls the distribution; ``version``: beginning of its version, up to a dot; ``refused``:
    part -> why; ``tried``: where it was run."""

    names: tuple[str, ...]
    version: str
    refused: Mapping[str, str] = dataclasses.field(default_factory=dict)
    tried: str = ""

    def is_it(self, name: str, version: str) -> bool:
        return name in self.names and (version == self.version or version.startswith(self.version + "."))

    @property
    def label(self) -> str:
        return f"{', '.join(self.names)} {self.version}"


_REBUILDS = ("RedHat", "Rocky", "AlmaLinux", "OracleLinux", "CentOS")
SYSTEMS = (
    System(("Ubuntu",), "20.04", {}, "packages' names and versions; the guide's system"),
    System(("Ubuntu",), "22.04", {}, "packages' names"),
    System(("Ubuntu",), "24.04", {}, "packages' names"),
    System(("Ubuntu",), "26.04", {"current": _INBOX}, "nothing yet"),
    System(("Debian",), "12", {}, "simulated nodes, each run of the tests"),
    System(("Debian",), "13", {}, "nothing yet"),
    System(_REBUILDS, "8", _RPM, "nothing yet"),
    System(_REBUILDS, "9", _RPM, "nothing yet"),
    System(_REBUILDS, "10", _RPM, "nothing yet"),
)
# Known, and refused as a whole.
REFUSED = {
    "SLES": "zypper, AppArmor and wicked are not known to these roles",
    "SLED": "zypper, AppArmor and wicked are not known to these roles",
    "openSUSE Leap": "zypper, AppArmor and wicked are not known to these roles",
    "Fedora": "it changes faster than drivers and these roles follow",
    "Amazon": "no VM on ESXi runs it with these cards",
    "VMware Photon OS": "no driver of the cards is packaged for it",
    "Alpine": "musl: neither NVIDIA's driver nor MLNX_OFED runs there",
    "Archlinux": "it changes faster than drivers and these roles follow",
}
PAGE = "docs/supported-systems.md"
OLD_PYTHON = f"take ansible-core 2.19 on the controller, or a node with Python 3.9 or later (see {PAGE})"


def find(name: str, version: str) -> System | None:
    return next((system for system in SYSTEMS if system.is_it(name, version)), None)


def problems(facts: Mapping[str, Any], parts: Sequence[str], *, unlisted: bool = False) -> list[str]:
    """Why this system is refused for what is wanted; empty if it is not. ``unlisted``: take a system that is not in
    the table as one where everything is there already."""
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise ValueError(f"no such part: {', '.join(unknown)}")
    name, version = str(facts.get("distribution") or ""), str(facts.get("distribution_version") or "")
    system = find(name, version)
    if system is None:
        if unlisted:
            return [f"{name} {version}: {_APT}" for part in parts if part in ("mstflint", "guide", "current", "engine")]
        known = sorted({other.version for other in SYSTEMS if name in other.names}, key=lambda text: (len(text), text))
        why = (
            f"of {name} these are supported: {', '.join(known)}"
            if known
            else REFUSED.get(name, "no test and no site knows it")
        )
        return [
            f"{name or 'an unknown system'} {version} is not supported: {why}. See {PAGE}; "
            "rocemesh_allow_unlisted_system tries it all the same"
        ]
    refused = system.refused
    return [f"{name} {version} is refused for {part}: {refused[part]}" for part in parts if part in refused]
