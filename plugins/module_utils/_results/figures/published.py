"""Figures that others printed, to stand beside measured ones. None was measured here; none is a threshold.

They are as printed, with the doubts that a reader of the source would have. Rates in images/s, bandwidths in GB/s.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping

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

BATCHES = (1, 2, 4, 8, 16, 32)
# device -> model -> images/s at each of BATCHES, forward only
SCORING: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "C4.8xlarge": {
        "alexnet": (122.21, 224.83, 295.87, 389.08, 519.87, 626.25),
        "vgg16": (34.23, 51.02, 65.88, 77.78, 85.08, 87.63),
        "inception-bn": (99.24, 138.88, 185.46, 212.96, 222.81, 221.66),
        "inception-v3": (52.16, 66.76, 76.70, 84.00, 85.10, 84.36),
        "resnet50": (46.03, 52.27, 67.45, 69.26, 68.94, 67.69),
        "resnet152": (20.11, 24.82, 28.16, 29.70, 29.11, 28.70),
    },
    "K80": {
        "alexnet": (202.66, 233.76, 367.91, 624.14, 1071.19, 1443.90),
        "vgg16": (70.76, 63.53, 78.16, 119.06, 195.83, 228.96),
        "inception-bn": (74.91, 119.60, 164.41, 195.24, 256.06, 287.93),
        "inception-v3": (42.61, 60.09, 72.30, 79.62, 99.38, 106.43),
        "resnet50": (70.94, 92.28, 116.68, 129.37, 160.40, 167.12),
        "resnet152": (24.87, 34.23, 44.76, 50.96, 66.51, 69.73),
    },
    "M40": {
        "alexnet": (412.09, 743.49, 1155.43, 1606.87, 2070.97, 2694.91),
        "vgg16": (142.10, 212.21, 280.92, 332.76, 400.10, 466.95),
        "inception-bn": (115.89, 205.31, 335.69, 491.12, 618.25, 624.27),
        "inception-v3": (64.40, 108.06, 161.59, 224.22, 251.87, 258.59),
        "resnet50": (126.90, 202.17, 266.53, 317.20, 335.62, 373.35),
        "resnet152": (46.15, 75.05, 106.83, 128.67, 134.60, 152.71),
    },
    "P100": {
        "alexnet": (624.84, 1226.85, 1934.97, 2900.54, 4063.70, 4883.77),
        "vgg16": (294.6, 282.3, 399.3, 522.9, 755.3, 854.4),
        "inception-bn": (139.82, 267.41, 463.38, 709.30, 949.22, 1197.74),
        "inception-v3": (80.17, 142.63, 225.56, 319.52, 444.65, 493.72),
        "resnet50": (162.27, 278.02, 423.63, 529.34, 647.43, 713.17),
        "resnet152": (58.99, 102.95, 168.91, 210.10, 270.07, 294.17),
    },
}
# The same for training. What the page calls alexnet(*8) has eight times each batch: EIGHTFOLD.
TRAINING_PER_DEVICE: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "K80": {
        "alexnet": (230.69, 348.10, 457.28, 533.51, 582.36, 483.37),
        "inception-v3": (9.81, 15.31, 20.48, 24.47, 28.46, 29.62),
        "resnet50": (13.83, 21.85, 29.58, 36.83, 43.60, 45.52),
    },
    "M40": {
        "alexnet": (405.17, 606.32, 792.66, 1016.51, 1105.18, 1046.23),
        "inception-v3": (14.35, 23.96, 37.38, 52.69, 62.35, 68.87),
        "resnet50": (21.56, 36.48, 52.96, 70.21, 83.13, 90.74),
    },
    "P100": {
        "alexnet": (809.94, 1202.93, 1631.37, 1882.74, 2012.04, 1869.69),
        "inception-v3": (15.14, 30.34, 50.59, 77.75, 111.11, 129.98),
        "resnet50": (27.20, 49.55, 78.31, 122.45, 156.79, 181.53),
    },
}
EIGHTFOLD = ("alexnet",)


def scoring() -> Iterator[tuple[str, str, int, float]]:
    """(device, model, batch, images/s) of one device, forward only."""
    return _rows(SCORING, ())


def training() -> Iterator[tuple[str, str, int, float]]:
    """(device, model, batch, images/s) of one device, whole steps."""
    return _rows(TRAINING_PER_DEVICE, EIGHTFOLD)


def _rows(
    table: Mapping[str, Mapping[str, tuple[float, ...]]], eightfold: tuple[str, ...]
) -> Iterator[tuple[str, str, int, float]]:
    for device, models in table.items():
        for model, rates in models.items():
            factor = 8 if model in eightfold else 1
            yield from ((device, model, factor * batch, rate) for batch, rate in zip(BATCHES, rates))


def scaling_results() -> list[dict[str, Any]]:
    """In the shape of a benchmark's result file: the published medians as one repeat each."""
    return [
        {"nodes": nodes, "gpus_per_node": gpus, "precision": precision, "batch": batch, "repeats": [median]}
        for (precision, batch), cases in DLPERF.items()
        for nodes, gpus, median in cases
    ]
