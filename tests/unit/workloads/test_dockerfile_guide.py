"""Dockerfile.guide against what the guide has you write; what differs on purpose is in docs/errata.md."""

from __future__ import annotations

import pathlib
import re

FILE = pathlib.Path(__file__).parents[3] / "workloads/multinode/Dockerfile.guide"
# One instruction each, its continuation lines joined.
INSTRUCTIONS = [
    " ".join(line.split())
    for line in re.sub(r"\\\n", " ", FILE.read_text()).splitlines()
    if line.strip() and not line.startswith("#")
]
RUNS = [line[4:] for line in INSTRUCTIONS if line.startswith("RUN ")]
# 61 names; build-essential, cmake, git, numactl and pciutils stand twice in the guide.
PACKAGES = set(
    """
    apt-utils autoconf automake autotools-dev bc bison build-essential ca-certificates chrpath cmake curl debhelper dkms
    dmidecode dpatch ethtool expect-dev flex gfortran git graphviz hwloc iperf3 iproute2 iputils-ping kmod
    landscape-common libelf1 libglib2.0-0 libltdl-dev libmnl-dev libmnl0 libnl-3-200 libnl-3-dev libnl-route-3-200
    libnl-route-3-dev libnuma1 libpci-dev lsb-release lsof m4 make ncat net-tools numactl openssh-server pciutils perl
    pkg-config python-libxml2 quilt swig tcl tcsh tk tree udev usbutils vim wget zip
""".split()  # noqa: SIM905
)


def run_with(words: str) -> list[str]:
    """The commands of the one RUN that has these words."""
    (found,) = [line for line in RUNS if words in line]
    return [command.strip() for command in found.split("&&")]


def test_the_base_image_is_the_guides() -> None:
    assert INSTRUCTIONS[:2] == ["ARG BASE_IMAGE=nvcr.io/nvaie/tensorflow:21.07-tf1-py3", "FROM ${BASE_IMAGE}"]


def test_versions_are_the_guides() -> None:
    for line in ("ARG MOFED_VERSION=5.2-2.2.4.0", "ARG OS_VERSION=ubuntu20.04", "ARG PLATFORM=x86_64"):
        assert INSTRUCTIONS.count(line) == 1
    assert "ENV MOFED_VERSION=${MOFED_VERSION} OS_VERSION=${OS_VERSION} PLATFORM=${PLATFORM}" in INSTRUCTIONS


def test_python_packages_are_the_guides() -> None:
    assert [line for line in RUNS if "pip3" in line] == ["pip3 install --no-cache-dir absl-py"]


def test_apt_takes_the_guides_options() -> None:
    update, install, _clean = run_with("apt-get install")
    assert update == "apt-get update"
    assert {word for word in install.split() if word.startswith("-")} == {
        "--yes",
        "--allow-downgrades",
        "--allow-change-held-packages",
        "--no-install-recommends",
    }


def test_packages_are_the_guides() -> None:
    _update, install, _clean = run_with("apt-get install")
    assert sorted(word for word in install.split()[2:] if not word.startswith("-")) == sorted(PACKAGES)
    assert len(PACKAGES) == 61


def test_nothing_that_was_fetched_stays() -> None:
    assert run_with("apt-get install")[-1] == "rm -rf /var/lib/apt/lists/* /etc/ssh/ssh_host_*"
    assert run_with("mlnxofedinstall")[-1] == 'rm -rf "${name}" "${name}.tgz"'


def test_the_driver_is_unpacked_and_installed_as_in_the_guide() -> None:
    name, fetch, checked, unpack, install, _clean = run_with("mlnxofedinstall")
    assert name == "name=MLNX_OFED_LINUX-${MOFED_VERSION}-${OS_VERSION}-${PLATFORM}"
    assert fetch.endswith('"https://content.mellanox.com/ofed/MLNX_OFED-${MOFED_VERSION}/${name}.tgz"')
    assert checked == 'echo "${MOFED_SHA256} ${name}.tgz" | sha256sum --check --strict -'
    assert unpack == 'tar -xf "${name}.tgz"'
    assert install == '"${name}/mlnxofedinstall" --user-space-only --without-fw-update --force'


def test_sources_are_the_guides_repositories_and_branches() -> None:
    clones = [command for line in RUNS for command in line.split(" && ") if command.startswith("git clone")]
    assert clones == [
        "git clone --branch cnn_tf_v1.15_compatible https://github.com/tensorflow/benchmarks.git",
        "git clone https://github.com/NVIDIA/nccl-tests",
        "git clone https://github.com/linux-rdma/perftest",
    ]


def test_nccl_tests_are_built_with_mpi() -> None:
    """Without it mpirun starts n jobs of one process, which all print good figures."""
    assert run_with("nccl-tests")[-1] == "make -C nccl-tests MPI=1 MPI_HOME=/usr/local/mpi"


def test_perftest_is_built_with_cuda() -> None:
    assert run_with("perftest")[2:] == [
        "cd perftest",
        "./autogen.sh",
        "CUDA_H_PATH=/usr/local/cuda/include/cuda.h ./configure",
        "make install",
    ]


def test_the_compatibility_check_of_cuda_is_repeated() -> None:
    assert "rm -f ${_CUDA_COMPAT_PATH}/.*.checked" in RUNS


def test_the_last_folder_is_the_guides() -> None:
    assert [line for line in INSTRUCTIONS if line.startswith("WORKDIR")] == ["WORKDIR /workspace", "WORKDIR /test"]
