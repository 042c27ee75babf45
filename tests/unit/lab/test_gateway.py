"""The proxy of a lab with IPv6 alone, and that its nodes are sent to it."""

from __future__ import annotations

import asyncio

import pytest
import yaml

from lab import config, gateway, shapes

PAGE = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage"


@pytest.mark.parametrize(
    ("head", "host", "port", "first"),
    [
        (
            "GET http://deb.example/debian/a?b=1 HTTP/1.1\r\nHost: deb.example\r\nProxy-Connection: x\r\n\r\n",
            "deb.example", 80, b"GET /debian/a?b=1 HTTP/1.1\r\nHost: deb.example\r\nConnection: close\r\n\r\n",
        ),
        ("GET http://[::1]:8080 HTTP/1.1\r\n\r\n", "::1", 8080, b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"),
        ("CONNECT pypi.example:443 HTTP/1.1\r\n\r\n", "pypi.example", 443, b""),
    ],
)  # fmt: skip
def test_a_request_goes_where_its_address_says(head: str, host: str, port: int, first: bytes) -> None:
    assert gateway.forwarded(head.encode()) == (host, port, first)


@pytest.mark.parametrize("line", ["GET /debian HTTP/1.1", "GET ftp://deb.example/ HTTP/1.1", "hello"])
def test_what_is_no_request_to_a_proxy_is_refused(line: str) -> None:
    with pytest.raises(ValueError):
        gateway.forwarded(f"{line}\r\n\r\n".encode())


async def _asked(request: str) -> tuple[bytes, list[bytes]]:
    """What the proxy answered, and what the server behind it was asked. ``PORT`` in the request is the server's."""
    heard: list[bytes] = []

    async def page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(PAGE)
        writer.close()

    server = await asyncio.start_server(page, "127.0.0.1", 0)
    proxy = await gateway.start("::1", 0)
    async with server, proxy:
        reader, writer = await asyncio.open_connection("::1", proxy.sockets[0].getsockname()[1])
        writer.write(request.replace("PORT", str(server.sockets[0].getsockname()[1])).encode())
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
    return answer, heard


def test_a_node_with_ipv6_alone_gets_a_page_of_an_ipv4_server() -> None:
    assert asyncio.run(_asked("GET http://127.0.0.1:PORT/x HTTP/1.1\r\n\r\n")) == (
        PAGE, [b"GET /x HTTP/1.1\r\nConnection: close\r\n\r\n"],
    )  # fmt: skip
    tunnel = "CONNECT 127.0.0.1:PORT HTTP/1.1\r\n\r\n"
    answer, heard = asyncio.run(_asked(tunnel + "GET /y HTTP/1.1\r\n\r\n"))
    assert answer == b"HTTP/1.1 200 Connection established\r\n\r\n" + PAGE
    assert heard == [b"GET /y HTTP/1.1\r\n\r\n"]


def test_a_server_that_does_not_answer_is_said_to_the_node() -> None:
    answer, _heard = asyncio.run(_asked("GET http://127.0.0.1:1/ HTTP/1.1\r\n\r\n"))
    assert answer.startswith(b"HTTP/1.1 502 ") and b"ConnectionRefusedError" in answer


def test_images_of_the_shape_are_built_through_the_proxy() -> None:
    both = [config.REPO / name / "group_vars/all/site.yml" for name in shapes.read("ipv6").inventories]
    guide, ipv6 = (yaml.safe_load(path.read_text())["container_build_args"] for path in both)
    address = f"http://[{shapes.read('ipv6').rails[0].gateway6}]:{gateway.PORT}"
    assert ipv6 == {**guide, "http_proxy": address, "https_proxy": address}
