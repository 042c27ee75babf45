# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rounds of the stand-in for perftest between real agents: a slow port, and a device that refuses."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.rocemesh.multinode.plugins.module_utils._fabric import judge, schedule, wire

from tests.integration.fabric import namespaces

WRITE_BW = [["ib_write_bw", "-F", "--report_gbits", "-D", str(namespaces.SECONDS), "-s", "65536"]]


def test_slow_port_and_refusing_device_are_told_apart(tmp_path: Path) -> None:
    with namespaces.fabric(4, 2, tmp_path / "tools") as site:
        slow = "root tbf rate 12mbit burst 10kb latency 50ms"
        site.host(2, f"tc qdisc add dev r0 {slow}")
        site.switches(f"tc qdisc add dev h2r0 {slow}")
        site.environment[3] = {"STAND_IN_FAULTS": "gid:mlx5_1"}
        rounds = schedule.rounds(site.fabric, "full")
        lines = site.agents(site.plan(rounds, "measure", WRITE_BW))
        measured = wire.measured(rounds, 1, wire.answers(site.fabric, lines))
        findings = judge.judge(site.fabric, measured.seen[0], 0.3, 2)
    assert measured.simulated
    assert {(place.kind, place.members, place.dead) for place in findings.accused} == {
        ("nic", (4,), False),
        ("nic", (7,), True),
    }
    assert any("Failed to modify QP" in failure.why for failure in measured.failures)
