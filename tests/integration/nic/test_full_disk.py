"""A disk that is too small, before and in the middle of an installation: real file systems of few kilobytes."""

from __future__ import annotations

import contextlib
import http.server
import pathlib
import re
import threading
from typing import Any, Iterator

from tests.integration.nic.media import DOCA_NEW, OFED_NEW, SYSTEM, TOOLS_SIZE
from tests.integration.nic.profile_node import Node
from tests.integration.nic.throwaway import checksum

CACHE, TOOLS = "/var/cache/rocemesh", "/opt/mellanox"
SMALL, ENOUGH = 256 * 1024, 64 * 1024 * 1024
assert SMALL < TOOLS_SIZE < ENOUGH
MIDDLE = re.compile(
    r"no space left on device in step \"([^\"]+)\": (\S+?)(?:/SIMULATED \(mount point \S+\))? has (\d+) of (\d+) bytes"
)


@contextlib.contextmanager
def mirror(directory: pathlib.Path, tells_length: bool) -> Iterator[str]:
    """A mirror on the loopback device, which tells the size of a file or, as some proxies, does not."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(directory))

        def send_header(self, keyword: str, value: str) -> None:
            if tells_length or keyword.lower() != "content-length":
                super().send_header(keyword, value)

        def log_message(self, *_words: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def fat_archive(node: Node) -> dict[str, Any]:
    """MLNX_OFED whose archive does not shrink: larger than the small file system."""
    options = node.archive()
    name = f"MLNX_OFED_LINUX-{OFED_NEW}-{SYSTEM}-x86_64"
    script = 'cd "$1" && tar xzf "$2.tgz" && head -c 400000 /dev/urandom > "$2/ballast"'
    script += ' && tar czf "$2.tgz" "$2" && rm -r "$2"'
    assert node.disk.run("sh", "-c", script, "sh", str(node.shared), name).returncode == 0
    return {**options, "guest_ofed_checksum": checksum(node.shared / f"{name}.tgz")}


def assert_names_the_full_disk(output: str, place: str, size: int) -> None:
    found = MIDDLE.search(output)
    assert found, output
    assert (found.group(2), int(found.group(4))) == (place, size)
    # Programs remove what they wrote in vain, so the figure may be all of it.
    assert int(found.group(3)) <= size
    assert "localhost: no space left" in output
    assert "Needed bytes: " in output and "Needed bytes: unknown." not in output and "make space" in output


def test_a_download_that_does_not_fit_is_not_begun(throwaway: Node) -> None:
    options = fat_archive(throwaway)
    throwaway.disk.small(CACHE, SMALL)
    with mirror(throwaway.shared, tells_length=True) as url:
        options["guest_ofed_url"] = f"{url}/{options['guest_ofed_url'].rsplit('/', 1)[1]}"
        output = throwaway.refused(**options)
        found = re.search(
            rf"too little free space: {CACHE} has (\d+) of {SMALL} bytes free, needed are (\d+): \2 for MLNX", output
        )
        assert found, output
        archive = throwaway.shared / options["guest_ofed_url"].rsplit("/", 1)[1]
        assert int(found.group(2)) == archive.stat().st_size > SMALL
        assert throwaway.disk.run("find", CACHE, "-type", "f").stdout == ""

        # room for the archive and not for what is in it
        throwaway.disk.small(CACHE, archive.stat().st_size + 300_000)
        assert re.search(rf"needed are (\d+): \1 for unpacking {archive.name}", throwaway.refused(**options))
        assert throwaway.disk.version("ofed-scripts") == ""

        throwaway.disk.small(CACHE, ENOUGH)
        throwaway.must(**options)
        assert "changed=0 " in throwaway.must(**options)


def test_a_disk_that_fills_up_in_the_middle_of_a_download_is_named(throwaway: Node) -> None:
    options = fat_archive(throwaway)
    throwaway.disk.small(CACHE, SMALL)
    with mirror(throwaway.shared, tells_length=False) as url:
        options["guest_ofed_url"] = f"{url}/{options['guest_ofed_url'].rsplit('/', 1)[1]}"
        output = throwaway.refused(**options)
        assert_names_the_full_disk(output, CACHE, SMALL)
        assert "tell the size" in output
        assert throwaway.disk.version("ofed-scripts") == ""

        throwaway.disk.small(CACHE, ENOUGH)
        throwaway.must(**options)
        assert throwaway.disk.run("find", CACHE, "-name", "downloading").stdout == ""


def test_guide_a_disk_that_fills_up_under_dpkg_is_named_and_the_next_run_finishes(throwaway: Node) -> None:
    options = throwaway.archive()
    throwaway.disk.small(TOOLS, SMALL)
    output = throwaway.refused(**options)
    assert_names_the_full_disk(output, TOOLS, SMALL)
    assert "free space (mlnxofedinstall ended with 1" in output
    assert not throwaway.whole("5.2-OFED.5.2.2.2.4.1")

    throwaway.disk.small(TOOLS, ENOUGH)
    throwaway.must(**options)
    assert throwaway.whole("5.2-OFED.5.2.2.2.4.1")
    assert "changed=0 " in throwaway.must(**options)


def test_current_a_disk_that_fills_up_under_dpkg_is_named_and_the_next_run_finishes(throwaway: Node) -> None:
    options = throwaway.deb()
    throwaway.disk.small(TOOLS, SMALL)
    output = throwaway.refused(**options)
    assert_names_the_full_disk(output, TOOLS, SMALL)
    assert throwaway.disk.version("doca-ofed") == ""

    throwaway.disk.small(TOOLS, ENOUGH)
    throwaway.must(**options)
    assert throwaway.disk.version("doca-ofed") == DOCA_NEW
    assert throwaway.whole("26.01")
    assert "changed=0 " in throwaway.must(**options)


def test_current_what_apt_says_it_needs_is_compared_before_anything_is_installed(throwaway: Node) -> None:
    options = throwaway.deb(size_kib=10**9)  # a terabyte
    output = throwaway.refused(**options)
    assert re.search(r"little free space: /\S+ .*needed are \d+: .*for unpacking doca-ofed", output), output
    assert throwaway.disk.version("doca-ofed") == throwaway.disk.version("mlnx-ofed-kernel-dkms") == ""
