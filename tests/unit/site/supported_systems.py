"""`PYTHONPATH=collections python -m tests.unit.site.supported_systems` writes docs/supported-systems.md."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.rocemesh.multinode.plugins.module_utils._site.systems import (
    PAGE,
    PARTS,
    REFUSED,
    SYSTEMS,
    System,
)

FILE = Path(__file__).parents[3] / PAGE
# ansible-core -> what it means here. Sources: its module_utils/basic.py of 2.21 (targets from Python 3.9 on), its
# changes of 2.20, and access.redhat.com/support/policy/updates/ansible-automation-platform.
CORES = {
    "2.16 (Ansible Automation Platform 2.5)": "too old; run the collection in an execution environment of your own",
    "2.17 to 2.19": "all systems of the table",
    "2.20 and later": "no node with Python 3.8, so not Ubuntu 20.04 with its own Python",
}


def page() -> str:
    """docs/supported-systems.md."""
    keys = list(PARTS)
    head = "| system | " + " | ".join(keys) + " | run on |\n|---|" + "---|" * (len(keys) + 1)
    notes: list[str] = []

    def cell(system: System, part: str) -> str:
        why = system.refused.get(part, "")
        if not why:
            return "yes"
        if why not in notes:
            notes.append(why)
        return f"no ({notes.index(why) + 1})"

    rows = [
        f"| {system.label} | " + " | ".join(cell(system, part) for part in keys) + f" | {system.tried} |"
        for system in SYSTEMS
    ]
    return (
        "# Systems of the GPU VMs\n\n"
        "<!-- made from plugins/module_utils/_site/systems.py by python -m tests.unit.site.supported_systems -->\n\n"
        "`preflight` and the roles `guest`, `container` and `mesh` obey this table before anything is changed. What is "
        "not in it is\nrefused with a message that names it; `rocemesh_allow_unlisted_system: true` tries it all the "
        "same, with\neverything installed by you. Switch systems: [role switch](../roles/switch/README.md#systems).\n\n"
        + "\n".join([head, *rows])
        + "\n\n"
        + "\n".join(f"- `{key}`: {text}" for key, text in PARTS.items())
        + "\n\n"
        + "\n".join(f"{number}. {why}." for number, why in enumerate(notes, start=1))
        + "\n\nSELinux may be enforcing: a container with the IPC namespace of its node, as the role `container` "
        "starts it, is not confined\nby SELinux (Docker sets `label=disable` itself, Podman as well; see "
        "[security.md](security.md)), so no mount needs a label.\n\n"
        "Podman (`container_engine: podman`) has to be 4.3 or newer, which Ubuntu 20.04 and 22.04 do not bring, and "
        "5.4 for GPUs. It was run\nwith the 4.3.1 of Debian 12 and the 5.4.2 of Debian 13 "
        "(`tests/integration/podman`).\n\n"
        "The image needs OpenSSH 7.8 or newer, with a root that is not locked. Upstream's 7.8, 8.0 and 8.1 (built "
        "without OpenSSL) came up\nas Debian's 9.2 does, with an environment of 13 kB as well; 7.4 and 7.6 have no "
        "`SetEnv`. A root with `!` in `/etc/shadow` is refused by\nits sshd for every login, unless root may not read "
        "that file (mode 0) and no `systemd` stands behind `shadow:` in\n`/etc/nsswitch.conf` "
        "(`tests/integration/mesh/test_locked_accounts.py`).\n\n"
        "Refused as a whole:\n\n| system | why |\n|---|---|\n"
        + "\n".join(f"| {name} | {why} |" for name, why in REFUSED.items())
        + "\n\nWhich systems the controller's ansible-core manages:\n\n| ansible-core | systems |\n|---|---|\n"
        + "\n".join(f"| {release} | {text} |" for release, text in CORES.items())
        + "\n\nNVIDIA's driver, Fabric Manager and, outside of Debian and Ubuntu, the container toolkit are installed "
        "by you on every\nsystem; `preflight` and the role `guest` (`gpus`) check the first two.\n"
    )


if __name__ == "__main__":
    FILE.write_text(page())
