"""The container around a VM: its cables, its disk, and what its guest finds at the first boot."""

from __future__ import annotations

import shlex
import subprocess

from .. import config, files, scheduler
from . import machine, qmp


def create_arguments(node: config.Node, paths: config.Paths, *, privileges: list[str], at: list[str]) -> list[str]:
    """`docker create`; ``at``: where it stands in the first network."""
    folder = machine.folder(paths, node)
    return [
        *("create", "--name", node.container, "--hostname", node.name, "--restart", "no"),
        *("--label", f"{config.OWNER_LABEL}={paths.root}", "--label", f"{config.VM_LABEL}={node.name}"),
        *privileges,
        *("--network", config.NETWORK, "--network-alias", node.name, *at),
        *("--publish", f"{node.ssh_ip}:{config.SSH_PORT}:22"),
        *("--volume", f"{node.volume}:/disk"),
        *("--volume", f"{folder}:{machine.RUN}", "--volume", f"{folder / 'seed'}:/seed"),
        *("--volume", f"{paths.hw / node.name}:/var/lib/lab-hw"),
        *scheduler.volumes(paths),
        config.VM_IMAGE,
    ]


def settings(node: config.Node, resolvers: list[str]) -> str:
    """Read by the guest's shell."""
    rails = " ".join(rail.netdev for rail in config.RAILS)
    gpus = len(config.SHAPE.gpus)
    return f"LAB_NAME={node.name}\nLAB_GPUS={gpus}\nLAB_ROCE='{rails}'\nLAB_DNS='{' '.join(resolvers)}'\n"


def netplan(node: config.Node) -> str:
    """As an installer writes it: addresses, a default route, and the MTU that every new guest has."""
    lines = ["network:", "  version: 2", "  renderer: networkd", "  ethernets:"]
    for number, rail in enumerate(config.RAILS):
        addresses = ", ".join(f'"{address}"' for address in config.SHAPE.addresses(rail, node.number))
        lines += [f"    {rail.netdev}:", f"      addresses: [{addresses}]"]
        if number == 0:
            lines += ["      routes:", "        - to: default", f'          via: "{config.GATEWAY}"']
    return "\n".join(lines) + "\n"


def hosts(node: config.Node) -> str:
    """A container's engine knows these names; a machine has a file."""
    others = [f"{each.cluster_ip} {each.name}" for each in config.NODES if each != node]
    own = ["127.0.0.1 localhost", f"127.0.1.1 {node.name}", "::1 localhost ip6-localhost ip6-loopback"]
    return "\n".join([*own, *others, f"{config.REGISTRY_IP} {config.REGISTRY_NAME}"]) + "\n"


def write_seed(node: config.Node, paths: config.Paths, *, controller_key: str, resolvers: list[str]) -> None:
    seed = machine.folder(paths, node) / "seed"
    seed.mkdir(parents=True, exist_ok=True)
    files.write(seed / "settings", settings(node, resolvers))
    files.write(seed / "netplan.yaml", netplan(node), 0o600)
    files.write(seed / "hosts", hosts(node))
    files.write(seed / "authorized_keys", controller_key + "\n", 0o600)


def shut_down(node: config.Node, paths: config.Paths) -> None:
    """The power button, as vSphere's "Shut Down Guest OS" is one where no tools answer."""
    qmp.ask(machine.folder(paths, node) / "qmp", "system_powerdown")


def connection(node: config.Node, paths: config.Paths) -> list[str]:
    """One connection for what is asked within a minute: to an emulated guest a new one costs more than most questions.

    Its name is that of this start of QEMU: what led to the machine before leads nowhere.
    """
    folder = machine.folder(paths, node)
    try:
        start = (folder / "qmp").stat().st_ino
    except FileNotFoundError:
        return []
    master = folder / f"ssh.{start}"
    words = "ControlMaster=auto", "ControlPersist=60", f"ControlPath={master}", "ServerAliveInterval=15"
    return [word for each in words for word in ("-o", each)]


def inside(
    node: config.Node, paths: config.Paths, *words: str, check: bool = True, timeout: float | None = 600
) -> subprocess.CompletedProcess[str]:
    """A program as root in the guest, over the address that people use as well."""
    command = [
        *("ssh", "-F", "none", "-i", str(paths.controller_key), "-p", str(node.ssh_port)),
        *("-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o", "ConnectTimeout=10", "-o", "LogLevel=ERROR"),
        # Before its key is known to anybody; it never leaves this machine.
        *("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"),
        *connection(node, paths),
        *(f"root@{node.ssh_ip}", shlex.join(words)),
    ]
    try:
        # Its own: ssh makes a terminal that it shares non-blocking, and Ansible refuses such a one.
        run = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise config.LabError(f"{node.name}: no answer to {' '.join(words[:4])} in {timeout} s") from error
    if check and run.returncode:
        said = (run.stderr or run.stdout).strip()
        raise config.LabError(f"{node.name}: {' '.join(words[:4])} ...: status {run.returncode}: {said[-2000:]}")
    return run
