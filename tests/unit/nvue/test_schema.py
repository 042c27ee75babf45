"""What we send and what the simulated switch answers, against NVIDIA's schema of 5.0 to 5.18 (package nvueschema)."""

from __future__ import annotations

import dataclasses
import os
import sys
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._nvue.plan import Wanted

from lab.nvue import fixtures, schema
from lab.nvue.tree import at
from tests.unit.nvue.harness import WANTED, Twin, run

LONG = bool(os.environ.get("ROCEMESH_LONG_TESTS"))
ALL = [".".join(map(str, release)) for release in schema.RELEASES]
# Loading a schema takes half a second: without ROCEMESH_LONG_TESTS those in which something of ours is respelled.
RELEASES = ALL if LONG else ["5.0", "5.2", "5.4", "5.11", "5.12", "5.14", "5.15", "5.18"]
# Every option that reaches the switch, and every way in which a port of the factory state has to be released.
REQUESTS = {
    "lossless": WANTED,
    "lossy": dataclasses.replace(WANTED, mode="lossy"),
    "absent": dataclasses.replace(WANTED, mode=None),
    "svi": dataclasses.replace(WANTED, svi=True),
    "another-bridge": dataclasses.replace(WANTED, svi=True, domain="br_storage"),
    "trunk": dataclasses.replace(WANTED, ports=("swp31",), convertible=None, strangers=None),
    "routed": dataclasses.replace(WANTED, ports=("swp28",), convertible=None, strangers=None),
    "no-vlan": Wanted(mode="lossless", ports=("swp1",), mtu=9000),
}
EVERYTHING = RELEASES if LONG else ["5.0", "5.15"]
SAMPLE = ("svi", "another-bridge", "absent")


@pytest.fixture(scope="module", autouse=True)
def _give_memory_back() -> Iterator[None]:
    """Nineteen schemas take 400 MB."""
    yield
    schema.of_release.cache_clear()
    for name in [name for name in sys.modules if name.startswith("nvueschema.models.v")]:
        del sys.modules[name]


class Recorded(Twin):
    """A twin that remembers every request with its answer."""

    def __init__(self, release: str) -> None:
        super().__init__(release=release + ".0")
        self.exchanges: list[tuple[str, str, Any, int, Any]] = []
        handle = self.api.handle

        def recording(method: str, target: str, body: Any) -> tuple[int, Any]:
            status, answer = handle(method, target, body)
            self.exchanges.append((method, target, body, status, answer))
            return status, answer

        self.api.handle = recording  # type: ignore[method-assign]


def problems_of(exchanges: list[tuple[str, str, Any, int, Any]], known: schema.Schema) -> list[str]:
    """Configuration that was sent or answered, and that the release's schema refuses."""
    found = []
    for method, target, body, status, answer in exchanges:
        parts = urllib.parse.urlsplit(target)
        path = [part for part in parts.path[len("/nvue_v1") :].split("/") if part]
        about_config = "rev" in urllib.parse.parse_qs(parts.query) and path[:1] != ["revision"] and status < 300
        trees = [tree for tree in (body, answer) if about_config and tree]
        for tree in trees:
            for key in reversed(path):
                tree = {key: tree}  # noqa: PLW2901 - the branch becomes a whole tree
            found += [f"{method} {target}: {problem}" for problem in known.problems(tree)]
    return found


@pytest.mark.parametrize("release", RELEASES)
def test_every_patch_and_every_answer_of_every_release_is_of_its_schema(release: str) -> None:
    known = schema.of_release(tuple(map(int, release.split("."))))
    sent = []
    for name in REQUESTS if release in EVERYTHING else SAMPLE:
        request = REQUESTS[name]
        twin = Recorded(release)
        if request.domain != "br_default":
            twin.switch.somebody_configures({"bridge": {"domain": {request.domain: {"type": "vlan-aware"}}}})
        if request.mode is None:
            run(twin)
        run(twin, request)
        assert problems_of(twin.exchanges, known) == [], name
        operational = twin.api.handle("GET", "/nvue_v1/qos/roce", None)[1]
        assert known.knows("qos", "roce", "state") == ("state" in operational), name
        sent += [body for method, target, body, *_rest in twin.exchanges if method == "PATCH" and "rev=" in target]
    assert {"qos", "bridge", "interface"} <= {key for body in sent for key in body}


@pytest.mark.parametrize("release", RELEASES)
def test_the_lab_knows_the_spelling_of_each_release(release: str) -> None:
    """Its factory state, and fourteen ways to use a port; the other spelling is refused."""
    version = tuple(map(int, release.split(".")))
    known, other = schema.of_release(version), (5, 14) if version >= fixtures.RESPELLED else (5, 15)
    for name, tree in {"factory": fixtures.factory(version, 32), **fixtures.uses(version, "swp8")}.items():
        assert known.problems(tree) == [], name
    foreign = fixtures.uses(other, "swp8")
    refused = {name for name, tree in foreign.items() if known.problems(tree)}
    assert {"routed", "routed-ipv6", "vrf", "bgp-unnumbered", "ospf", "pim", "mlag-bond"} <= refused


WRONG = [
    ("unknown-key", {"interface": {"swp1": {"bond0": {}}}}, "Additional properties are not allowed ('bond0' was"),
    ("old-spelling", {"interface": {"swp1": {"ip": {"vrf": "RED"}}}}, "('ip' was unexpected) - 'interface.swp1'"),
    ("text-for-number", {"interface": {"swp1": {"link": {"mtu": "9216"}}}}, "'9216' is not of type 'integer'"),
    ("too-small", {"interface": {"swp1": {"link": {"mtu": 100}}}}, "100 is less than the minimum of 552"),
    ("too-large", {"interface": {"swp1": {"link": {"mtu": 9217}}}}, "9217 is greater than the maximum of 9216"),
    ("no-such-mode", {"qos": {"roce": {"mode": "fast"}}}, "'fast' is not one of ['lossy', 'lossless',"),
    ("old-switch", {"qos": {"roce": {"enable": "on"}}}, "('enable' was unexpected) - 'qos.roce'"),
    ("no-such-vlan", {"interface": {"swp1": {"bridge": {"domain": {"b": {"access": 0}}}}}}, "is not valid under any"),
    ("number-for-object", {"interface": {"swp1": 5}}, "5 is not of type 'object' - 'interface.swp1'"),
    ("list", ["interface"], "is not of type 'object'"),
]


@pytest.mark.parametrize(("tree", "words"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_the_lab_refuses_what_a_device_refuses_and_keeps_nothing_of_it(tree: Any, words: str) -> None:
    twin = Twin(release="5.16.0")
    before = twin.switch.revisions[twin.switch.new_revision()].config
    status, answer = twin.api.handle("PATCH", "/nvue_v1/?rev=2", tree)
    assert status == 400 and answer["title"] == "Bad Request" and words in answer["detail"]
    assert twin.switch.revisions["2"].config == before


@pytest.mark.parametrize("release", ["4.4.0", "5.19.0"])
def test_a_release_without_schema_is_not_played(release: str) -> None:
    with pytest.raises(ValueError, match=r"there are 5\.0 to 5\.18"):
        Twin(release=release)


def test_an_unchanged_revision_is_never_applied() -> None:
    twin = Twin()
    name = twin.switch.new_revision()
    twin.switch.change_state(name, {"state": "apply"})
    twin.clock.sleep(1000)
    assert twin.states()[name] == "pending"


def test_the_address_of_a_port_in_a_bridge_stays_on_paper() -> None:
    """As ifupdown2 does it: the configuration has both, the kernel only the bridge. Nothing fails."""
    twin = Twin(release="5.16.0")
    twin.switch.somebody_configures(fixtures.uses((5, 16), "swp8")["routed"])
    assert at(twin.switch.in_force, "interface", "swp8", "ipv4", "address")
    twin.switch.somebody_configures({"interface": {"swp8": {"bridge": {"domain": {"br_default": {}}}}}})
    assert at(twin.applied, "interface", "swp8", "ipv4", "address")
    assert not at(twin.switch.in_force, "interface", "swp8", "ipv4", "address")
