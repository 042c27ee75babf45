"""Programs of the node image that a machine without the image can run."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._nic.gpu_health import parse_nvlinks, parse_state

from lab import config

FILES = config.REPO / "lab" / "node" / "files"
SMI = FILES / "usr/local/share/rocemesh-lab/nvidia-smi"
HOOK = FILES / "usr/bin/nvidia-container-runtime-hook"


@pytest.fixture(scope="module")
def runc() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("lab_runc", str(FILES / "usr/sbin/runc"))
    spec = importlib.util.spec_from_loader("lab_runc", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    loader.exec_module(module)
    sys.dont_write_bytecode = before
    return module


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (["--root", "/r", "create", "--bundle", "/b", "id"], "/b/config.json"),
        (["run", "--bundle=/b", "id"], "/b/config.json"),
        (["--root", "/r", "exec", "--process", "/tmp/p", "id"], "/tmp/p"),
        (["--root", "/r", "state", "id"], None),
    ],
)
def test_runtime_wrapper_finds_the_file_with_the_limits(runc: ModuleType, arguments: list[str], path: str) -> None:
    assert runc.document(arguments) == path


def test_limit_beyond_the_machines_is_lowered_and_reported(runc: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (100, 100))
    limits = [
        {"type": "RLIMIT_MEMLOCK", "hard": 2**64 - 1, "soft": 2**64 - 1},
        {"type": "RLIMIT_STACK", "hard": 50, "soft": 50},
    ]
    lines = runc.lower(limits)
    assert limits[0] == {"type": "RLIMIT_MEMLOCK", "hard": 100, "soft": 100}
    assert limits[1] == {"type": "RLIMIT_STACK", "hard": 50, "soft": 50}
    assert len(lines) == 1
    assert "RLIMIT_MEMLOCK" in lines[0]


def test_unlimited_machine_lowers_nothing(runc: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    limits = [{"type": "RLIMIT_MEMLOCK", "hard": 2**64 - 1, "soft": 2**64 - 1}]
    assert runc.lower(limits) == []


def bundle(tmp_path: Path, environment: list[str]) -> str:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "config.json").write_text(json.dumps({"root": {"path": str(root)}, "process": {"env": environment}}))
    return json.dumps({"bundle": str(tmp_path)})


@pytest.mark.parametrize(
    "environment", [[], ["NVIDIA_VISIBLE_DEVICES=void"], ["NVIDIA_VISIBLE_DEVICES=none"]], ids=["unset", "void", "none"]
)
def test_container_that_asked_for_no_gpu_gets_none(tmp_path: Path, environment: list[str]) -> None:
    state = bundle(tmp_path, environment)
    subprocess.run([sys.executable, str(HOOK), "prestart"], input=state, text=True, check=True)
    assert list((tmp_path / "root").iterdir()) == []


@pytest.mark.parametrize("options", [[], ["-L"], ["-q", "-x"], ["--query-gpu=name,uuid", "--format=csv,noheader"]])
def test_nvidia_smi_says_that_it_is_simulated(options: list[str]) -> None:
    said = subprocess.run(["sh", str(SMI), *options], capture_output=True, text=True, check=True).stdout
    assert "SIMULATED" in said


def test_nvidia_smi_answers_a_query_in_the_asked_order() -> None:
    options = ["--query-gpu=index,memory.total", "--format=csv,nounits"]
    said = subprocess.run(["sh", str(SMI), *options], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["index, memory.total [MiB]", "0, 40536"]


def test_nvidia_smi_tells_a_state_that_gpu_info_reads_as_right() -> None:
    said = subprocess.run(["sh", str(SMI), "-q", "-x"], capture_output=True, text=True, check=True).stdout
    (gpu,) = parse_state(said, "lab")
    assert gpu["uuid"].startswith("GPU-simulated-") and gpu["bus"] == "0000:af:00.0"
    assert (gpu["persistence"], gpu["ecc"], gpu["ecc_uncorrected"], gpu["remap_pending"]) == (True, True, 0, False)
    assert (gpu["pcie_width"], gpu["pcie_gen"], gpu["slowed"], gpu["recovery"]) == (16, 4, [], "")
    links = subprocess.run(["sh", str(SMI), "nvlink", "-s"], capture_output=True, text=True, check=True).stdout
    assert list(parse_nvlinks(links).values()) == [(0, 0, None)]


def test_nvidia_smi_refuses_a_field_that_it_does_not_know() -> None:
    run = subprocess.run(["sh", str(SMI), "--query-gpu=colour"], capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "colour" in run.stderr


def test_the_nodes_first_program_touches_nothing_on_another_machine() -> None:
    """It deletes the default route; anything that runs executables it finds must not be able to start it here."""
    program = FILES / "usr/local/sbin/lab-init"
    text = program.read_text()
    assert text.index("exit 64") < min(text.index(word) for word in ("\nmount ", "ip link", "ip route", "mkdir"))
    # In namespaces of its own, so that a guard that fails cannot reach the machine.
    command = ["unshare", "--net", "--mount", "/bin/bash", str(program), "--list"] if os.getuid() == 0 else [program]
    done = subprocess.run(
        command, env={"PATH": os.environ["PATH"], "LAB_RAILS": "eth0=192.0.2.1/24", "container": "docker"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 64 and "nothing was touched" in done.stderr


@pytest.mark.parametrize(("there", "refused"), [(True, True), (False, False)])
def test_runtime_refuses_memlock_only_under_the_fault(
    runc: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, there: bool, refused: bool
) -> None:
    (tmp_path / "config.json").write_text(
        json.dumps({"process": {"rlimits": [{"type": "RLIMIT_MEMLOCK", "hard": 2**64 - 1, "soft": 2**64 - 1}]}})
    )
    if there:
        (tmp_path / "fault").touch()
    started: list[list[str]] = []
    monkeypatch.setattr(runc, "REFUSES", str(tmp_path / "fault"))
    monkeypatch.setattr(runc, "may_raise_limits", lambda: True)
    monkeypatch.setattr(os, "execv", lambda _program, arguments: started.append(arguments))
    monkeypatch.setattr(sys, "argv", ["runc", "create", "--bundle", str(tmp_path), "id"])
    if refused:
        with pytest.raises(SystemExit, match="rlimit type 8: operation not permitted"):
            runc.main()
    else:
        runc.main()
    assert bool(started) is not refused
