"""gpu_info: GPUs that cannot be used are found before anything restarts or trains, with versions and next command."""

from __future__ import annotations

import os
import pathlib
from typing import Any, Sequence

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ParseError
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.gpu_state import (
    cuda_problems,
    image_problems,
    parse_cuda,
    parse_fabric_version,
    parse_gpus,
    problems,
    rank_problems,
    waiting,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.gpus import GpuReader
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.node_reading import gpu_processes
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.transport import Finished, Sysfs

HOST, DRIVER = "gpu01", "550.54.15"
LIST = "".join(f"GPU {n}: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-00000000000{n})\n" for n in range(8))
LOST = "Unable to determine the device handle for GPU7: 0000:1F:00.0: Unknown Error\n"
BANNER = "| NVIDIA-SMI 550.54.15      Driver Version: 550.54.15      CUDA Version: 12.4     |\n"
UNIT = "LoadState=loaded\nActiveState=active\nUnitFileState=enabled\n"


class Machine:
    """A node with 8 GPUs and 4 NVSwitches, all right; a test takes one thing away."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.control = True
        self.answers: dict[str, Finished | Exception | None] = {
            "nvidia-smi -L": Finished(0, LIST, ""),
            "nvidia-smi": Finished(0, BANNER, ""),
            "modinfo -F version nvidia": Finished(0, f"{DRIVER}\n", ""),
            "modinfo -F license nvidia": Finished(0, "Dual MIT/GPL\n", ""),
            "nv-fabricmanager --version": Finished(0, f"Fabric Manager version is : {DRIVER}\n", ""),
            "systemctl show -p LoadState,ActiveState,UnitFileState nvidia-fabricmanager": Finished(0, UNIT, ""),
        }
        for number in range(8):
            self.device(f"0000:{0x18 + number:02x}:00.0", "0x030200")
        for number in range(4):
            self.device(f"0000:{0x81 + number:02x}:00.0", "0x068000")
        self.device("0000:03:00.0", "0x020000", "0x15b3")
        self.loaded(DRIVER)

    def device(self, address: str, klass: str, vendor: str = "0x10de") -> None:
        folder = self.root / "bus/pci/devices" / address
        folder.mkdir(parents=True)
        for name, text in (("class", klass), ("vendor", vendor), ("device", "0x2330")):
            (folder / name).write_text(text)

    def loaded(self, version: str) -> None:
        (self.root / "module/nvidia").mkdir(parents=True, exist_ok=True)
        (self.root / "module/nvidia/version").write_text(version)

    def unload(self) -> None:
        (self.root / "module/nvidia/version").unlink()
        self.answers["nvidia-smi -L"] = Finished(9, "NVIDIA-SMI has failed: no communication with the driver", "")

    def without_switches(self) -> None:
        for folder in (self.root / "bus/pci/devices").iterdir():
            if (folder / "class").read_text() == "0x068000":
                (folder / "class").write_text("0x020000")

    def run(self, argv: Sequence[str], timeout: float) -> Finished:
        answer = self.answers[" ".join([os.path.basename(argv[0]), *argv[1:]])]
        if isinstance(answer, Exception):
            raise answer
        assert answer is not None
        return answer

    def which(self, name: str) -> str | None:
        return (
            f"/usr/bin/{name}" if any(key.split()[0] == name and told for key, told in self.answers.items()) else None
        )

    def reader(self) -> GpuReader:
        return GpuReader(
            HOST,
            run=self.run,
            which=self.which,
            sysfs=Sysfs(str(self.root)),
            control=self.control,
            booted=1_769_844_600.0,
        )

    def read(self) -> dict[str, Any]:
        return self.reader().read()

    def problems(self, **wanted: Any) -> list[str]:
        return problems(HOST, self.read(), wanted)


@pytest.fixture
def machine(tmp_path: pathlib.Path) -> Machine:
    return Machine(tmp_path)


def test_a_right_machine_has_no_problem_and_tells_all(machine: Machine) -> None:
    found = machine.read()
    assert len(found["gpus"]) == 8 and found["usable"] is True
    assert [device["kind"] for device in found["pci"]].count("nvswitch") == 4 and len(found["pci"]) == 12
    assert found["driver"] == {"loaded": DRIVER, "installed": DRIVER, "license": "Dual MIT/GPL", "cuda": "12.4"}
    assert found["fabric_manager"] == {"installed": True, "version": DRIVER, "state": "active", "enabled": "enabled"}
    assert found["unreadable"] == []
    assert machine.problems(ranks=8, image="cuda", image_cuda="12.4") == []


def fabric(version: str) -> Finished:
    return Finished(0, f"Fabric Manager version is : {version}\n", "")


SHOW = "systemctl show -p LoadState,ActiveState,UnitFileState nvidia-fabricmanager"
FAULTS = [
    pytest.param({"unload": True}, {}, [DRIVER, "sudo modprobe nvidia"], id="driver_is_on_the_disk_and_not_loaded"),
    pytest.param(
        {"unload": True, "modinfo -F version nvidia": Finished(1, "", "not found")},
        {},
        ["8 NVIDIA GPU(s)", "no NVIDIA driver is loaded or on the disk", "ubuntu-drivers install"],
        id="no_driver",
    ),
    pytest.param(
        {"nvidia-smi -L": Finished(0, "".join(LIST.splitlines(True)[:7]), "")},
        {},
        ["8 NVIDIA GPU(s)", "shows 7", "Xid"],
        id="a_gpu_fell_off_the_bus",
    ),
    pytest.param(
        {"nvidia-smi -L": Finished(0, LOST + "".join(LIST.splitlines(True)[:7]), "")},
        {},
        ["8 NVIDIA GPU(s)", "shows 7", "Xid"],
        id="a_gpu_that_is_lost_is_told_of_beside_the_others",
    ),
    pytest.param(
        {"nvidia-smi -L": Finished(15, "".join(LIST.splitlines(True)[:7]), LOST)},
        {},
        ["8 NVIDIA GPU(s)", "shows 7", "Xid"],
        id="a_gpu_that_is_lost_fails_the_list",
    ),
    pytest.param(
        {
            "nvidia-smi -L": Finished(18, "", "Failed to initialize NVML: Driver/library version mismatch"),
            "modinfo -F version nvidia": Finished(0, "560.35.03\n", ""),
        },
        {},
        [DRIVER, "560.35.03", "restart the VM in a window"],
        id="driver_was_upgraded_and_not_loaded",
    ),
    pytest.param(
        {"nv-fabricmanager --version": fabric("550.54.14")},
        {},
        [DRIVER, "550.54.14", "nvidia-fabricmanager-550=550.54.15-*", "restart"],
        id="fabric_manager_of_another_version",
    ),
    pytest.param(
        {SHOW: Finished(0, UNIT.replace("=active", "=failed"), "")},
        {},
        ["is failed", "systemctl enable --now nvidia-fabricmanager", "journalctl"],
        id="fabric_manager_does_not_run",
    ),
    pytest.param(
        {"nv-fabricmanager --version": None, SHOW: Finished(0, "LoadState=not-found\nActiveState=inactive\n", "")},
        {},
        ["4 NVSwitch(es)", "not installed", "install nvidia-fabricmanager-550=550.54.15-*"],
        id="fabric_manager_is_missing",
    ),
    pytest.param({}, {"ranks": 9}, ["9 ranks and 8 GPU(s)", "rocemesh_slots"], id="more_ranks_than_gpus"),
    pytest.param({}, {"ranks": 1}, ["7 would be idle", "rocemesh_allow_idle_gpus"], id="fewer_ranks_than_gpus"),
    pytest.param({}, {"image": "cpu"}, ["without CUDA", "Dockerfile.ngc"], id="image_trains_on_cpus"),
    pytest.param({}, {"image_cuda": "13.0"}, ["CUDA 13.0", DRIVER, "up to 12.4"], id="driver_too_old_for_the_image"),
]


@pytest.mark.parametrize(("changes", "wanted", "words"), FAULTS)
def test_each_fault_is_named_with_host_versions_and_next_command(
    machine: Machine, changes: dict[str, Any], wanted: dict[str, Any], words: list[str]
) -> None:
    if changes.get("unload"):
        machine.unload()
    machine.answers.update({key: value for key, value in changes.items() if key != "unload"})
    (text,) = machine.problems(**wanted)
    assert text.startswith(f"{HOST}: ") and "What to do: " in text
    assert all(word in text for word in words), text


def test_a_machine_without_nvswitch_needs_no_fabric_manager(machine: Machine) -> None:
    machine.without_switches()
    machine.answers.update({"nv-fabricmanager --version": None, SHOW: Finished(1, "", "no bus")})
    assert machine.problems() == []


def test_a_machine_without_gpus_has_no_problem(tmp_path: pathlib.Path) -> None:
    machine = Machine.__new__(Machine)
    machine.root, machine.control, machine.answers = tmp_path, False, {}
    found = machine.read()
    assert (found["gpus"], found["pci"], found["usable"]) == (None, [], False)
    assert problems(HOST, found, {"ranks": 1, "image": "cpu"}) == []


def test_gpus_of_a_simulator_are_counted_and_ask_for_no_cuda_image(machine: Machine) -> None:
    machine.control = False
    assert machine.problems(image="cpu") == []
    assert "idle" in machine.problems(ranks=2)[0]


KEYS = ["pciPassthru.use64bitMMIO", "pciPassthru.64bitMMIOSizeGB"]
SOME = {"nvidia-smi -L": Finished(0, "".join(LIST.splitlines(True)[:7]), "")}
STOPPED = {SHOW: Finished(0, UNIT.replace("=active", "=failed"), "")}
OF_ANOTHER = {"nv-fabricmanager --version": fabric("550.54.14")}
NO_DRIVER = {"modinfo -F version nvidia": Finished(1, "", "not found")}


def of_both(machine: Machine, changes: dict[str, Any], unloaded: bool, **wanted: Any) -> tuple[list[str], list[str]]:
    """What is refused before the window, and what waits for it."""
    if unloaded:
        machine.unload()
    machine.answers.update(changes)
    found = machine.read()
    return problems(HOST, found, {**wanted, "waits_for": KEYS}), waiting(HOST, found, KEYS)


@pytest.mark.parametrize(
    ("changes", "unloaded", "words"),
    [({}, True, "550.54.15 is on the disk"), (SOME, False, "shows 7"), (STOPPED, False, "is failed")],
    ids=["not_loaded", "some_gpus", "fabric_manager"],
)
def test_what_the_window_may_mend_waits_for_it_and_says_so(
    machine: Machine, changes: dict[str, Any], unloaded: bool, words: str
) -> None:
    refused, (text,) = of_both(machine, changes, unloaded)
    assert refused == [] and text.startswith("gpu01: ") and words in text
    assert all(key in text for key in KEYS) and "judged again" in text and "What to do" not in text
    assert machine.problems() != [], "after the window it is refused"


@pytest.mark.parametrize(
    ("changes", "wanted", "words"),
    [
        (NO_DRIVER, {}, "or on the disk"),
        (OF_ANOTHER, {}, "nvidia-fabricmanager-550=550.54.15-*"),
        ({}, {"ranks": 9}, "9 ranks and 8 GPU(s)"),
        ({}, {"image": "cpu"}, "without CUDA"),
    ],
    ids=["no_driver_on_the_disk", "fabric_manager_of_another_version", "ranks", "image"],
)
def test_what_no_window_mends_is_refused_before_it(
    machine: Machine, changes: dict[str, Any], wanted: dict[str, Any], words: str
) -> None:
    (text,), _later = of_both(machine, changes, True, **wanted)
    assert words in text and "What to do: " in text


def test_a_right_machine_waits_for_nothing_and_may_train_on_cpus_in_a_simulator(machine: Machine) -> None:
    machine.control = False
    assert of_both(machine, {}, False, image="cpu", ranks=8) == ([], [])


def test_fewer_ranks_and_cpu_are_taken_where_they_were_asked_for(machine: Machine) -> None:
    assert machine.problems(ranks=1, allow_idle_gpus=True, image="cpu", allow_cpu=True) == []
    assert rank_problems(HOST, 2, 3, True) != []


def test_a_tool_that_never_answers_is_named(machine: Machine) -> None:
    machine.answers["nvidia-smi -L"] = TimeoutError()
    found = machine.read()
    assert found["gpus"] is None and [entry["what"] for entry in found["unreadable"]] == ["nvidia-smi"]
    assert "does not answer" in problems(HOST, found, {})[0]


def test_a_corrupted_inforom_takes_no_cuda_away(machine: Machine) -> None:
    """nvidia-smi ends with 14 below its whole table then, its queries with 0 (NVIDIA/gpu-operator #285, pai #3756)."""
    machine.answers["nvidia-smi"] = Finished(14, f"{BANNER}WARNING: infoROM is corrupted at gpu 0000:18:00.0\n", "")
    assert machine.read()["driver"]["cuda"] == "12.4"


def test_what_nvidia_smi_says_of_a_lost_gpu_is_no_process(machine: Machine) -> None:
    machine.answers["nvidia-smi --query-compute-apps=pid,process_name --format=csv,noheader"] = Finished(
        0, f"{LOST}4711, python3\n", ""
    )
    assert gpu_processes(machine.reader()) == ["4711, python3"]


def test_what_nvidia_smi_prints_beside_gpus_is_no_gpu() -> None:
    mig = "GPU 0: NVIDIA A100 (UUID: GPU-1)\n  MIG 1g.5gb  Device  0: (UUID: MIG-1)\nGPU 1: A100 (UUID: GPU-2)\n"
    assert [gpu["index"] for gpu in parse_gpus(mig, HOST)] == [0, 1]
    said = f"{mig}WARNING: infoROM is corrupted at gpu 0000:21:00.0\n"
    assert len(parse_gpus(said, HOST)) == 2
    assert parse_gpus("No devices found.\n", HOST) == []
    with pytest.raises(ParseError):
        parse_gpus("GPU access blocked by the operating system\n", HOST)
    assert parse_cuda("| NVIDIA-SMI 610.57.04     KMD Version: 610.57.04     CUDA UMD Version: 13.3     |") == "13.3"
    assert (parse_cuda(BANNER), parse_cuda("| CUDA Version: N/A |"), parse_fabric_version("none")) == ("12.4", "", "")


@pytest.mark.parametrize(
    ("stack", "words"),
    [
        ({"torch": "2.6.0", "cuda": "12.4", "available": True, "gpus": 8}, ""),
        (
            {"torch": "1.13.1", "cuda": "", "available": False, "gpus": 0},
            "torch 1.13.1 of the image was built without CUDA",
        ),
        ({"error": "ModuleNotFoundError: torch"}, "does not load (ModuleNotFoundError: torch)"),
        (
            {"torch": "2.6.0", "cuda": "12.4", "available": False, "gpus": 0, "why": "driver too old"},
            "sees 0 of them: driver too old",
        ),
        ({"torch": "2.6.0", "cuda": "12.4", "available": True, "gpus": 7}, "sees 7 of them"),
    ],
    ids=["right", "cpu", "missing", "no_driver", "one_missing"],
)
def test_torch_of_the_image_has_to_see_every_gpu(stack: dict[str, Any], words: str) -> None:
    told = image_problems(HOST, 8, stack)
    assert (told == []) if not words else (words in told[0] and told[0].startswith("gpu01: 8 GPU(s)"))
    assert image_problems(HOST, 0, stack) == []


@pytest.mark.parametrize(
    ("image", "most", "right"),
    [("12.8", "12.4", True), ("11.8", "12.4", True), ("13.0", "12.8", False), ("", "12.4", True), ("12.4", "", True)],
)
def test_a_driver_runs_older_cuda_and_newer_minors_of_its_own_major(image: str, most: str, right: bool) -> None:
    assert (cuda_problems(HOST, {"cuda": most, "loaded": DRIVER}, image) == []) is right
