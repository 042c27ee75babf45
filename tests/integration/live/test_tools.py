"""The steps nccl_tests and perftest of role benchmark: a stand-in for mpirun prints what the programs print."""

from __future__ import annotations

import json
import pathlib
import shutil
from typing import Any

import pytest
import yaml

from tests.integration.live import harness
from tests.integration.live.harness import output

# Two ranks on two "hosts", which have a GPU, an RDMA device and both programs. "broken" makes the tools contradict
# themselves: processes that each tested themselves, and ends that disagree.
MPIRUN = """#!/usr/bin/env python3
import json, os, pathlib, sys
place = pathlib.Path(__file__).resolve().parent.parent
words = " ".join(sys.argv[1:])
if words == "--version":
    print("mpirun (Open MPI) 4.1.4")
    sys.exit(0)
broken = (place / "broken").exists()
with open(place / "calls", "a") as stream:
    stream.write(json.dumps(sys.argv[1:]) + "\\n")
def say(rank, text):
    for line in text.splitlines():
        os.write(1, f"[1,{rank}]<stdout>:{line}\\n".encode())
HEAD = '''# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
#
# Using devices
'''
ROW = "   1048576      262144   float   sum    -1    100.0   10.49   10.49     0    101.0   10.38   10.38     0"
END = "# Out of bounds values : 0 OK\\n# Avg bus bandwidth    : 10.435"
def device(rank):
    return f"#  Rank  {rank} Group  0 Pid  {rank + 11} on  node{rank} device  0 [0x03] NVIDIA A100-PCIE-40GB"
if "LOOKED" in words:
    for rank in (0, 1):
        say(rank, "CUDA\\nNCCL_TESTS\\nPERFTEST\\nRDMA mlx5_0\\nLOOKED")
elif "ib_write_bw" in words:
    for rank, speed in ((1, 96.5), (0, 50.0 if broken else 96.4)):
        say(rank, "                    RDMA_Write BW Test\\n Mtu             : 4096[B]\\n GID index       : 3")
        say(rank, " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]")
        say(rank, f" 1048576    58000            0.00            {speed:.2f}            {speed / 8388.608:.6f}")
elif broken:
    for rank in (0, 1):
        say(rank, HEAD + device(0) + "\\n" + ROW + "\\n" + END)
else:
    say(0, HEAD + device(0) + "\\n" + device(1) + "\\n" + ROW + "\\n" + END)
"""


def reading(number: int, index: int) -> dict[str, Any]:
    gid = {"index": index, "gid": f"0000:0000:0000:0000:0000:ffff:7f00:00{number:02x}", "type": "RoCE v2"}
    port = {"name": "mlx5_0", "port": 1, "netdev": "ens192", "link_layer": "Ethernet", "gids": [gid]}
    return {"devices": [port], "simulated": False, "unreadable": [], "error": ""}


@pytest.fixture(name="place")
def fixture_place(tmp_path: pathlib.Path) -> pathlib.Path:
    harness.make_docker(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mpirun").write_text(MPIRUN)
    (tmp_path / "bin" / "mpirun").chmod(0o755)
    variables = {
        "benchmark_dir": str(tmp_path / "reports"),
        "benchmark_hosts": [{"name": "localhost", "address": "127.0.0.1"}, {"name": "other", "address": "127.0.0.2"}],
        "benchmark_parts": ["nccl_tests", "perftest"],
        "run_network": "127.0.0.0/8",
        "run_log_dir": str(tmp_path / "logs"),
        "run_python": shutil.which("python3", path="/usr/bin") or "python3",
        "run_progress_interval": 1,
        "run_rdma_found": {"localhost": reading(1, 3), "other": reading(2, 3)},
        "run_rdma_dscp_found": {"dscp": 26, "reason": "leaf01: RoCE on"},
        "ansible_become": False,
    }
    tasks = [{"name": "Measure", "ansible.builtin.import_role": {"name": "rocemesh.multinode.benchmark"}}]
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "vars": variables, "tasks": tasks}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    other = {"ansible_connection": "local", "ansible_become": False}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": {"other": other}}}))
    return tmp_path


def measure(place: pathlib.Path) -> tuple[int, dict[str, Any], dict[str, Any]]:
    """Exit status, nccl_tests.json, perftest.json."""
    with harness.playing(place, place / "play.yml", "-i", str(place / "hosts.yml")) as process:
        rc: int = process.wait(600)
    assert list((place / "reports").glob("*/benchmarks")), output(place)
    (folder,) = (place / "reports").glob("*/benchmarks")
    files = [folder / f"{kind}.json" for kind in ("nccl_tests", "perftest")]
    assert all(file.is_file() for file in files), output(place)
    nccl, perf = (json.loads(file.read_text()) for file in files)
    return rc, nccl, perf


def test_their_figures_stand_in_their_files(place: pathlib.Path) -> None:
    rc, nccl, perf = measure(place)
    assert rc == 0, output(place)
    (row,) = nccl["results"]
    assert (row["ranks"], row["hosts"], row["size_bytes"]) == (2, 2, 1048576)
    assert (row["out_of_place_busbw_gb_s"], row["in_place_busbw_gb_s"], nccl["problems"]) == (10.49, 10.38, [])
    assert pathlib.Path(nccl["settings"]["log"]).read_text().count("Avg bus bandwidth") == 1
    (connection,) = perf["results"]
    assert (connection["from"], connection["to"], connection["gbit_s"]) == ("localhost", "other", pytest.approx(96.4))
    assert perf["problems"] == [] and pathlib.Path(connection["log"]).is_file()
    calls = [json.loads(line) for line in (place / "calls").read_text().splitlines()]
    (run,) = [words for words in calls if any(word.endswith("all_reduce_perf") for word in words) and "-x" in words]
    assert "NCCL_IB_HCA==mlx5_0:1" in run and "NCCL_IB_TC=106" in run
    assert nccl["parameters"]["nccl"]["shared"]["NCCL_IB_GID_INDEX"] == "3"


def test_figures_that_contradict_themselves_fail_the_measurement_and_are_named(place: pathlib.Path) -> None:
    (place / "broken").touch()
    rc, nccl, perf = measure(place)
    assert rc != 0 and "not everything" in output(place)
    assert nccl["settings"]["one_job"] is False and nccl["problems"]
    assert any("two ends say" in text for text in perf["problems"])
    assert perf["results"] and nccl["results"], "what was measured is kept beside the problem"
