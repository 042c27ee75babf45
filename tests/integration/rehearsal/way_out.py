"""Tries to leave the network namespace, and prints what it reached."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable

from lab.rehearsal import namespace


def main(port: int, name: str, outer: str) -> None:
    if outer:
        namespace.refuse_a_way_out(outer)
    tries: dict[str, Callable[[], object]] = {
        "outer loopback": lambda: socket.create_connection(("127.0.0.1", port), 3),
        "tcp": lambda: socket.create_connection(("192.0.2.1", 443), 3),
        "tcp ipv6": lambda: socket.create_connection(("2001:db8::1", 443), 3),
        "udp": lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("198.51.100.1", 53)),
        "broadcast": lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("169.254.1.1", 9)),
        "abstract socket": lambda: socket.socket(socket.AF_UNIX).connect(f"\0{name}"),
        "engine": lambda: socket.socket(socket.AF_UNIX).connect("/run/docker.sock"),
    }
    reached = []
    for what, attempt in tries.items():
        try:
            attempt()
            reached.append(what)
        except OSError:
            pass
    print(json.dumps(reached))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3])
