"""The simulated switch decides over real packets: in network namespaces on a bridge, as the lab's nodes are."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from lab import carrier
from lab.switch.control import answer
from lab.switch.grammar import CONFIG, Cli, execute
from lab.switch.state import Switch

NODES = tuple(carrier.PORTS)


def new_switch() -> Switch:
    return Switch("sw01", "3.10.4006", 32, link_delay=0.0)


def typed(switch: Switch, *lines: str) -> None:
    session = Cli(switch, mode=CONFIG)
    for line in lines:
        assert execute(session, line) == "", line
        session.context = ""


def limits(switch: Switch, node: str = "gpu01") -> dict[str, int]:
    return {path.source: path.limit for path in carrier.paths_to(node, switch.links())}


CONFIGURED = ("vlan 111", "interface ethernet 1/1-1/4 switchport access vlan 111")
PATHS = [
    ("factory", (), [1500, 1500, 1500]),
    ("one-vlan", CONFIGURED, [1500, 1500, 1500]),
    ("two-vlans", ("vlan 111", "interface ethernet 1/1-1/2 switchport access vlan 111"), [1500, 0, 0]),
    ("mtu-of-both", ("interface ethernet 1/1-1/2 mtu 9216 force",), [9216, 1500, 1500]),
    ("shut-down", ("interface ethernet 1/2 shutdown",), [0, 1500, 1500]),
    ("own-port-down", ("interface ethernet 1/1 shutdown",), [0, 0, 0]),
    ("trunk", ("interface ethernet 1/2 switchport mode trunk",), [0, 1500, 1500]),
    ("routed", ("no interface ethernet 1/2 switchport force",), [0, 1500, 1500]),
    ("vlan-removed", (*CONFIGURED, "no vlan 111"), [1500, 1500, 1500]),
]


@pytest.mark.parametrize(("lines", "expected"), [row[1:] for row in PATHS], ids=[row[0] for row in PATHS])
def test_vlan_mtu_and_link_of_both_ports_decide(lines: tuple[str, ...], expected: list[int]) -> None:
    switch = new_switch()
    typed(switch, *lines)
    assert list(limits(switch).values()) == expected


def test_a_broken_cable_carries_nothing() -> None:
    switch = new_switch()
    switch.faults.inject({"name": "link_down", "port": "1/3"})
    assert limits(switch) == {"gpu02": 1500, "gpu03": 0, "gpu04": 1500}


ADDRESSES = {**carrier.ADDRESSES, "registry": "10.78.0.5"}


def setns(descriptor: int) -> None:
    # os.setns is there since Python 3.12 only.
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, 0):
        raise OSError(ctypes.get_errno(), "setns")


class Rack:
    """Four namespaces on a bridge in a fifth: nodes at their addresses, and 10.78.0.5 as the registry."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.pids = {name: self._namespace(stack) for name in (*NODES, "registry", "bridge")}
        self.switch = new_switch()
        self.addresses = {name: carrier.ADDRESSES[name] for name in NODES}
        self.told: dict[str, Any] = {}
        self("bridge", "ip link add br0 type bridge && ip link set br0 mtu 9216 up")
        for number, name in enumerate((*NODES, "registry")):
            peer = f"port{number}"
            self(
                "bridge",
                f"ip link add {peer} mtu 9216 type veth peer name eth0 mtu 9216 netns {self.pids[name]}"
                f" && ip link set {peer} master br0 up",
            )
            self(
                name,
                f"ip address add {ADDRESSES[name]}/24 dev eth0 && ip link set eth0 mtu 9000 up && ip link set lo up",
            )
        self.carrier = carrier.Carrier(self.run, self.addresses, self.switch.links, self.tell)

    @staticmethod
    def _namespace(stack: contextlib.ExitStack) -> int:
        process = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "echo; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        stack.callback(process.wait)
        stack.callback(process.kill)
        assert process.stdout is not None and process.stdout.readline()
        return process.pid

    def run(self, name: str, script: str) -> tuple[int, str]:
        done = subprocess.run(
            ["nsenter", f"--net=/proc/{self.pids[name]}/ns/net", "bash", "-c", script],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def __call__(self, name: str, script: str) -> str:
        status, text = self.run(name, script)
        assert status == 0, f"{name}: {script}: {text}"
        return text

    def tell(self, ports: dict[str, dict[str, int]]) -> None:
        status, _body = answer(self.switch, "POST", "/traffic", json.dumps(ports).encode())
        assert status == 200

    def reaches(self, name: str, address: str, size: int = 56) -> bool:
        """Whether a datagram that may not be cut arrives; 28 bytes of headers come on top."""
        other = next(each for each, known in ADDRESSES.items() if known == address)
        with self.sockets_of(other):
            receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with self.sockets_of(name):
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with receiver, sender:
            receiver.bind((address, 0))
            receiver.settimeout(0.4)
            sender.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER, IP_PMTUDISC_DO
            sender.sendto(bytes(size), receiver.getsockname())
            try:
                return len(receiver.recv(1 << 16)) == size
            except TimeoutError:
                return False

    @contextlib.contextmanager
    def sockets_of(self, name: str) -> Iterator[None]:
        """This thread makes its sockets in the node's namespace."""
        here = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        there = os.open(f"/proc/{self.pids[name]}/ns/net", os.O_RDONLY)
        try:
            setns(there)
            yield
        finally:
            setns(here)
            os.close(here)
            os.close(there)

    def look(self, count: bool = False) -> None:
        self.carrier.round(count=count)
        assert self.carrier.said == ""


@pytest.fixture(scope="module")
def rack() -> Iterator[Rack]:
    if os.geteuid() or not all(map(shutil.which, ("unshare", "nsenter", "iptables", "ip"))):
        pytest.skip("network namespaces need root, util-linux, iproute2 and iptables")
    with contextlib.ExitStack() as stack:
        yield Rack(stack)


@pytest.fixture(autouse=True)
def _fresh(request: pytest.FixtureRequest) -> None:
    if "rack" in request.fixturenames:
        built: Rack = request.getfixturevalue("rack")
        built.switch.reset()
        built.carrier.switch_on(False)
        built.carrier.traffic = carrier.Traffic()


GPU01, GPU02, GPU03, REGISTRY = "10.78.0.11", "10.78.0.12", "10.78.0.13", "10.78.0.5"


def test_switched_off_it_carries_everything_as_a_bridge_does(rack: Rack) -> None:
    rack.look()
    assert rack.reaches("gpu01", GPU02, 8972)
    assert carrier.CHAIN not in rack("gpu01", "iptables -t raw -S")


def test_vlans_part_the_nodes_and_not_the_management(rack: Rack) -> None:
    rack.carrier.switch_on(True)
    typed(rack.switch, "vlan 111", "interface ethernet 1/1-1/2 switchport access vlan 111")
    rack.look()
    assert rack.reaches("gpu01", GPU02) and not rack.reaches("gpu01", GPU03) and not rack.reaches("gpu03", GPU02)
    assert rack.reaches("gpu01", REGISTRY, 8972) and rack.reaches("gpu03", REGISTRY, 8972)
    typed(rack.switch, "interface ethernet 1/3 switchport access vlan 111")
    rack.look()
    assert rack.reaches("gpu01", GPU03)


def test_a_port_that_is_shut_down_carries_nothing_until_it_is_up_again(rack: Rack) -> None:
    rack.carrier.switch_on(True)
    typed(rack.switch, "interface ethernet 1/2 shutdown")
    rack.look()
    assert not rack.reaches("gpu01", GPU02) and rack.reaches("gpu01", GPU03)
    typed(rack.switch, "no interface ethernet 1/2 shutdown")
    rack.look()
    assert rack.reaches("gpu01", GPU02)


def test_jumbo_frames_pass_where_both_ports_take_them_and_vanish_silently_elsewhere(rack: Rack) -> None:
    rack.carrier.switch_on(True)
    rack.look()
    assert rack.reaches("gpu01", GPU02) and not rack.reaches("gpu01", GPU02, 8972)
    typed(rack.switch, "interface ethernet 1/1-1/2 mtu 9216 force")
    rack.look()
    assert rack.reaches("gpu01", GPU02, 8972) and not rack.reaches("gpu01", GPU03, 8972)


def transfer(rack: Rack, size: int) -> int:
    """How much of ``size`` bytes arrives over one TCP connection from gpu01 to gpu02 before it stalls."""
    with rack.sockets_of("gpu02"):
        listener = socket.create_server((GPU02, 0))
    with listener:
        with rack.sockets_of("gpu01"):
            sender = socket.create_connection(listener.getsockname(), timeout=2)
        receiver, _address = listener.accept()
        with sender, receiver:
            receiver.settimeout(1)
            sender.setblocking(False)
            data, got = memoryview(bytes(size)), 0
            with contextlib.suppress(BlockingIOError):
                data = data[sender.send(data) :]
            with contextlib.suppress(TimeoutError):
                while got < size:
                    got += len(receiver.recv(1 << 16))
                    with contextlib.suppress(BlockingIOError):
                        data = data[sender.send(data) :]
            return got


def test_a_stream_of_a_guest_with_jumbo_frames_stalls_on_a_switch_without_them(rack: Rack) -> None:
    """The handshake is small and passes: the job hangs, as it does in a rack. Both guests have MTU 9000."""
    rack.carrier.switch_on(True)
    rack.look()
    assert transfer(rack, 1 << 20) == 0
    typed(rack.switch, "interface ethernet 1/1-1/4 mtu 9216 force")
    rack.look()
    assert transfer(rack, 1 << 20) == 1 << 20


def test_counters_of_the_ports_move_with_the_traffic_and_count_what_is_lost(rack: Rack) -> None:
    rack.carrier.switch_on(True)
    typed(rack.switch, "interface ethernet 1/1-1/2 mtu 9216 force")
    rack.look()
    assert transfer(rack, 1 << 20) == 1 << 20
    rack.reaches("gpu01", GPU03, 8972)  # too long for port 1/3
    rack.look(count=True)
    shown = execute(Cli(rack.switch, mode=CONFIG), "show interfaces ethernet 1/1-1/3 | json-print")
    ports = {
        name: {key: row for part in parts for key, row in part.items()}
        for entry in json.loads(shown)
        for name, parts in entry.items()
    }
    first, second, third = (ports[f"Eth1/{number}"] for number in (1, 2, 3))
    assert int(first["Rx"][0]["bytes"]) > 1 << 20 and int(second["Tx"][0]["bytes"]) > 1 << 20
    assert int(first["Rx"][0]["discard packets"]) == 1 and third["Rx"][0]["discard packets"] == "0"
    # Nothing of this was RDMA, and no counter of RoCE says so.
    assert rack.switch.counters("1/1")["roce_packets"] == "0"


def test_a_guest_that_has_booted_gets_its_rules_again(rack: Rack) -> None:
    rack.carrier.switch_on(True)
    typed(rack.switch, "vlan 111", "interface ethernet 1/1 switchport access vlan 111")
    rack.look()
    rack("gpu02", carrier.remove_script())
    assert rack.reaches("gpu02", GPU01) is False  # the other end still drops
    rack.look(count=True)
    assert carrier.CHAIN in rack("gpu02", "iptables -t raw -S")


def test_what_cannot_be_coupled_is_said_and_stops_nothing() -> None:
    """A kernel without the match, a node that is off, a switch that does not answer."""

    def broken(_node: str, script: str) -> tuple[int, str]:
        return (1, "Extension length revision 0 not supported") if "restore" in script else (1, "")

    coupling = carrier.Carrier(broken, ask=new_switch().links, tell=lambda _ports: None)
    coupling.switch_on(True)
    coupling.round(count=True)
    assert "cannot be coupled" in coupling.as_json()["problem"] and "length" in coupling.said
    off = carrier.Carrier(lambda _node, _script: (125, ""), ask=new_switch().links, tell=lambda _ports: None)
    off.switch_on(True)
    off.round(count=True)
    assert off.said == ""

    def silent() -> carrier.Links:
        raise ConnectionError("refused")

    mute = carrier.Carrier(broken, ask=silent, tell=lambda _ports: None)
    mute.switch_on(True)
    mute.round(count=True)
    assert "does not answer" in mute.said


def test_a_node_that_is_off_is_asked_again_when_it_starts_and_never_while_it_is_removed() -> None:
    asked: list[str] = []
    off = 125

    def run(node: str, _script: str) -> tuple[int, str]:
        if node == "gpu01":
            asked.append(node)
        return off, ""

    coupling = carrier.Carrier(run, ask=new_switch().links, tell=lambda _ports: None)
    coupling.switch_on(True)
    for _look in range(3):
        coupling.round(count=False)
    assert asked == ["gpu01"], "an engine that is asked for a node that is off, again and again"
    with coupling.held("gpu01"):
        other = threading.Thread(target=lambda: coupling.round(count=True), daemon=True)
        other.start()
        other.join(timeout=0.2)
        assert other.is_alive() and asked == ["gpu01"]
        off = 0
    other.join(timeout=5)
    assert not other.is_alive() and asked == ["gpu01"] * 3  # read, and the rules put in place
