"""What a site with IPv6 alone has at its border: an HTTP proxy to package archives that answer at IPv4 as well.

Listens at the gateway of the lab's first network, so that nobody but the nodes reaches it. Takes requests with a whole
address (apt) and CONNECT (pip); one request per connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from urllib.parse import urlsplit

PORT = 3128
_FREEBIND = 15  # IP_FREEBIND, which Python does not name
_HEAD_SECONDS, _CONNECT_SECONDS = 30, 30


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while block := await source.read(1 << 16):
            target.write(block)
            await target.drain()
    with contextlib.suppress(OSError):
        target.write_eof()


def forwarded(head: bytes) -> tuple[str, int, bytes]:
    """Host, port and what is sent there first (nothing for CONNECT). Raises ValueError."""
    first, *fields = head.decode("latin-1").split("\r\n")
    method, target, _protocol = first.split(" ")
    address = urlsplit(f"//{target}" if method == "CONNECT" else target)
    if not address.hostname or (method != "CONNECT" and address.scheme != "http"):
        raise ValueError(f"not a request to a proxy: {first}")
    if method == "CONNECT":
        return address.hostname, address.port or 443, b""
    kept = [line for line in fields if line and not line.lower().startswith(("connection:", "proxy-"))]
    path = (address.path or "/") + (f"?{address.query}" if address.query else "")
    lines = [f"{method} {path} HTTP/1.1", *kept, "Connection: close", "", ""]
    return address.hostname, address.port or 80, "\r\n".join(lines).encode("latin-1")


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _HEAD_SECONDS)
        host, port, first = forwarded(head)
        there, to_there = await asyncio.wait_for(asyncio.open_connection(host, port), _CONNECT_SECONDS)
        to_there.write(first)
        if not first:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        asked = asyncio.create_task(_copy(reader, to_there))
        await _copy(there, writer)
        asked.cancel()
        to_there.close()
    except (OSError, ValueError, EOFError, TimeoutError, asyncio.TimeoutError, asyncio.LimitOverrunError) as error:
        with contextlib.suppress(OSError):
            writer.write(b"HTTP/1.1 502 Bad gateway\r\nConnection: close\r\n\r\n" + f"{error!r}\n".encode())
    finally:
        with contextlib.suppress(OSError):
            writer.close()


async def start(address: str, port: int) -> asyncio.Server:
    listening = socket.socket(socket.AF_INET6)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # The bridge has no link before the first node, and until then its address is not usable.
    listening.setsockopt(socket.IPPROTO_IP, _FREEBIND, 1)
    listening.bind((address, port))
    return await asyncio.start_server(_answer, sock=listening)


async def _serve(address: str) -> None:
    async with await start(address, PORT) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1]))
