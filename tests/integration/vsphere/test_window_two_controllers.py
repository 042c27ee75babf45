"""Two controllers do what reboot.yml does, at once and in opposite order. Their requests are dealt out one by one by a
seeded dealer, so a seed is an interleaving. ROCEMESH_INTERLEAVINGS=50 runs as many; `make test` runs a sample."""

from __future__ import annotations

import datetime
import os
import random
import threading
import unittest.mock
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError, converge
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere import kernel
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.kernel import KernelLayer
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.lease import LeaseWanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.plan import KernelWanted
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.plan_reboot import RebootWanted, Timeouts
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.reboot import RebootLayer
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.run_identity import Run
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.transport import Endpoint
from ansible_collections.rocemesh.multinode.plugins.module_utils._vsphere.windows import Windows
from pyVmomi import SoapAdapter

from .conftest import USER, Vcenter
from .patience import Quick
from .windows import marks, run_as

COUNT = int(os.environ.get("ROCEMESH_INTERLEAVINGS", "6"))
HOSTS = {"esx01": ("gpu01", "gpu02"), "esx02": ("gpu03",)}
ATS = KernelWanted({"atsSupport": True})


class Dealer:
    """Lets one request through at a time. ``stubborn``: how likely the same controller has the next turn too;
    ``head_start``: so many requests of the first before the second may begin."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.stubborn = self.random.choice([0.5, 0.8, 0.97])
        self.head_start = self.random.choice([0, 0, self.random.randrange(200)])
        self.condition = threading.Condition()
        self.waiting: set[int] = set()
        self.alive: set[int] = {0, 1}
        self.turn: int | None = None
        self.last = 0
        self.dealt = 0

    def _deal(self) -> None:
        """Needs the condition. Nobody is dealt a turn while another may still come to ask for one."""
        if self.turn is not None:
            return
        held_back = 1 in self.alive and 0 in self.alive and self.dealt < self.head_start
        players = self.alive - {1} if held_back else self.alive
        if not players or not players <= self.waiting:
            return
        again = self.last in players and self.random.random() < self.stubborn
        self.turn = self.last if again else self.random.choice(sorted(players))
        self.last, self.dealt = self.turn, self.dealt + 1
        self.condition.notify_all()

    def ask(self, player: int) -> None:
        with self.condition:
            self.waiting.add(player)
            self._deal()
            assert self.condition.wait_for(lambda: self.turn == player, timeout=60), "the dealer stands still"
            self.waiting.discard(player)

    def done(self, player: int) -> None:
        with self.condition:
            if self.turn == player:
                self.turn = None
            self._deal()

    def leave(self, player: int) -> None:
        with self.condition:
            self.alive.discard(player)
            self.waiting.discard(player)
            self._deal()


class Site:
    """reboot.yml of one controller: boot times, what waits, the lease, one window after the other, the lease again."""

    def __init__(self, vcenter: Vcenter, name: str, order: list[str]) -> None:
        self.lease = LeaseWanted(Run(name, "ctl-" + name), 600)
        self.endpoint = Endpoint("127.0.0.1", USER, vcenter.password, vcenter.port, ca_path=str(vcenter.ca))
        self.order = order
        self.said: list[str] = []
        self.error: LayerError | None = None
        self.broken: BaseException | None = None

    def play(self) -> None:
        try:
            with Quick(self.endpoint) as connection:
                self._windows(connection)
        except LayerError as error:
            self.error = error
        except BaseException as error:  # a thread's exception reaches nobody
            self.broken = error

    def _windows(self, connection: Quick) -> None:
        windows = Windows(connection, self.lease, self.order)
        windows.settle("free", check_mode=False)
        booted = {row["esxi_host"]: row["boot_time"] for row in windows.hosts()}
        layer = KernelLayer(connection, connection.find_hosts(self.order), ATS)
        waiting = [row["esxi_host"] for row in layer.facts(layer.observe())["hosts"] if row["reboot_required"]]
        if not waiting:
            self.said.append("nothing waits")
            return
        windows.settle("held", check_mode=False)
        try:
            for host in waiting:
                self._window(host, booted[host])
        finally:
            with Quick(self.endpoint) as other:
                Windows(other, self.lease, self.order).settle("released", check_mode=False)

    def _window(self, host: str, booted: str) -> None:
        wanted = RebootWanted(
            required=True,
            vm_policy="shutdown",
            vm_allowlist=HOSTS[host],
            booted_at=datetime.datetime.fromisoformat(booted),
        )
        with Quick(self.endpoint) as connection:
            layer = RebootLayer(connection, host, wanted, Timeouts(60, 60, 120, 60), lease=self.lease)
            result = converge(layer, wanted)
        self.said.append(f"rebooted {host}" if result["rebooted"] else f"{host}: {result['warnings']}")


def play_both(vcenter: Vcenter, seed: int) -> tuple[Site, Site]:
    dealer = Dealer(seed)
    sites = (Site(vcenter, "anna", ["esx01", "esx02"]), Site(vcenter, "bert", ["esx02", "esx01"]))
    player = threading.local()
    real = SoapAdapter.SoapStubAdapter.InvokeMethod

    def invoke(stub: Any, *arguments: Any, **options: Any) -> Any:
        dealer.ask(player.number)
        try:
            return real(stub, *arguments, **options)
        finally:
            dealer.done(player.number)

    def begin(number: int) -> None:
        player.number = number
        try:
            sites[number].play()
        finally:
            dealer.leave(number)

    def one_by_one(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return [work(item) for item in items]

    dealt = unittest.mock.patch.object(SoapAdapter.SoapStubAdapter, "InvokeMethod", invoke)
    in_turn = unittest.mock.patch.object(kernel, "in_parallel", one_by_one)  # the dealer knows a player by its thread
    with dealt, in_turn:
        threads = [threading.Thread(target=begin, args=(number,)) for number in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=120)
            assert not thread.is_alive()
    for site in sites:
        if site.broken is not None:
            raise site.broken
    return sites


@pytest.mark.parametrize("seed", range(COUNT))
def test_each_host_is_rebooted_once_and_both_runs_end_with_the_truth(quick: Vcenter, seed: int) -> None:
    quick.ask("POST", "/reset")
    run_as(quick, "setup", "esxi_kernel_setting", esxi_hostnames=list(HOSTS), settings={"atsSupport": True})
    quick.ask("DELETE", "/calls")
    sites = play_both(quick, seed)
    calls = quick.calls()
    for host, vms in HOSTS.items():
        assert calls.count(f"RebootHost_Task {host}") <= 1 and quick.host(host)["boots"] <= 1
        assert not quick.host(host)["maintenance"]
        for vm in vms:
            assert calls.count(f"ShutdownGuest {vm}") <= 1 and quick.vm(vm)["power"] == "on"
    assert marks(quick) == []
    claimed = [text.split()[1] for site in sites for text in site.said if text.startswith("rebooted")]
    assert sorted(claimed) == [host for host in sorted(HOSTS) if quick.host(host)["boots"]], "told as it was"
    for site, other in (sites, sites[::-1]):
        if site.error is not None:
            text, name = str(site.error), other.lease.run.name
            assert f"run {name} on controller ctl-{name}" in text and "nothing was changed" in text
            assert site.error.details["holder"]["run"] == name
    assert any(site.error is None for site in sites), "one of them comes through"
    assert all(quick.host(host)["boots"] == 1 for host in HOSTS), "and does what waits"
