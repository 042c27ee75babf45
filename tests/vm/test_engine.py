"""What a real Docker on a real kernel does with a container of this collection."""

from __future__ import annotations

from lab import config

from .guests import sh

Two = tuple[config.Node, config.Node]
IMAGE = "$(docker images -q | head -n 1)"
OPENS = "docker exec mpicont sh -c ': < /dev/infiniband/uverbs0'"


def test_device_that_was_named_outlives_a_reload_of_systemd(two: Two) -> None:
    """systemd writes the device rules of every container anew then: what Docker told it about is in them."""
    node = two[1]
    named = "docker inspect --format '{{range .HostConfig.Devices}}{{.PathInContainer}}{{end}}' mpicont"
    assert sh(node, named).split() == ["/dev/infiniband"]
    assert sh(node, "docker info --format '{{.CgroupDriver}} {{.CgroupVersion}}'").split() == ["systemd", "2"]
    sh(node, f"{OPENS} && systemctl daemon-reload && {OPENS}")


def test_read_only_mount_does_not_protect_a_mount_below_it(two: Two) -> None:
    """Which is why nothing may be mounted below the mesh's directory."""
    node = two[1]
    sh(node, "mkdir -p /run/above/below && mount -t tmpfs none /run/above/below")
    try:
        write = "touch /mnt/a; echo $?; touch /mnt/below/b; echo $?"
        above, below = sh(node, f"docker run --rm -v /run/above:/mnt:ro --entrypoint sh {IMAGE} -c '{write}'").split()
        assert above != "0" and below == "0"
    finally:
        sh(node, "umount /run/above/below")
    meshes = "find /etc/rocemesh/mesh -mindepth 1 -exec mountpoint -q {} \\; -print"
    assert sh(node, meshes).split() == []
