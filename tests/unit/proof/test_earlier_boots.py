"""What a system's log among the job's logs said before the boot of the run, or before the driver was loaded again.

Settled, it costs nothing. What the run's own boot said after that, or where the boot cannot be told, costs the proof.
"""

from __future__ import annotations

from typing import Callable, NamedTuple

import pytest

from tests.unit.proof.attack_base import BASES, Site, judge, site_of
from tests.unit.proof.test_harmless_lines import XIDS

BOOT = "0b0c2d5e000040008000000000000001"  # of gpu01, as its readings have it
LINUX = "Linux version 5.15.0-119-generic (buildd@lcy02-amd64-075)"
LOADED = "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024"
SHARED = 'audit: type=1400 audit(1.0:9): apparmor="STATUS"'  # also in the kernel's log that was read after the run
BRIDGE = "docker0: port 1(veth3a1b2c3) entered forwarding state"
# The run began on 2026-09-21 at 14:13:20 UTC and took 40 s; its hosts booted on 2026-09-20 at 13:14:20.


def xid(number: int = 79, bus: str = "0000:3b:00") -> str:
    return f"NVRM: Xid (PCI:{bus}): {number}, pid=4211, name=python3"


def day(stamp: str, text: str, host: str = "gpu01") -> str:
    return f"Sep {stamp} {host} kernel: {text}"


def iso(stamp: str, text: str, host: str = "gpu01") -> str:
    return f"2026-09-{stamp} {host} kernel: {text}"


class Log(NamedTuple):
    """``change``: of what was read besides."""

    name: str
    lines: tuple[str, ...]
    file: str = "gpu01.kern.log"
    change: Callable[[Site], object] = lambda _site: None


def known(until: str) -> Callable[[Site], object]:
    return lambda site: site.job.update(known_xids=[f"gpu01/0000:3b:00.0/79/{until}"])


def gpus(*buses: str) -> Callable[[Site], object]:
    return lambda site: site.rdma["gpu01"]["start"].update(gpus={"state": [{"bus": bus} for bus in buses]})


def up_for(seconds: float) -> Callable[[Site], object]:
    """The host's uptime when it was asked, 60 s after the begin of the run."""

    def change(site: Site) -> None:
        said = site.said["gpu01"]
        said["said"] = said["said"].replace("90000.00 1.0", f"{seconds:.2f} 1.0")

    return change


SETTLED = (
    Log("a day before", (day("20 10:00:00", xid()), day("20 13:14:25", f"[    0.000000] {LINUX}"))),
    Log("without seconds", (day("20 10:00:00", xid()), day("20 13:14:25", LINUX), day("21 14:13:30", BRIDGE))),
    Log(
        "seconds fall back, the first line is lost",
        (day("20 10:00:00", f"[61234.123456] {xid()}"), day("20 13:14:29", f"[    9.000000] {BRIDGE}")),
    ),
    Log("an hour before, with a zone", (iso("21T15:00:00+02:00", xid()), iso("21T15:10:00.123456+02:00", LINUX))),
    Log("zone in UTC", (iso("21T13:00:00Z", xid()), iso("21T13:10:00Z", LINUX), iso("21T14:13:30Z", BRIDGE))),
    Log(
        "the journal names the boot",
        (day("21 13:00:00", xid()), f"-- Boot {BOOT} --", day("21 13:10:00", f"{LINUX}"), day("21 13:11:00", BRIDGE)),
    ),
    Log(
        "the journal, seconds alone",
        (f"[61234.123456] gpu01 kernel: {xid()}", f"-- Boot {BOOT} --", f"[    0.000000] gpu01 kernel: {LINUX}"),
    ),
    Log("an older journal", (day("20 10:00:00", xid()), "-- Reboot --", day("20 13:14:25", BRIDGE))),
    Log(
        "lines of the boot in both logs",
        (
            f"[61234.123456] {xid()}",
            f"[    0.000000] {LINUX}",
            f"[85000.000000] {SHARED}",
        ),
        "gpu01-dmesg.log",
    ),
    Log(
        "the same, without a zone, hours before",
        (
            day("21 09:00:00", f"[61234.123456] {xid()}"),
            day("21 09:30:00", f"[    0.000000] {LINUX}"),
            day("21 12:50:00", f"[85000.000000] {SHARED}"),
        ),
    ),
    Log("driver loaded again a day before", (day("20 13:20:00", xid()), day("20 13:30:00", LOADED))),
    Log(
        "driver loaded again in the boot of the run",
        (f"[  100.000000] {xid()}", f"[  200.000000] {LOADED}", f"[85000.000000] {SHARED}"),
        "gpu01-dmesg.log",
        gpus("0000:3b:00.0"),
    ),
    Log("somebody has looked at it", (iso("21T10:00:00Z", xid()),), change=known("2026-09-21T10:00:00Z")),
    Log(
        "one log of both hosts",
        (
            day("20 10:00:00", xid()),
            day("20 10:01:00", xid(31), "gpu02"),
            day("20 13:14:25", LINUX),
            day("20 13:15:25", LINUX, "GPU02.example.org"),
        ),
        "central.log",
    ),
    Log(
        "programs of the earlier boot, too",
        (
            "Sep 20 10:00:00 gpu01 nv-hostengine[811]: DCGM: GPU 0 has fallen off the bus. Xid 79",
            day("20 13:14:25", LINUX),
        ),
    ),
)

OPEN = (
    Log("in the boot of the run", (day("20 13:14:25", LINUX), day("20 13:20:00", xid()))),
    Log("within the run", (iso("21T14:13:40Z", xid()),)),
    Log("restarted after the run", (iso("21T14:13:40Z", xid()), iso("21T14:30:00Z", LINUX))),
    Log("restarted on the same day, in which zone?", (day("21 09:00:00", xid()), day("21 09:10:00", LINUX))),
    Log("another host restarted", (day("20 10:00:00", xid()), day("20 13:14:25", LINUX, "gpu02"))),
    Log("a host of nobody restarted", (day("20 10:00:00", xid()), day("20 13:14:25", LINUX, "gpu77"))),
    Log("a program says it", (day("20 10:00:00", xid()), f"Sep 20 13:14:25 gpu01 build[7]: {LINUX}")),
    Log("a log without a host", (f"[61234.123456] {xid()}", f"[    0.000000] {LINUX}"), "kernel.log"),
    Log(
        "seconds alone, and no line of the boot",
        (f"[61234.123456] {xid()}", f"[    0.000000] {LINUX}", f"[90000.000000] {BRIDGE}"),
        "gpu01-dmesg.log",
    ),
    Log("a clock that went back", (day("21 14:13:40", xid()), day("20 13:14:25", LINUX))),
    Log(
        "the journal of another boot",
        (day("21 13:00:00", xid()), f"-- Boot {BOOT[::-1]} --", day("21 13:10:00", LINUX)),
    ),
    Log(
        "up for a minute only",
        (f"[61234.123456] {xid()}", f"[    0.000000] {LINUX}", f"[85000.000000] {SHARED}"),
        "gpu01-dmesg.log",
        up_for(30.0),
    ),
    Log("after the driver was loaded", (day("20 13:30:00", LOADED), day("20 13:40:00", xid()))),
    Log("driver loaded again after the run", (iso("21T14:13:40Z", xid()), iso("21T14:20:00Z", LOADED))),
    Log(
        "a GPU that the driver does not show",
        (day("20 13:20:00", xid()), day("20 13:30:00", LOADED)),
        change=gpus("0000:5e:00.0"),
    ),
    Log("again after somebody looked at it", (iso("21T12:00:00Z", xid()),), change=known("2026-09-21T10:00:00Z")),
    Log("another Xid than the known one", (iso("21T10:00:00Z", xid(48)),), change=known("2026-09-21T10:00:00Z")),
    Log("no day of any month", (day("31 10:00:00", xid()), day("31 13:14:25", LINUX))),
)


def judged(log: Log) -> str:
    site = site_of(BASES[0])
    log.change(site)
    site.beside[log.file] = "\n".join(log.lines) + "\n"
    return judge(site)


@pytest.mark.parametrize("log", SETTLED, ids=lambda log: log.name)
def test_what_another_state_said_costs_nothing(log: Log) -> None:
    assert judged(log) == "PROVEN"


@pytest.mark.parametrize("log", OPEN, ids=lambda log: log.name)
def test_what_may_be_of_this_state_costs_the_proof(log: Log) -> None:
    assert judged(log) == "NOT PROVEN"


@pytest.mark.parametrize("number", XIDS)
def test_no_xid_of_an_earlier_boot_costs_the_proof(number: int) -> None:
    site = site_of(BASES[0])
    site.beside["gpu01.kern.log"] = "\n".join((day("20 10:00:00", xid(number)), day("20 13:14:25", LINUX), ""))
    site.beside["gpu02-dmesg.log"] = "\n".join(
        (f"[  100.000000] {xid(number)}", f"[  200.000000] {LOADED}", f"[85000.000000] {SHARED}", "")
    )
    assert judge(site) == "PROVEN"


def test_lines_keep_their_numbers() -> None:
    site = site_of(BASES[0])
    lines = (day("20 10:00:00", xid()), day("20 13:14:25", LINUX), day("21 14:13:30", xid(48)))
    site.beside["gpu01.kern.log"] = "\n".join(lines) + "\n"
    assert judge(site) == "NOT PROVEN"


def test_log_that_is_too_long_stays_as_it_is() -> None:
    site = site_of(BASES[0])
    filler = day("20 11:00:00", BRIDGE) + "\n"
    site.beside["gpu01.kern.log"] = (
        day("20 10:00:00", xid()) + "\n" + filler * ((33 << 20) // len(filler)) + day("20 13:14:25", LINUX) + "\n"
    )
    assert judge(site) == "NOT PROVEN"
