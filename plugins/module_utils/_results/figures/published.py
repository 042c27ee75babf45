# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures that others printed, to stand beside measured ones. None was measured here; none is a threshold.

They are as printed, with the doubts that a reader of the source would have. Rates in images/s, bandwidths in GB/s.

Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
"""

from __future__ import annotations

from typing import Any, Mapping

MARK = "published, not measured here"
SOURCES: Mapping[str, str] = {
    "guide": (
        "NVIDIA, Multi-Node Training on VMware vSphere with RDMA and ATS (NVIDIA AI Enterprise deployment guide), "
        "'Interpreting the results': 4 VMs with one A100 each"
    ),
    "dlperf": (
        "Oneflow-Inc/DLPerf, README of the MXNet ResNet50 v1b test: 8 x V100-SXM2-16GB per node, MXNet 1.6, "
        "Horovod 0.19.5, NCCL 2.7.3, real ImageNet, median of 5 runs"
    ),
    "mxnet-bandwidth": "apache/mxnet, tools/bandwidth README: push and pull of a network's gradients, median of 5",
    "mxnet-perf": "apache/mxnet, docs perf.md: MXNet commit 0a03417, CUDNN 5.1, one device",
}

# (name, nodes, ranks, precision, batch per rank, images/s as text, images/s per rank or None, note, source)
TRAINING: tuple[tuple[str, int, int, str, int, str, float | None, str, str], ...] = (
    (
        "guide, 4 VMs",
        4,
        4,
        "fp16",
        512,
        "8400.71 (printed)",
        None,
        "its own ranks add up to 6655.8, and 20.8 % apart is no result",
        "guide",
    ),
    ("MXNet, K80", 1, 1, "not told", 32, "45.52", 45.52, "", "mxnet-perf"),
    ("MXNet, M40", 1, 1, "not told", 32, "90.74", 90.74, "", "mxnet-perf"),
    ("MXNet, P100", 1, 1, "not told", 32, "181.53", 181.53, "", "mxnet-perf"),
)

# precision, batch -> [(nodes, GPUs per node, median images/s)]
DLPERF: Mapping[tuple[str, int], tuple[tuple[int, int, float], ...]] = {
    ("fp32", 128): ((1, 1, 384.19), (1, 2, 749.04), (1, 4, 1494.58), (1, 8, 2556.03), (2, 8, 4855.34), (4, 8, 9579.74)),
    ("fp16", 256): (
        (1, 1, 833.65),
        (1, 2, 1373.55),
        (1, 4, 2331.91),
        (1, 8, 2908.88),
        (2, 8, 5451.27),
        (4, 8, 10565.55),
    ),
}

# (network, path, ranks, megabytes, median GB/s per GPU, note)
BANDWIDTH: tuple[tuple[str, str, int, float, float, str], ...] = (
    ("resnet-200", "kvstore device", 2, 257.991328, 11.123614, ""),
    ("resnet-200", "kvstore device", 8, 257.991328, 4.499330, ""),
    ("resnet-200", "kvstore local", 8, 257.991328, 1.552567, "through host memory"),
    ("inception-v3", "kvstore device, sgd", 8, 95.200544, 2.997555, ""),
    ("resnet-200", "kvstore dist_device_sync", 8, 257.991328, 1.528395, "1 server; counts local GPUs only"),
    ("resnet-200", "kvstore dist_device_sync", 8, 257.991328, 1.798965, "4 servers; counts local GPUs only"),
)

# device -> {batch: images/s} of ResNet-50, forward only
SCORING: Mapping[str, Mapping[int, float]] = {
    "C4.8xlarge": {1: 46.03, 2: 52.27, 4: 67.45, 8: 69.26, 16: 68.94, 32: 67.69},
    "K80": {1: 70.94, 2: 92.28, 4: 116.68, 8: 129.37, 16: 160.40, 32: 167.12},
    "M40": {1: 126.90, 2: 202.17, 4: 266.53, 8: 317.20, 16: 335.62, 32: 373.35},
    "P100": {1: 162.27, 2: 278.02, 4: 423.63, 8: 529.34, 16: 647.43, 32: 713.17},
}


def scaling_results() -> list[dict[str, Any]]:
    """In the shape of a benchmark's result file: the published medians as one repeat each."""
    return [
        {"nodes": nodes, "gpus_per_node": gpus, "precision": precision, "batch": batch, "repeats": [median]}
        for (precision, batch), cases in DLPERF.items()
        for nodes, gpus, median in cases
    ]
