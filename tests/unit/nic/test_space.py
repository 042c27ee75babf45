"""Room for an installation, and the words of a full disk."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import LayerError

from tests.unit.decisions import decide

DF = "/var/cache/rocemesh\t1000 5000 7 /\n/usr\t 1000 5000 7 /\n/boot\t900 1000 0 /boot\n/tmp\t5 10 - /tmp\n"


def free_space(text: str, needs: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = decide("guest_driver", df=text, needs=needs or [])["space"]
    return found


def need(path: str, size: int, what: str = "it") -> dict[str, Any]:
    return {"path": path, "bytes": size, "what": what}


def test_what_goes_to_one_file_system_is_added_up() -> None:
    assert free_space(DF, [need("/usr", 600), need("/boot", 900)])["shortages"] == []
    assert free_space(DF, [need("/var/cache/rocemesh", 600, "a"), need("/usr", 401, "b")])["shortages"] == [
        "/var/cache/rocemesh (mount point /) has 1000 of 5000 bytes free, needed are 1001: 600 for a and 401 for b"
    ]


def test_the_fullest_place_comes_first_and_a_lack_of_inodes_is_named() -> None:
    assert free_space(DF)["places"] == [
        "/boot has 900 of 1000 bytes free, no free inode",
        "/tmp has 5 of 10 bytes free",
        "/var/cache/rocemesh (mount point /) has 1000 of 5000 bytes free",
    ]


@pytest.mark.parametrize(("text", "needs"), [("/usr\tdf: no such file\n", []), (DF, [need("/opt", 1)])])
def test_no_figures_are_no_guess(text: str, needs: list[dict[str, Any]]) -> None:
    with pytest.raises((LayerError, KeyError)):
        free_space(text, needs)


@pytest.mark.parametrize(
    ("result", "paths"),
    [
        ({"msg": "failed to create temporary content file: [Errno 28] No space left on device"}, []),
        ({"extract_results": {"err": "tar: a/b: Cannot write: No space left on device"}}, []),
        (
            {
                "stderr_lines": [
                    "dpkg: error processing archive /mirror/media/x.deb (--unpack):",
                    " cannot copy extracted data for './opt/mellanox/x' to '/opt/mellanox/x.dpkg-new': failed to write "
                    "(No space left on device)",
                ]
            },
            ["/opt/mellanox"],
        ),
        ({"msg": "E: You don't have enough free space in /var/cache/apt/archives/."}, ["/var/cache/apt/archives"]),
    ],
)
def test_a_full_disk_is_seen_wherever_the_task_says_it(result: dict[str, Any], paths: list[str]) -> None:
    assert decide("guest_driver", failure={"failed": True, **result})["full"] == {"full": True, "paths": paths}


def test_another_failure_is_no_full_disk() -> None:
    asked = {"invocation": {"module_args": {"msg": "No space left on device"}}}
    assert (
        decide("guest_driver", failure={"failed": True, "msg": "E: Unable to locate package", **asked})["full"]["full"]
        is False
    )


@pytest.mark.parametrize(
    ("text", "download", "disk"),
    [
        (
            "Need to get 0 B/1,234 kB of archives.\nAfter this operation, 0 B of additional disk space will be used.\n",
            0,
            0,
        ),
        (
            "Need to get 12.3 MB/20.0 MB of archives.\n"
            "After this operation, 1,234 kB of additional disk space will be used.",
            12_400_000,
            1_235_000,
        ),
        ("Need to get 950 B of archives.\nAfter this operation, 15 kB disk space will be freed.\n", 950, 0),
        ("", 0, 0),
    ],
)
def test_what_apt_asks_for_is_counted_up(text: str, download: int, disk: int) -> None:
    assert decide("guest_driver", apt=text)["room"] == {"download": download, "disk": disk}


WANTED = "5.2-2.2.4.0"


@pytest.mark.parametrize(
    ("info", "package", "unfinished", "state"),
    [
        ("", "", False, "missing"),
        ("", "config-files 5.2-OFED.5.2.2.2.4.1", False, "missing"),
        (f"MLNX_OFED_LINUX-{WANTED}:\n", "", False, "wanted"),
        ("", "installed 5.2-OFED.5.2.2.2.4.1", False, "wanted"),
        ("", "installed 5.2-OFED.5.2.1.0.4.1", False, "other"),
        ("MLNX_OFED_LINUX-5.4-3.0.3.0:\n", "installed 5.4-OFED.5.4.3.0.3.1", False, "other"),
        # ofed_info is there before the driver is
        (f"MLNX_OFED_LINUX-{WANTED}:\n", "half-configured 5.2-OFED.5.2.2.2.4.1", False, "unfinished"),
        (f"MLNX_OFED_LINUX-{WANTED}:\n", "half-installed 5.2-OFED.5.2.2.2.4.1", False, "unfinished"),
        (f"MLNX_OFED_LINUX-{WANTED}:\n", "installed 5.2-OFED.5.2.2.2.4.1", True, "unfinished"),
    ],
)
def test_a_release_counts_only_when_it_is_whole(info: str, package: str, unfinished: bool, state: str) -> None:
    assert (
        decide("guest_driver", ofed=info, ofed_package=package, ofed_wanted=WANTED, ofed_unfinished=unfinished)[
            "release"
        ]["state"]
        == state
    )
