"""A job as role run asks for it."""

from __future__ import annotations

from typing import Any

IMAGE = "registry.example:5000/multinode@sha256:" + "0123456789abcdef" * 4
DEVICES = {"gpu01": "mlx5_0", "gpu02": "mlx5_1"}


def asked(**changes: Any) -> dict[str, Any]:
    return {
        "name": "resnet50",
        "launchers": ["slurm", "torchrun", "mpijob", "trainjob", "jobset"],
        "image": IMAGE,
        "hosts": [{"name": name, "address": f"192.0.2.{at}", "slots": 2} for at, name in enumerate(DEVICES, start=11)],
        "command": ["python3", "/workspace/train.py", "--interface_cidr", "192.0.2.0/24", "--note", "a 'b' $c: {d}"],
        "env": {"NCCL_DEBUG": "WARN", "NOTE": "two words: \"x\" 'y'"},
        "nccl": {
            "shared": {"NCCL_IB_TC": "106"},
            "per_node": {
                name: {"NCCL_IB_HCA": f"={device}:1", "NCCL_SOCKET_IFNAME": "=ens192"}
                for name, device in DEVICES.items()
            },
        },
        "facts": {name: {"devices": [{"name": device, "port": 1}]} for name, device in DEVICES.items()},
        "network": "192.0.2.0/24",
        "nccl_network": "IB",
        "probe": "step",
        "probe_arguments": ["--num_batches", "5"],
        "gpus": True,
        "namespace": "training",
        "rdma_resource": "rdma/rdma_shared_device_a",
        "gpu_resource": "nvidia.com/gpu",
        **changes,
    }
