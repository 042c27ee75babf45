# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which library was loaded: what the dynamic loader says of symbols and their versions, and releases of NCCL that
somebody names beside each other. Pure data."""

from __future__ import annotations

import re
from typing import Match

from ..model import CANDIDATE, FACT, rule, sign

_RELEASE = re.compile(r"\d+\.\d+(?:\.\d+)?")
# Libraries of collectives and their plugins.
_LIBRARY = r"(?:[NR]CCL|lib[nr]ccl\S*|aws-ofi-[nr]ccl|nccl-rdma-sharp\S*)"


def _two_releases(match: Match[str]) -> bool:
    found = [_RELEASE.match(match[name]) for name in ("first", "second")]
    one, other = (entry.group().split(".") for entry in found if entry)
    return one[: min(len(one), len(other))] != other[: min(len(one), len(other))]


SIGNS = (
    # ld.so(8): "FILE: undefined symbol: NAME", "FILE: version `NAME' not found (required by FILE)".
    sign(
        "loader_nccl",
        r"lib[nr]ccl[\w.-]*\.so\S*:? .{0,40}undefined symbol|undefined symbol:? .{0,60}lib[nr]ccl"
        r"|version `\w[\w.]*' not found \(required by [^)]*(?:lib[nr]ccl|nccl-net)|undefined symbol: p?[nr]ccl\w+",
    ),
    sign(
        "loader_driver",
        r"undefined symbol: (?:cu(?!blas|sparse|dnn|fft|rand|solver|tensor)[a-z]\w+|nvml\w+)"
        r"|(?:libcuda|libnvidia-\w+)\.so\S*: (?:undefined symbol|file too short"
        r"|wrong ELF class)",
    ),
    sign(
        "loader_base",
        r"version `(?:GLIBC|GLIBCXX|CXXABI|OPENSSL)_[\d.]+' not found"
        r"|undefined symbol: (?:_ZN?\w*(?:c10|at|torch)\w*|__\w+_\d|hip[A-Z]\w+|roc\w+|cu(?:blas|sparse|dnn|fft)\w+)",
    ),
    # One program or site with two releases, named in one line.
    sign(
        "two_releases",
        rf"{_LIBRARY}\W{{0,3}}(?:version |plugin |release )?v?(?P<first>\d\.\d+[.\d]*)(?!\+cuda).{{1,90}}"
        rf"{_LIBRARY}\W{{0,3}}(?:version |plugin |release )?v?(?P<second>\d\.\d+[.\d]*)",
        test=_two_releases,
    ),
    sign(
        "built_against",
        r"\b(?:compiled|built|linked) (?:against|with|for) (?:\w+ ){0,2}(?:NCCL|RCCL|libfabric|lib[nr]ccl|libibverbs)\b"
        r".{0,20}\d+\.\d+.{0,60}\b(?:run|runs|running|loaded|loads|installed|found|has|have|ships)\b.{0,40}\d+\.\d+",
    ),
    sign("torch_nccl", r"torch\.cuda\.nccl\.version\(\)", FACT),
    sign("wheel_nccl", r"nvidia-nccl-cu\d+\b", FACT),
)

RULES = (
    rule(
        "loader_nccl",
        "loader_nccl",
        CANDIDATE,
        "nccl_mixed container_libraries application_failed",
        "ld.so(8): another release of the library was loaded than what wants it was built with",
    ),
    rule(
        "loader_driver",
        "loader_driver",
        CANDIDATE,
        "driver_too_old container_image_cuda nvml_mismatch",
        "ld.so(8): libcuda and libnvidia-ml come with the driver of the host",
    ),
    rule(
        "loader_base",
        "loader_base !loader_nccl",
        CANDIDATE,
        "container_libraries application_failed nccl_mixed",
        "ld.so(8): a binary that was built in another image or for another release of its framework",
    ),
    rule(
        "two_releases",
        "two_releases|built_against",
        CANDIDATE,
        "nccl_mixed nccl_bug",
        "NCCL release notes: two releases that somebody compares or that meet in one job",
    ),
    rule(
        "torch_and_wheel",
        "torch_nccl wheel_nccl",
        CANDIDATE,
        "nccl_mixed container_libraries",
        "PyTorch: torch.cuda.nccl.version() is what was loaded, pip what is installed",
    ),
)
