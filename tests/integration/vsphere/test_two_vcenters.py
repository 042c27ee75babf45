"""Two vCenters with the same names and ids, as a vCenter and its restored copy: what was read on one is done there or
nowhere, whichever way the logins are given."""

from __future__ import annotations

import contextlib
import json
import pathlib
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from .conftest import WINDOWS, Pki, Vcenter, run_module, started
from .site_playbooks import WAITING, Controller
from .windows import admin, marks

ALLOW = ("-e", "rocemesh_allow_reboot=true")
MIXES = 50
PAIRS = [f"{number:02d}" for number in range(1, 18)]  # of each of three runs: 51 mixes
GUESTS = {"vm_policy": "shutdown", "vm_allowlist": ["gpu01", "gpu02", "gpu03"]}


@pytest.fixture(scope="module")
def other(binary: pathlib.Path, pki: Pki, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vcenter]:
    with started(binary, pki, tmp_path_factory.mktemp("other"), WINDOWS) as vcenter:
        yield vcenter


@pytest.fixture
def both(quick: Vcenter, other: Vcenter) -> tuple[Vcenter, Vcenter]:
    for vcenter in (quick, other):
        vcenter.ask("POST", "/reset")
    return quick, other


def test_they_have_the_same_ids_and_uuids_of_their_own(both: tuple[Vcenter, Vcenter]) -> None:
    first, second = (run_module("vmx_passthru", {**each.login, "vm": "gpu01"}, check=True) for each in both)
    assert (first["vm_moid"], first["esxi_host_moid"]) == (second["vm_moid"], second["esxi_host_moid"])
    assert first["vcenter_uuid"] and first["vcenter_uuid"] != second["vcenter_uuid"]
    # What undo looks for is what the changing modules say.
    for vcenter, vm in zip(both, (first, second)):
        site = run_module("vcenter_site_info", {**vcenter.login, "hosts": ["esx01"], "vms": ["gpu01"]})
        kernel = {"esxi_hostname": "esx01", "settings": {"atsSupport": True}}
        host = run_module("esxi_kernel_setting", {**vcenter.login, **kernel}, check=True)
        assert site["vcenter_uuid"] == vm["vcenter_uuid"] == host["vcenter_uuid"]
        (seen_host,), (seen_vm,) = site["hosts"], site["vms"]
        assert seen_host["uuid"] and (seen_host["moid"], seen_host["uuid"]) == (
            host["esxi_host_moid"], host["esxi_host_uuid"]
        )  # fmt: skip
        assert seen_vm["uuid"] and (seen_vm["moid"], seen_vm["uuid"]) == (vm["vm_moid"], vm["vm_uuid"])


def test_modules_refuse_ids_of_another_vcenter(both: tuple[Vcenter, Vcenter]) -> None:
    """What was read on one is asked of one drawn by chance."""
    dice = random.Random(17)
    read = {
        vcenter: {vm: run_module("vmx_passthru", {**vcenter.login, "vm": vm}, check=True) for vm in ("gpu01", "gpu03")}
        for vcenter in both
    }
    refused = 0
    for _mix in range(MIXES):
        source, target = dice.choice(both), dice.choice(both)
        seen = read[source][dice.choice(("gpu01", "gpu03"))]
        module, options = dice.choice(
            (
                ("esxi_reboot", {"esxi_hostname": seen["esxi_host_moid"], "required": True, **GUESTS}),
                ("esxi_kernel_setting", {"esxi_hostname": seen["esxi_host_moid"], "settings": {"atsSupport": True}}),
                ("vmx_passthru", {"vm": seen["vm_moid"], "power_policy": "shutdown", "final_power": "on"}),
                ("vmx_passthru", {"vm": seen["vm_moid"], "power_only": True, "final_power": "on"}),
                ("esxi_window", {"esxi_hostnames": [seen["esxi_host_moid"]], "lease": "held"}),
            )
        )
        given: dict[str, Any] = {**target.login, **options, "vcenter_uuid": seen["vcenter_uuid"]}
        # Where it is the right one nothing has to happen for this test.
        result = run_module(module, given, check=source is target)
        assert result.failed == (source is not target), result
        if result.failed:
            refused += 1
            assert result["error_code"] == "refused" and seen["vcenter_uuid"] in result.msg
    assert refused > MIXES // 4
    assert [vcenter.calls() for vcenter in both] == [[], []]


ENVIRONMENT = {"hostname": "VMWARE_HOST", "username": "VMWARE_USER"}
OPTIONS = ("hostname", "port", "username", "password", "ca_path")
CHOICES = (OPTIONS, OPTIONS, ("port",), ("hostname", "port"), ("port", "password"), ("username",), ())


def login(vcenter: Vcenter, options: Sequence[str] = OPTIONS) -> dict[str, Any]:
    return {f"rocemesh_vcenter_{name}": vcenter.login[name] for name in options}


class Mixes:
    """ESXi hosts esxNN with their VMs gpuNN, which are in both vCenters, and logins drawn by chance: of the site (a
    group of one host and its VM), of the role (that host, that VM), all options of a login, some or none. Both vCenters
    have one address and one account, so the nearest port says which one is ``meant``; ``base``: that of the whole
    inventory or of the environment."""

    def __init__(self, both: tuple[Vcenter, Vcenter], dice: random.Random, base: int) -> None:
        self.both = both
        drawn = {
            f"{kind}{pair}": (dice.choice((0, 1)), dice.choice(CHOICES))
            for pair in PAIRS
            for kind in ("esx", "gpu", "site")
        }
        self.meant = {}
        for pair in PAIRS:
            for name in (f"esx{pair}", f"gpu{pair}"):
                near = [vcenter for vcenter, options in (drawn[name], drawn[f"site{pair}"]) if "port" in options]
                self.meant[name] = (near or [base])[0]
        self.agreeing = [pair for pair in PAIRS if self.meant[f"esx{pair}"] == self.meant[f"gpu{pair}"]]
        said = {name: login(both[vcenter], options) for name, (vcenter, options) in drawn.items()}
        self.groups: dict[str, Any] = {
            "esxi_hosts": {"hosts": {f"esx{pair}": said[f"esx{pair}"] for pair in PAIRS}},
            "gpu_vms": {"hosts": {f"gpu{pair}": said[f"gpu{pair}"] for pair in PAIRS}},
            **{
                f"site{pair}": {"hosts": {f"esx{pair}": {}, f"gpu{pair}": {}}, "vars": said[f"site{pair}"]}
                for pair in PAIRS
            },
        }

    def strangers(self) -> list[str]:
        """Every change of a host or VM at a vCenter that was not meant for it."""
        return [
            f"{number}: {call}"
            for number, vcenter in enumerate(self.both)
            for call in vcenter.calls()
            if self.meant.get(call.split()[-1], number) != number
        ]


@pytest.fixture(scope="module")
def alike(
    binary: pathlib.Path, pki: Pki, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Vcenter, Vcenter]]:
    hosts = [{"name": f"esx{pair}", "vms": [f"gpu{pair}"]} for pair in PAIRS]
    topology = {**WINDOWS, "hosts": hosts}
    with contextlib.ExitStack() as stack:
        folders = [tmp_path_factory.mktemp(name) for name in ("one", "copy")]
        found = [stack.enter_context(started(binary, pki, folder, topology, "of-both")) for folder in folders]
        yield found[0], found[1]


# Which vCenter is meant where nothing nearer is said, and whether the environment says so (else the inventory does, and
# the environment names the other one).
@pytest.mark.parametrize(("base", "in_environment"), [(0, True), (1, False)])
def test_mixed_logins_never_change_the_other_vcenter(
    alike: tuple[Vcenter, Vcenter],
    base: int,
    in_environment: bool,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for vcenter in alike:
        vcenter.ask("POST", "/reset")
    mixes = Mixes(alike, random.Random(100 * base + in_environment), base)
    assert 3 < len(mixes.agreeing) < len(PAIRS) - 3
    for name, value in alike[base if in_environment else 1 - base].login.items():
        monkeypatch.setenv(ENVIRONMENT.get(name, f"VMWARE_{name.upper()}"), str(value))
    controller = Controller(alike[0], tmp_path / "one", {}, WAITING)
    whole = {} if in_environment else login(alike[base])
    inventory = {"all": {"vars": {**whole, "card_pending": WAITING}, "children": mixes.groups}}
    controller.inventory.write_text(json.dumps(inventory))
    # An interrupted run has left these hosts in maintenance mode; on the other vCenter another person did.
    left = mixes.agreeing[:3]
    for vcenter in alike:
        for pair in left:
            admin(vcenter, "off", vm=f"gpu{pair}")
            admin(vcenter, "enter", host=f"esx{pair}")
    adopt = "rocemesh_adopt_maintenance=" + ",".join(f"esx{pair}" for pair in left)
    done = controller.play("site.yml", "--tags", "recover,esxi,power", "-e", adopt)
    assert "no login: " in done.stdout, "the last step of stage power, for there are no guests: " + done.stdout
    assert mixes.strangers() == []
    states = [vcenter.state() for vcenter in alike]
    for pair in PAIRS:
        host, vm = f"esx{pair}", f"gpu{pair}"
        right, wrong = (states[number]["hosts"][host] for number in (mixes.meant[host], 1 - mixes.meant[host]))
        configured = [each["kernel"]["atsSupport"]["configured"] for each in (right, wrong)]
        assert (configured, right["maintenance"], wrong["maintenance"]) == (["TRUE", "FALSE"], False, pair in left)
        assert states[mixes.meant[vm]]["vms"][vm]["power"] == "on"

    before = [vcenter.calls() for vcenter in alike]
    refused = controller.play("reboot.yml", *ALLOW)
    assert refused.returncode != 0 and "not in this" in refused.stdout, refused.stdout
    assert [vcenter.calls() for vcenter in alike] == before, (
        "no window where host and VM are read on different vCenters"
    )

    hosts = [f"{kind}{pair}" for pair in mixes.agreeing for kind in ("esx", "gpu")]
    limit = ("--limit", ",".join(["localhost", *hosts]))
    done = controller.play("reboot.yml", *ALLOW, "-e", "rocemesh_max_unavailable=100%", *limit)
    assert done.returncode == 0, done.stdout + done.stderr
    assert mixes.strangers() == []
    booted = {(number, name) for number, vcenter in enumerate(alike)
              for name, host in vcenter.state()["hosts"].items() if host["boots"]}  # fmt: skip
    assert booted == {(mixes.meant[f"esx{pair}"], f"esx{pair}") for pair in mixes.agreeing}

    first = min((tmp_path / "one" / "reports" / "journal").glob("*.jsonl")).stem
    done = controller.play("undo.yml", "--tags", "esxi", "-e", f"run={first}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert mixes.strangers() == []
    kernels = [host["kernel"]["atsSupport"] for vcenter in alike for host in vcenter.state()["hosts"].values()]
    assert {each["configured"] for each in kernels} == {"FALSE"}, "all that the run had configured is back"


def test_one_site_on_two_vcenters_with_the_same_ids(both: tuple[Vcenter, Vcenter], tmp_path: pathlib.Path) -> None:
    """Both windows in one run, each on its own vCenter, one after the other; and the way back of one."""

    def keys() -> list[dict[str, Any]]:
        return [{name: vm["extra_config"] for name, vm in vcenter.state()["vms"].items()} for vcenter in both]

    factory = keys()
    controller = Controller(both[0], tmp_path / "one", {"esx01": ["gpu01", "gpu02"], "b-esx01": ["b-gpu01"]}, WAITING)
    inventory = json.loads(controller.inventory.read_text())
    groups = inventory["all"]["children"]
    groups["esxi_hosts"]["hosts"]["b-esx01"] = {**login(both[1]), "esxi_host_name": "esx01"}
    groups["gpu_vms"]["hosts"]["b-gpu01"] = {**login(both[1]), "gpu_vm_name": "gpu01"}
    controller.inventory.write_text(json.dumps(inventory))
    # A second VM of that host is in no inventory.
    refused = controller.play("reboot.yml", *ALLOW)
    assert refused.returncode != 0 and "b-esx01" in refused.stdout and "gpu02" in refused.stdout, refused.stdout
    groups["gpu_vms"]["hosts"]["b-gpu02"] = {**login(both[1]), "gpu_vm_name": "gpu02"}
    controller.inventory.write_text(json.dumps(inventory))
    done = controller.play("reboot.yml", *ALLOW)
    assert done.returncode == 0, done.stdout + done.stderr
    assert both[1].host("esx01")["boots"] == 1
    again = controller.play("recover.yml")
    assert again.returncode == 0 and "changed=0" in again.stdout, again.stdout

    # The refused run had set those of the first vCenter before, so this one set those of the second alone.
    made, boots = keys(), both[0].host("esx01")["boots"]
    run = max((tmp_path / "one" / "reports" / "journal").glob("*.jsonl")).stem
    undone = controller.play("undo.yml", *ALLOW, "-e", f"run={run}")
    assert undone.returncode == 0, undone.stdout
    assert keys() == [made[0], factory[1]] and made[0] != factory[0]
    assert (both[0].host("esx01")["boots"], both[1].host("esx01")["boots"]) == (boots, 2)


def test_lease_that_one_vcenter_refuses_is_given_back_on_the_other(
    both: tuple[Vcenter, Vcenter], tmp_path: pathlib.Path
) -> None:
    controller = Controller(both[0], tmp_path / "one", {"esx01": ["gpu01", "gpu02"], "b-esx02": ["b-gpu03"]}, WAITING)
    inventory = json.loads(controller.inventory.read_text())
    groups = inventory["all"]["children"]
    groups["esxi_hosts"]["hosts"]["b-esx02"] = {**login(both[1]), "esxi_host_name": "esx02"}
    groups["gpu_vms"]["hosts"]["b-gpu03"] = {**login(both[1]), "gpu_vm_name": "gpu03"}
    controller.inventory.write_text(json.dumps(inventory))
    # The answer to the look at the leases is still that nobody has them.
    both[1].fault("no_permission", method="AddCustomFieldDef")
    done = controller.play("reboot.yml", *ALLOW)
    assert done.returncode != 0 and "NoPermission" in done.stdout, done.stdout
    assert marks(both[0]) == [] and not [name for name in both[0].ask("GET", "/fields")[""] if "lease" in name]
    assert [vcenter.host("esx01")["boots"] for vcenter in both] == [0, 0]
    both[1].heal()
