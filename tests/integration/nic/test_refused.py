"""What the role guest refuses before it changes anything: one play, in which one throw-away disk is a host once per
wrong setting."""

from __future__ import annotations

from typing import Any, Iterator

import pytest

from tests.integration.nic.conftest import why_not
from tests.integration.nic.media import KERNEL_PACKAGE, OFED_NEW, SYSTEM
from tests.integration.nic.profile_node import DRIVER_ALONE, Node
from tests.integration.nic.throwaway import disk
from tests.unit.nic.twin import TOOLS

ZEROS = "sha256:" + "0" * 64
OFED: dict[str, Any] = {
    "guest_ofed_profile": "guide",
    "guest_ofed_version": OFED_NEW,
    "guest_ofed_system": SYSTEM,
    "guest_ofed_url": "file:///nonexistent/ofed.tgz",
    "guest_ofed_checksum": ZEROS,
}
ARCHIVE = {"url": "file:///nonexistent/nv.tgz", "checksum": ZEROS}
NV: dict[str, Any] = {
    **OFED,
    "guest_peer_memory": "nv_peer_memory",
    "guest_nv_peer_memory": ARCHIVE,
}
DEB: dict[str, Any] = {
    "guest_ofed_profile": "current",
    "guest_doca_source": "deb",
    "guest_doca_deb_url": "file:///nonexistent/doca.deb",
    "guest_doca_deb_checksum": ZEROS,
}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "guide_without_a_source": ({"guest_ofed_profile": "guide"}, "guest_ofed_checksum"),
    "guide_for_another_system": (
        {**OFED, "guest_ofed_system": "ubuntu20.04"},
        "guest_ofed_system is ubuntu20.04 and this is Debian",
    ),
    "current_without_a_source": (
        {"guest_ofed_profile": "current"},
        "guest_doca_repository, guest_doca_key_url, guest_doca_key_checksum",
    ),
    "current_without_a_checksum": ({**DEB, "guest_doca_deb_checksum": ""}, "needs guest_doca_deb_checksum"),
    "nv_peer_memory_with_current": (
        {**NV, **DEB},
        "needs guest_ofed_profile guide (it is current",
    ),
    "nv_peer_memory_without_a_checksum": (
        {**NV, "guest_nv_peer_memory": {**ARCHIVE, "checksum": ""}},
        "guest_nv_peer_memory.checksum as sha256:DIGEST (it is empty)",
    ),
    "nv_peer_memory_that_does_not_build": (
        {**NV, "guest_nv_peer_memory": {**ARCHIVE, "version": "1.2-0"}},
        "1.2-0 with MLNX_OFED 5.2-2.2.4.0; up to 5.2 that is 1.1-0",
    ),
    "interface_without_rdma": ({"guest_mtu": 9000, "guest_interfaces": ["lo"]}, "lo has no RDMA device"),
    "mtu_90": ({"guest_mtu": 90, "guest_interfaces": ["lo"]}, "1500 to 9900"),
    "pfc_3": ({"guest_qos_enabled": True, "guest_qos_pfc": "3"}, "guest_qos_pfc is 3"),
    "tos_without_pfc": ({"guest_qos_enabled": True, "guest_qos_tos": 136}, "goes to priority 4"),
    "ats_on": ({"guest_ats_state": "on"}, "guest_ats_state"),
}


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[bool, int, str]]]:
    if why_not():
        pytest.skip(why_not())
    place = tmp_path_factory.mktemp("refused")
    shared = place / "shared"
    shared.mkdir()
    with disk(place / "disk", shared) as made:
        node = Node(shared, made)
        made.run("rm", "-f", str(TOOLS / "ofed_info"))
        before = (node.rack.directory / "nic.json").read_bytes()
        yield node.heard({name: {**DRIVER_ALONE, **variables} for name, (variables, _words) in WRONG.items()})
        assert (node.rack.directory / "nic.json").read_bytes() == before
        assert not made.exists("/var/cache/rocemesh")
        assert not made.exists("/etc/apt/preferences.d/rocemesh-no-firmware")
        assert made.version(KERNEL_PACKAGE) == ""


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_setting_is_refused_with_its_reason_before_anything_is_changed(
    heard: dict[str, tuple[bool, int, str]], case: str
) -> None:
    failed, changed, words = heard[case]
    assert failed and changed == 0, words
    assert WRONG[case][1] in words
