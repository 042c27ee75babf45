"""What went over the cable of a VM: captured in front of its card, and read from the file (pcap of Ethernet frames)."""

from __future__ import annotations

import contextlib
import dataclasses
import ipaddress
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from lab import config, engine, processes
from lab.vm import machine

ROCE_PORT = 4791
_HEADER, _RECORD = 24, 16
_UDP, _IPV4 = 17, b"\x08\x00"
# InfiniBand base transport header, reliable connection: RDMA WRITE, first to only. What a connection is made with, and
# what perftest's two ends tell each other, are messages of their own.
_WRITES = range(0x06, 0x0C)


@dataclasses.dataclass(frozen=True)
class Packet:
    """Of IPv4; ``opcode``: of RoCE v2, else None."""

    source: str
    target: str
    tos: int
    protocol: int
    opcode: int | None

    @property
    def payload(self) -> bool:
        return self.opcode in _WRITES

    @property
    def marked(self) -> bool:
        return self.tos & 3 == 3


def packets(content: bytes) -> list[Packet]:
    """A file of tcpdump in this machine's byte order; what is not IPv4 is left out, and so is a cut last record."""
    found = []
    offset = _HEADER
    while offset + _RECORD <= len(content):
        (length,) = struct.unpack_from("<I", content, offset + 8)
        frame = content[offset + _RECORD : offset + _RECORD + length]
        offset += _RECORD + length
        if len(frame) < 34 or frame[12:14] != _IPV4:
            continue
        udp = 14 + (frame[14] & 15) * 4
        protocol, opcode = frame[23], None
        if protocol == _UDP and len(frame) > udp + 8 and struct.unpack_from("!H", frame, udp + 2)[0] == ROCE_PORT:
            opcode = frame[udp + 8]
        ends = (str(ipaddress.ip_address(frame[start : start + 4])) for start in (26, 30))
        found.append(Packet(*ends, frame[15], protocol, opcode))
    return found


def between_vms(found: list[Packet]) -> list[Packet]:
    """Without what this machine and the registry say to them."""
    addresses = {node.cluster_ip for node in config.NODES}
    return [packet for packet in found if {packet.source, packet.target} <= addresses]


class Capture:
    """``packets``: when it is over."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.packets: list[Packet] = []


@contextlib.contextmanager
def captured(node: config.Node, tmp: str = "wire.pcap") -> Iterator[Capture]:
    """On the end of the cable at the VM's card, after the bridge has let a frame pass, or changed it."""
    folder = machine.folder(config.paths(), node)
    capture, pid = Capture(folder / tmp), folder / "tcpdump.pid"
    for path in (capture.file, pid):
        path.unlink(missing_ok=True)
    words = f"tcpdump -n -U --immediate-mode -B 16384 -i tap0 -s 96 -w {machine.RUN}/{tmp}"
    script = f"echo $$ > {machine.RUN}/tcpdump.pid; exec {words}"
    running = subprocess.Popen(
        engine.command("exec", "--user", "root", node.container, "sh", "-c", script),
        env=engine.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        processes.wait_for(f"tcpdump before {node.name}", lambda: capture.file.exists() and pid.exists(), 30)
        yield capture
        time.sleep(2)  # the last words of a connection come after its programs
    finally:
        engine.docker("exec", node.container, "sh", "-c", f"kill -INT {pid.read_text().strip()}", check=False)
        running.wait(30)
        capture.packets = packets(capture.file.read_bytes())
        capture.file.unlink()
