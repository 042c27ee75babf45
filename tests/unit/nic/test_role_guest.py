"""The role's contract with the people who use it."""

from __future__ import annotations

import pathlib
import re
import subprocess

import jinja2
import pytest
import yaml

from tests.unit.roles.collection import tasks

INCLUDE = "ansible.builtin.include_tasks"
ROLE = pathlib.Path(__file__).resolve().parents[3] / "roles" / "guest"


def load(name: str) -> object:
    return yaml.safe_load((ROLE / name).read_text(encoding="utf-8"))


def test_defaults_are_exactly_the_documented_options_with_their_values() -> None:
    specs = load("meta/argument_specs.yml")["argument_specs"]  # type: ignore[index]
    documented = {name: option["default"] for name, option in specs["main"]["options"].items()}
    real: dict[str, object] = load("defaults/main.yml")  # type: ignore[assignment]
    # Templates of a variable of the site have a default of their own: tests/unit/roles compares it.
    site = {name for name, value in real.items() if str(value).startswith("{{ rocemesh_")}
    assert documented.keys() == real.keys() and site == {
        "guest_networks",
        "guest_ranks",
        "guest_allow_idle_gpus",
        "guest_allow_cpu",
        "guest_allow_unlisted_system",
    }
    assert {name: documented[name] for name in documented if name not in site} == {
        name: value for name, value in real.items() if name not in site
    }
    assert all(specs[entry]["options"] == specs["main"]["options"] for entry in specs)


def test_every_entry_point_has_a_task_file_and_a_specification() -> None:
    specs = load("meta/argument_specs.yml")["argument_specs"]  # type: ignore[index]
    assert sorted(specs) == ["absent", "after_window", "gpus", "main", "pending", "read", "restore", "verify"]
    assert all((ROLE / "tasks" / f"{entry}.yml").exists() for entry in specs)


def test_the_role_names_no_group_and_restarts_nothing() -> None:
    for path in sorted(ROLE.rglob("*.yml")):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"groups\[|group_names|ansible\.builtin\.reboot|mlxfwreset|\bflint\b.*burn", text), path


def test_every_variable_of_the_role_is_used() -> None:
    tasks = "".join(path.read_text() for path in ROLE.rglob("*") if path.is_file() and "meta" not in path.parts)
    for name in load("defaults/main.yml"):  # type: ignore[attr-defined]
        assert len(re.findall(rf"\b{name}\b", tasks)) > 1, name


def every_task() -> list[dict[str, object]]:
    return [task for path in sorted((ROLE / "tasks").glob("*.yml")) for task in tasks(path)]


def test_every_download_has_a_checksum_and_its_url_is_a_variable() -> None:
    key, general = [task["ansible.builtin.get_url"] for task in every_task() if "ansible.builtin.get_url" in task]
    assert (general["url"], general["checksum"]) == ("{{ __guest_download.url }}", "{{ __guest_download.checksum }}")  # type: ignore[index]
    callers = [task["vars"]["__guest_download"] for task in every_task() if "download.yml" in str(task.get(INCLUDE))]  # type: ignore[index]
    assert len(callers) == 3
    for download in [key, *callers]:
        for value in (download["checksum"], download["url"]):  # type: ignore[index]
            assert value.startswith(("{{ guest_", "{{ __guest_nv_peer_memory."))
    text = "".join(path.read_text(encoding="utf-8") for path in ROLE.rglob("*") if path.is_file())
    assert not re.search(r"https?://(?!mirror\.example\.com)", text)
    assert "disable_gpg_check" not in text and "allow_unauthenticated" not in text


def test_firmware_is_burnt_only_if_told() -> None:
    assert load("defaults/main.yml")["guest_allow_firmware_update"] is False  # type: ignore[index]
    (installer,) = [task for task in every_task() if "mlnxofedinstall" in str(task.get("ansible.builtin.command"))]
    assert "__guest_ofed_firmware" in installer["ansible.builtin.command"]["argv"]  # type: ignore[index]
    variables = load("vars/main.yml")
    assert (
        variables["__guest_ofed_firmware"]
        == "{{ [] if guest_allow_firmware_update | bool else ['--without-fw-update'] }}"
    )  # type: ignore[index]
    (pin,) = [task for task in every_task() if "rocemesh-no-firmware" in str(task.get("ansible.builtin.copy"))]
    assert pin["when"] == "not guest_allow_firmware_update | bool"
    assert "Package: mlnx-fw-updater" in pin["ansible.builtin.copy"]["content"]  # type: ignore[index]
    assert "Pin-Priority: -1" in pin["ansible.builtin.copy"]["content"]  # type: ignore[index]


def test_the_driver_is_restarted_only_behind_the_check_that_nobody_uses_it() -> None:
    _told, load_now = load("tasks/restart_driver.yml")
    assert load_now["when"] == "guest_allow_openibd_restart | bool"  # type: ignore[index]
    tasks = load_now["block"]  # type: ignore[index]
    (check,) = [at for at, task in enumerate(tasks) if "ansible.builtin.assert" in task]
    assert tasks[check]["ansible.builtin.assert"]["that"] == ["__guest_refusals | length == 0"]
    assert tasks[check]["vars"] == {"__guest_refusals": "{{ __guest_in_use.refusals }}"}
    assert not {"when", "failed_when", "ignore_errors"} & set(tasks[check])
    (restart,) = [at for at, task in enumerate(tasks) if "openibd" in str(task.get("ansible.builtin.command"))]
    assert tasks[restart]["ansible.builtin.command"]["argv"] == ["/etc/init.d/openibd", "restart"] and check < restart
    others = [path for path in ROLE.rglob("*.yml") if "openibd, restart" in path.read_text(encoding="utf-8")]
    assert [path.name for path in others] == ["restart_driver.yml"]
    assert load("defaults/main.yml")["guest_allow_openibd_restart"] is False  # type: ignore[index]


def rendered(name: str, **changes: object) -> str:
    """A template of the role, as Ansible would fill it."""
    source = (ROLE / "templates" / name).read_text(encoding="utf-8")
    values = {"guest_qos_trust": "dscp", "guest_qos_pfc": "0,0,0,1,0,0,0,0", "guest_qos_tos": 106,
              "guest_qos_dscp_priority": {}, "__guest_qos_map": {26: 3},
              "__guest_qos_program": "/x/roce-qos"}  # fmt: skip
    return (
        jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True)
        .from_string(source)
        .render({**values, **changes})
    )


PROGRAM = "usr/local/lib/rocemesh/roce-qos.j2"


def calls(
    tmp_path: pathlib.Path, tools: tuple[str, ...], devices: tuple[str, ...] = ("mlx5_0", "mlx5_1"), **changes: object
) -> list[str]:
    """What the program calls, on a machine that has these tools."""
    folder = tmp_path / "bin"
    folder.mkdir()
    made = "".join(f"/bin/mkdir -p {tmp_path}/sys/ens224/device/infiniband/{device}\n" for device in devices)
    for tool in (*tools, "modprobe"):
        (folder / tool).write_text(f'#!/bin/sh\necho {tool} "$@" >> {tmp_path}/calls\n')
        (folder / tool).chmod(0o755)
    # A card's RDMA devices come with this module, which loads after its interfaces are there.
    with (folder / "modprobe").open("a") as script:
        script.write(f'case "$*" in *mlx5_ib*) true\n{made};; esac\n')
    for side in ("roce_np", "roce_rp"):
        (tmp_path / "sys/ens224/ecn" / side / "enable").mkdir(parents=True)
        for priority in range(8):
            (tmp_path / "sys/ens224/ecn" / side / "enable" / str(priority)).write_text("0\n")
    program = tmp_path / "roce-qos"
    program.write_text(rendered(PROGRAM, **changes).replace("/sys/class/net", str(tmp_path / "sys")))
    subprocess.run(["/bin/sh", program, "ens224"], check=True, env={"PATH": str(folder)})
    return (tmp_path / "calls").read_text().splitlines()


@pytest.mark.parametrize("tos", [0, 106])
def test_the_qos_program_sets_everything_that_the_card_forgets(tmp_path: pathlib.Path, tos: int) -> None:
    found = calls(tmp_path, ("mlnx_qos", "cma_roce_tos"), guest_qos_tos=tos, guest_qos_dscp_priority={26: 4})
    assert found[:2] == [
        "mlnx_qos -i ens224 --trust dscp --pfc 0,0,0,1,0,0,0,0",
        "mlnx_qos -i ens224 --dscp2prio set,26,4",
    ]
    expected = [f"cma_roce_tos -d {name} -t 106" for name in ("mlx5_0", "mlx5_1")]
    assert [line for line in found if "cma_roce_tos" in line] == (expected if tos else [])


def test_qos_program_of_a_lag_member_without_a_device_succeeds(tmp_path: pathlib.Path) -> None:
    (tmp_path / "sys/ens224/master").mkdir(parents=True)
    found = calls(tmp_path, ("mlnx_qos", "cma_roce_tos"), devices=())
    assert [line.split()[0] for line in found] == ["mlnx_qos", "modprobe"]


def test_the_qos_program_needs_no_ofed(tmp_path: pathlib.Path) -> None:
    assert calls(tmp_path, ("dcb",), guest_qos_tos=0) == [
        "dcb pfc set dev ens224 prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off",
        "dcb app replace dev ens224 dscp-prio 26:3",
    ]


def test_the_qos_program_asks_dcb_again_once_if_it_fails(tmp_path: pathlib.Path) -> None:
    """Seen of 6.1.0: status 1 and "Attribute write: Protocol error" of a value that is in force."""
    program = tmp_path / "roce-qos"
    program.write_text(rendered(PROGRAM, guest_qos_tos=0))
    (tmp_path / "bin").mkdir()
    for fails, status in ((1, 0), (9, 1)):
        (tmp_path / "bin/dcb").write_text(
            f'#!/bin/sh\necho "$1" >> {tmp_path}/{fails}\n[ $(/usr/bin/wc -l < {tmp_path}/{fails}) -gt {fails} ]\n'
        )
        (tmp_path / "bin/dcb").chmod(0o755)
        done = subprocess.run(["/bin/sh", program, "ens224"], check=False, env={"PATH": str(tmp_path / "bin")})
        assert done.returncode == status
    assert [(tmp_path / name).read_text().split() for name in "19"] == [["pfc", "pfc", "app"], ["pfc", "pfc"]]


def test_congestion_notification_is_turned_on_for_the_lossless_priorities_alone(tmp_path: pathlib.Path) -> None:
    calls(tmp_path, ("mlnx_qos", "cma_roce_tos"), guest_qos_pfc="0,0,0,1,0,1,0,0")
    for side in ("roce_np", "roce_rp"):
        folder = tmp_path / "sys/ens224/ecn" / side / "enable"
        assert [number for number in range(8) if (folder / str(number)).read_text().strip() == "1"] == [3, 5]


def test_dscp_is_trusted_without_ofed_even_if_no_dscp_was_named(tmp_path: pathlib.Path) -> None:
    """dcb turns DSCP trust on by an entry: the one that says what the card's own map says."""
    found = calls(tmp_path, ("dcb",), guest_qos_tos=0, __guest_qos_map={})
    assert found[1] == "dcb app replace dev ens224 dscp-prio 24:3"


def test_the_qos_comes_back_whenever_the_driver_makes_the_interface_anew() -> None:
    unit = rendered("etc/systemd/system/rocemesh-qos@.service.j2")
    assert "BindsTo=sys-subsystem-net-devices-%i.device" in unit and "After=sys-subsystem-net-devices-%i.device" in unit
    assert "Type=oneshot" in unit and "RemainAfterExit=yes" in unit
    (bind,) = [task for task in every_task() if "systemd_unit.yml" in str(task.get(INCLUDE)) and "loop" in task]
    assert bind["vars"]["__guest_unit"]["wanted_by"].startswith("sys-subsystem-net-devices-")  # type: ignore[index]


def test_a_setting_never_changes_a_unit_so_that_systemd_need_not_be_reloaded() -> None:
    for path in sorted((ROLE / "templates/etc/systemd").rglob("*.j2")):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\bguest_|ansible_managed", text), path


def test_systemd_is_reloaded_only_if_it_says_that_a_unit_differs() -> None:
    """`enabled` would reload it too: what that does is a link, and the role makes it itself."""
    services = [task for task in every_task() if "ansible.builtin.systemd_service" in task]
    assert services
    for task in services:
        options = task["ansible.builtin.systemd_service"]
        assert "enabled" not in options  # type: ignore[operator]
        if "daemon_reload" in options:  # type: ignore[operator]
            assert "'NeedDaemonReload=yes' in __guest_unit_loaded.stdout" in task["when"]  # type: ignore[operator]


def test_no_interface_is_named_by_default_and_a_guess_is_nowhere() -> None:
    defaults = load("defaults/main.yml")
    assert defaults["guest_interfaces"] == ["auto"]  # type: ignore[index]
    assert defaults["guest_management_interface"] == "refuse"  # type: ignore[index]
    example = ROLE.parents[1] / "inventories/example/group_vars/gpu_vms.yml"
    assert "guest_interfaces" not in yaml.safe_load(example.read_text())
    assert not list((ROLE / "templates").rglob("*netplan*"))
