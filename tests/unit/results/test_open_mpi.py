"""Open MPI 4 and 5 are told the same thing in their own words; what else calls itself mpirun is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ansible_collections.rocemesh.multinode.plugins.module_utils._layer import ParseError, RefusedError
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.launch.mpirun import (
    Node,
    command,
    major_of,
    options,
    renamed,
)
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers import answers
from ansible_collections.rocemesh.multinode.plugins.module_utils._results.readers.tf_cnn import read

from tests.unit.results.logs import FIXTURES

HOSTS = (Node("gpu01", "192.0.2.11"), Node("gpu02", "192.0.2.12"))
FOUR, FIVE = "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n", "5.0.11"


@pytest.mark.parametrize(
    ("text", "major"),
    [
        (FOUR, 4),
        ("mpirun (Open MPI) 5.0.11\n\nReport bugs to https://www.open-mpi.org/community/help/\n", 5),
        ("mpirun (Open MPI) 4.1.2rc4", 4),
        ("mpirun (Open MPI) 4.1.7a1", 4),
        ("5.0.11", 5),
        ("v4.1", 4),
    ],
)
def test_versions_as_they_are_printed(text: str, major: int) -> None:
    assert major_of(text) == major


@pytest.mark.parametrize(
    "text",
    [
        "",
        "HYDRA build details:\n    Version: 4.1.2\n",
        "Intel(R) MPI Library for Linux* OS, Version 2021.8",
        "5",
        "4.1 x",
        "Open MPI v5.0.8",
    ],
)
def test_another_mpirun_is_not_taken_for_open_mpi(text: str) -> None:
    with pytest.raises(ParseError, match="an Open MPI"):
        major_of(text)


@pytest.mark.parametrize("text", ["mpirun (Open MPI) 3.1.6", "mpirun (Open MPI) 6.0.0", "1.10"])
def test_a_version_that_was_never_tried_is_refused_by_its_number(text: str) -> None:
    with pytest.raises(RefusedError, match=re.escape(text.rsplit(maxsplit=1)[-1])):
        major_of(text)


@pytest.mark.parametrize(
    ("four", "five", "option"),
    [
        ("oob_tcp_if_include", "prte_if_include", "--prtemca"),
        ("oob_tcp_if_exclude", "prte_if_exclude", "--prtemca"),
        ("plm_rsh_agent", "plm_ssh_agent", "--prtemca"),
        ("plm_rsh_args", "plm_ssh_args", "--prtemca"),
        ("plm_rsh_no_tree_spawn", "plm_ssh_no_tree_spawn", "--prtemca"),
        ("plm_rsh_num_concurrent", "plm_ssh_num_concurrent", "--prtemca"),
        ("orte_keep_fqdn_hostnames", "prte_keep_fqdn_hostnames", "--prtemca"),
        ("routed_radix", "rml_base_radix", "--prtemca"),
        ("ras_base_verbose", "ras_base_verbose", "--prtemca"),
        ("btl_tcp_if_include", "btl_tcp_if_include", "--mca"),
        ("btl", "btl", "--mca"),
        ("pml", "pml", "--mca"),
        ("coll_hcoll_enable", "coll_hcoll_enable", "--mca"),
        ("hwloc_base_verbose", "hwloc_base_verbose", "--mca"),
        ("if_base_verbose", "if_base_verbose", "--mca"),
        ("ptl_base_verbose", "ptl_base_verbose", "--pmixmca"),
        ("pmix_base_verbose", "pmix_base_verbose", "--pmixmca"),
    ],
)
def test_each_parameter_has_the_name_and_the_option_of_the_version(four: str, five: str, option: str) -> None:
    version4, version5 = major_of(FOUR), major_of(FIVE)
    for given in (four, five):
        assert renamed(given, version4) == four and renamed(given, version5) == five
        assert options({given: 1}, version4) == ["-mca", four, "1"]
        assert options({given: 1}, version5) == [option, five, "1"]


def test_one_parameter_under_both_names_counts_once_and_the_later_wins() -> None:
    wanted = {"oob_tcp_if_include": "192.0.2.0/24", "btl": "self", "prte_if_include": "ens1"}
    assert options(wanted, major_of(FIVE)) == ["--prtemca", "prte_if_include", "ens1", "--mca", "btl", "self"]


def test_command_line_for_open_mpi_5() -> None:
    argv = command(HOSTS, ["hostname"], "192.0.2.0/24", env={"A": True}, mca={"plm_rsh_args": "-q"}, version=FIVE)
    assert argv == [
        "mpirun", "--allow-run-as-root", "--output", "tag", "-H", "192.0.2.11:1,192.0.2.12:1", "-np", "2",
        "--bind-to", "none", "--map-by", "slot", "--mca", "btl_tcp_if_include", "192.0.2.0/24",
        "--prtemca", "prte_if_include", "192.0.2.0/24", "--mca", "btl_tcp_disable_family", "6",
        "--prtemca", "oob_tcp_disable_ipv6_family", "1",
        "--prtemca", "plm_ssh_args", "-q", "-x", "A=1", "hostname",
    ]  # fmt: skip


def test_no_option_of_open_mpi_5_has_several_letters_after_one_dash() -> None:
    """5.0.11 takes `-bind-to none` for the program `none`; of those only -np is its own."""
    many = [Node(f"n{number}", f"198.51.100.{number}") for number in range(1, 67)]
    argv = command(many, ["true"], "198.51.100.0/24", env={"B": "c"}, mca={"btl": "tcp,self"}, version=FIVE)
    assert [word for word in argv if re.match(r"-[a-z]{2,}", word)] == ["-np"]


@pytest.mark.parametrize(("count", "flat"), [(64, False), (65, True)])
@pytest.mark.parametrize(("version", "name"), [(FOUR, "plm_rsh_no_tree_spawn"), (FIVE, "plm_ssh_no_tree_spawn")])
def test_workers_never_have_to_start_workers(count: int, flat: bool, version: str, name: str) -> None:
    many = [Node(f"n{index}", f"198.51.100.{index}") for index in range(1, count + 1)]
    assert (name in command(many, ["hostname"], "198.51.100.0/24", version=version)) is flat


def test_wrong_versions_reach_the_caller_before_anything_is_built() -> None:
    with pytest.raises(ParseError):
        command(HOSTS, ["hostname"], "192.0.2.0/24", version="sh: mpirun: not found")


def test_the_blank_that_open_mpi_5_puts_after_its_tag_changes_no_figure() -> None:
    guide = (FIXTURES / "guide_sample.txt").read_text().splitlines()
    texts: dict[str, Any] = {
        tag: "".join(f"[1,{number % 4}]<stdout>:{tag}{line}\n" for number, line in enumerate(guide))
        for tag in ("", " ")
    }
    assert answers.read(texts[" "]) == answers.read(texts[""])
    assert read(texts[" "]).as_dict() == read(texts[""]).as_dict()
