"""Drift of each kind that modules read: all in one run, in drift.json, metrics and exit status.

The plays are those of the stages without roles: image, mesh and containers need real guests (tests/integration/site).
"""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import time
from typing import Any

import paramiko

from tests.integration.day2.conftest import Site
from tests.integration.simulated_switch import ADDRESS, PASSWORD
from tests.integration.vsphere.conftest import change_while_on, run_module

KEYS = {"pciPassthru.allowP2P": "FALSE", "pciPassthru.RelaxACSforP2P": "FALSE", "numa.nodeAffinity": "7"}


def on_the_switch(site: Site, *lines: str) -> None:
    """What somebody types there."""
    with paramiko.SSHClient() as client:
        client.load_host_keys(str(site.switch.known_hosts))
        client.connect(ADDRESS, site.switch.port, "admin", PASSWORD, look_for_keys=False, allow_agent=False)
        shell = client.invoke_shell()
        shell.settimeout(30)
        for line in ("enable", "configure terminal", *lines, "show version"):
            shell.send(f"{line}\n".encode())
        said = b""
        while b"Product" not in said:
            said += shell.recv(65536)


def drift(site: Site, status: int) -> dict[str, Any]:
    """drift.json, with the metrics of each host under ``metrics``."""
    playbook = site.folder / "drift.yml"
    playbook.write_text(site.forward.read_text())
    textfile = site.folder / "rocemesh.prom"
    done = subprocess.run(
        site.command(playbook, "--check"),
        cwd=site.folder,
        env={**site.environment(), "ROCEMESH_DRIFT_TEXTFILE": str(textfile)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    found: dict[str, Any] = json.loads((site.folder / "reports/drift.json").read_text())
    rows = re.findall(r'^rocemesh_drift_(\w+)\{host="(\w+)",layer="\w*"\} (\d+)$', textfile.read_text(), re.M)
    found["metrics"] = {(host, name): int(count) for name, host, count in rows}
    return found


def right_site(site: Site) -> None:
    """Configured, and in force on every layer."""
    site.configure()
    for host in ("esx01", "esx02"):
        reboot(site, host)
    site.vcenter.ask("POST", "/admin", {"do": "on", "vm": "gpu01"})


def reboot(site: Site, host: str) -> None:
    boots = site.vcenter.host(host)["boots"]
    site.vcenter.ask("POST", "/admin", {"do": "reboot", "host": host})
    deadline = time.monotonic() + 30
    while site.vcenter.host(host)["boots"] == boots or site.vcenter.host(host)["connection"] != "connected":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def set_ats(site: Site, host: str, value: bool) -> None:
    settings = {"esxi_hostname": host, "settings": {"atsSupport": value}}
    assert not run_module("esxi_kernel_setting", {**site.vcenter.login, **settings}).failed


def text_of(found: dict[str, Any], host: str) -> str:
    return json.dumps([row for row in found["drift"] if row["host"] == host])


def test_drift_of_every_layer_is_listed_and_a_right_site_has_none(site: Site, tmp_path: pathlib.Path) -> None:
    right_site(site)
    for _again in range(2):
        found = drift(site, 0)
        assert found["drift"] == [] and not any(found["metrics"].values())

    on_the_switch(
        site, "no roce", "vlan 111 name other", "interface ethernet 1/2 mtu 4000 force",
        "interface ethernet 1/3 switchport access vlan 1",
    )  # fmt: skip
    site.vcenter.ask("POST", "/admin", {"do": "off", "vm": "gpu01"})
    change_while_on(site.vcenter, "gpu01", KEYS)
    set_ats(site, "esx01", False)
    set_ats(site, "esx02", False)
    reboot(site, "esx02")
    set_ats(site, "esx02", True)
    card = site.rack.cards[0]["params"]["ATS_ENABLED"]
    card["next"] = 0
    (site.rack.directory / "nic.json").unlink()
    site.rack.write()
    found = drift(site, 2)

    for words in ("RoCE mode", "other", "port 1/2 mtu", "port 1/3"):
        assert words in text_of(found, "leaf01"), (words, found["drift"])
    for words in (*KEYS, "ATS_ENABLED"):
        assert words in text_of(found, "gpu01"), (words, found["drift"])
    by_device = {(row["device"], row["state"]) for row in found["drift"]}
    wanted = {("esx01", "differs"), ("esx02", "waits for a restart")}
    assert wanted <= by_device, found["drift"]
    # One module asks for all hosts of a vCenter, in the name of the first.
    assert all(found["metrics"][host, "differences"] for host in ("leaf01", "esx01", "gpu01"))

    site.switch.fault(name="silent", phase="banner")
    found = drift(site, 3)
    assert found["verdict"] == "not readable" and found["metrics"]["leaf01", "unreadable"] == 1
