"""The next boot against what is there now, on guests as folders. netplan's generator is real."""

from __future__ import annotations

import json
import os
import pathlib
import stat
import subprocess
from typing import Any, Sequence

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.boot_reading import read_next_boot
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.interface_reading import InterfaceReader
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.transport import Finished, Sysfs

from tests.integration.nic.boot_cases import APPEARS, HALF_DONE, RULES, SOUND, Guest
from tests.integration.nic.guest_paper import GENERATE, LIBRARIES, NEEDS

pytestmark = NEEDS


def reader_of(guest: Guest, root: pathlib.Path) -> InterfaceReader:
    for path, content in guest.files.items():
        text, mode = content if isinstance(content, tuple) else (content, 0o600)
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("->"):
            place.unlink(missing_ok=True)
            place.symlink_to(text[2:])
        else:
            place.write_text(text)
            place.chmod(mode)
    for name, manager in guest.managed.items():
        index = guest.row(name)["ifindex"]
        if manager == "ifupdown":
            state, text = root / "run/network/ifstate", f"{name}={name}\n"
        elif manager.startswith("/"):
            state, text = root / f"run/systemd/netif/links/{index}", f"ADMIN_STATE=configured\nNETWORK_FILE={manager}\n"
        else:
            state, text = (
                root / f"run/NetworkManager/devices/{index}",
                f"[device]\nmanaged=true\nconnection-uuid={manager}\n",
            )
        state.parent.mkdir(parents=True, exist_ok=True)
        with state.open("a") as stream:
            stream.write(text)
    for name, told in guest.udev.items():
        place = root / f"run/udev/data/n{guest.row(name)['ifindex']}"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("".join(f"E:{key}={value}\n" for key, value in told.items()))
        (root / "sys/class/net" / name).mkdir(parents=True, exist_ok=True)
        (root / "sys/class/net" / name / "name_assign_type").write_text("4\n")
    for name, driver in guest.drivers.items():
        (root / "sys/drivers" / driver).mkdir(parents=True, exist_ok=True)
        (root / "sys/class/net" / name / "device").mkdir(parents=True)
        (root / "sys/class/net" / name / "device/driver").symlink_to(root / "sys/drivers" / driver)
    for name, numbers in guest.disks.items():
        place = root / "dev/disk" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        os.mknod(place, stat.S_IFBLK | 0o600, os.makedev(*numbers))
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text("\n".join(guest.mounts) + "\n")
    (root / "proc/cmdline").write_text(guest.command_line + "\n")

    def run(argv: Sequence[str], timeout: float) -> Finished:
        if os.path.basename(argv[0]) == "ip":
            table: Any = guest.rows if "address" in argv else guest.routes if argv[1] == "-4" else guest.routes6
            return Finished(0, json.dumps(table), "")
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=timeout, env=LIBRARIES)
        return Finished(done.returncode, done.stdout, done.stderr)

    return InterfaceReader(
        "gpu01",
        run=run,
        which=lambda name: name,
        root=str(root),
        sysfs=Sysfs(str(root / "sys")),
        generators=[str(GENERATE)],
    )


@pytest.mark.parametrize("name", SOUND)
def test_sound_guest_has_no_difference(name: str, tmp_path: pathlib.Path) -> None:
    answer = read_next_boot(reader_of(SOUND[name](), tmp_path))
    assert answer == {"differences": [], "unknown": [], "leftovers": {}}


@pytest.mark.parametrize("name", HALF_DONE)
def test_half_done_guest_is_named_by_code_and_place(name: str, tmp_path: pathlib.Path) -> None:
    case = HALF_DONE[name]
    answer = read_next_boot(reader_of(case.guest(), tmp_path))
    assert {(one["code"], one["place"]) for one in answer["differences"]} == case.found
    assert any(case.file in one["file"] + one["then"] for one in answer["differences"])
    assert all(one["now"] != one["then"] for one in answer["differences"])


def test_udev_rule_not_followed_leaves_the_mtu_uncompared(tmp_path: pathlib.Path) -> None:
    guest = SOUND["udev-rules"]()
    place = RULES.format("99-more")
    guest.files[place] = f'{APPEARS}, DRIVERS=="mlx5_core", RUN+="/bin/sh -c \'ip link set $name mtu 4200\'"\n'
    guest.row("ens224")["mtu"] = 4200
    answer = read_next_boot(reader_of(guest, tmp_path))
    assert answer["unknown"] == [f"{place}: RUN or GOTO of a rule about the MTU of ens224 is not followed here"]
    assert answer["differences"] == []
