"""Nothing of the machine that the collection was written on may stand in it: no package index, mirror, or path."""

from __future__ import annotations

import ipaddress
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse
from typing import Iterable, Iterator

import pytest

from tests.unit.roles.collection import ROOT

_URL = re.compile(r"(?:https?|file|ftp)://[^\s'\",\]]+")
_PIP_VARIABLES = (
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_TRUSTED_HOST",
    "UV_INDEX_URL",
    "GOPROXY",
)


def repository_files() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=False,
        capture_output=True,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [name for name in listed.stdout.decode().split("\0") if name]


def is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in ("", "localhost") or "." not in host


def names_in(settings: str) -> Iterator[str]:
    """Hosts and directories that a package manager's settings point to."""
    for url in _URL.findall(settings):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme == "file":
            yield from directories([parts.path])
        elif not is_local(parts.hostname or ""):
            yield parts.hostname or ""
    for line in settings.splitlines():
        key, _equals, value = line.partition("=")
        if "trusted-host" in key or "trusted_host" in key.lower():
            yield from (host for host in value.strip("' ").split() if not is_local(host.partition(":")[0]))
        if "find-links" in key or "find_links" in key.lower():
            yield from directories(word for word in value.strip("' ").split() if word.startswith("/"))


def directories(paths: Iterable[str]) -> Iterator[str]:
    """Those that name this machine: "/" and "/usr" are everybody's."""
    for path in paths:
        if len(pathlib.PurePath(path).parts) > 2:
            yield path.rstrip("/")


def machine() -> set[str]:
    found = set()
    pip = subprocess.run([sys.executable, "-m", "pip", "config", "list"], check=False, capture_output=True, text=True)
    texts = [pip.stdout, *(f"{name.lower()}={os.environ[name]}" for name in _PIP_VARIABLES if name in os.environ)]
    apt = pathlib.Path("/etc/apt")
    for path in [apt / "sources.list", *apt.glob("sources.list.d/*.list"), *apt.glob("sources.list.d/*.sources")]:
        if path.is_file() and os.access(path, os.R_OK):
            texts.append(path.read_text(errors="replace"))
    for path in apt.glob("apt.conf.d/*"):
        if path.is_file() and os.access(path, os.R_OK):
            texts.append("\n".join(line for line in path.read_text(errors="replace").splitlines() if "Proxy" in line))
    for text in texts:
        found |= set(names_in(text))
    prefix = pathlib.Path(sys.prefix)
    found |= set(directories([str(ROOT), *([] if prefix.is_relative_to("/usr") else [str(prefix)])]))
    return found


def mentions(text: bytes, name: str) -> bool:
    """As a whole word: a host or path that only begins or ends like it is another one."""
    return re.search(rb"(?<![\w.-])" + re.escape(name.encode()) + rb"(?![\w-])", text) is not None


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ("global.index-url='https://user:pw@pypi.corp.example/simple'", {"pypi.corp.example"}),
        ("global.extra-index-url='file:///srv/mirror/simple http://127.0.0.1:3141/root'", {"/srv/mirror/simple"}),
        ("global.find-links='/srv/wheels'", {"/srv/wheels"}),
        ("pip_trusted_host=mirror.corp.example localhost", {"mirror.corp.example"}),
        ("Types: deb\nURIs: http://mirror.corp.example/debian", {"mirror.corp.example"}),
        ("deb [arch=amd64] https://apt.corp.example/debian trixie main", {"apt.corp.example"}),
        ("goproxy=https://go.corp.example,direct", {"go.corp.example"}),
    ],
)
def test_names_of_a_machine_are_read_from_its_settings(settings: str, names: set[str]) -> None:
    assert set(names_in(settings)) == names


def test_a_name_is_found_as_a_word() -> None:
    assert mentions(b"see https://apt.corp.example/debian", "apt.corp.example")
    assert mentions(b'"/srv/build/x"', "/srv/build")
    assert not mentions(b"/srv/builder", "/srv/build") and not mentions(b"x.apt.corp.example", "apt.corp.example")


def test_no_file_names_an_index_a_mirror_or_a_path_of_this_machine() -> None:
    names = machine()
    assert str(ROOT) in names
    found = []
    for name in repository_files():
        path = ROOT / name
        if path.is_symlink():
            text = os.readlink(path).encode()
        elif path.is_file():
            text = path.read_bytes()
        else:
            continue  # deleted, and not yet in the index
        found += [f"{name}: {each}" for each in sorted(names) if mentions(text, each)]
    assert found == []
