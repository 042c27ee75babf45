"""The GPU VMs as containers: made, started, stopped, waited for. What they are made *of* is in node/, or in vm/."""

from __future__ import annotations

import concurrent.futures
import io
import socket
import subprocess
import tarfile
from collections.abc import Iterable
from pathlib import Path

from . import config, engine, files, keys, processes, scheduler
from .vm import chassis

_RESOLVERS = (Path("/etc/resolv.conf"), Path("/run/systemd/resolve/resolv.conf"))


def usable_resolvers(texts: Iterable[str]) -> list[str]:
    """Name servers of the first resolv.conf that names any outside this machine's loopback."""
    for text in texts:
        servers = [line.split()[1] for line in text.splitlines() if line.startswith("nameserver ")]
        usable = [server for server in servers if not server.startswith("127.") and server != "::1"]
        if usable:
            return usable
    return []


def ensure_network(paths: config.Paths) -> None:
    """One network per rail."""
    for rail in config.RAILS:
        if engine.inspect("network", rail.network):
            continue
        engine.docker(
            *("network", "create", "--subnet", rail.subnet, "--gateway", rail.gateway),
            *("--opt", f"com.docker.network.bridge.name={rail.bridge}"),
            *("--opt", f"com.docker.network.driver.mtu={config.LINK_MTU}"),
            *_families(rail.subnet6, rail.gateway6),
            *("--label", f"{config.OWNER_LABEL}={paths.root}", rail.network),
        )


def _families(subnet: str, gateway: str) -> list[str]:
    return ["--ipv6", "--subnet", subnet, "--gateway", gateway] if 6 in config.SHAPE.families else []


def at(address: str, address6: str) -> list[str]:
    """Where a container stands in a network. The engine gives it IPv4 in any case; a node with IPv6 alone drops it."""
    return ["--ip", address, *(["--ip6", address6] if 6 in config.SHAPE.families else [])]


def create_arguments(
    node: config.Node, paths: config.Paths, *, privileges: list[str], controller_key: str, resolvers: list[str]
) -> list[str]:
    """`docker create` and everything that makes this container this VM."""
    rails = [f"{rail.netdev}={','.join(config.SHAPE.addresses(rail, node.number))}" for rail in config.RAILS]
    gateways = {4: config.GATEWAY, 6: config.RAILS[0].gateway6}
    return [
        *("create", "--name", node.container, "--hostname", node.name, "--restart", "no"),
        *("--label", f"{config.OWNER_LABEL}={paths.root}", "--label", f"{config.VM_LABEL}={node.name}"),
        *privileges,
        *("--network", config.NETWORK, "--network-alias", node.name),
        *at(config.RAILS[0].address(node.number), config.RAILS[0].address6(node.number)),
        *(() if config.SHAPE.ipv6_alone else ("--publish", f"{node.ssh_ip}:{config.SSH_PORT}:22")),
        *("--tmpfs", "/run", "--tmpfs", "/run/lock", "--tmpfs", "/tmp:exec"),
        # Containers with --ipc=host use the node's /dev/shm, whatever their own --shm-size says.
        *("--shm-size", "1g"),
        *("--env", f"LAB_AUTHORIZED_KEY={controller_key}"),
        *("--env", f"LAB_GATEWAYS={' '.join(gateways[family] for family in config.SHAPE.families)}"),
        *("--env", f"LAB_DNS={' '.join(resolvers)}"),
        *("--env", f"LAB_RAILS={' '.join(rails)}"),
        *("--env", f"LAB_GPUS={len(config.SHAPE.gpus)}"),
        # overlay2 refuses to lie on another overlay.
        *("--volume", f"{node.volume}:/var/lib/docker"),
        *("--volume", f"{paths.hw / node.name}:/var/lib/lab-hw"),
        *scheduler.volumes(paths),
        config.NODE_IMAGE,
    ]


def create(node: config.Node, paths: config.Paths) -> bool:
    """Makes the container (not started) if there is none; True if it was made."""
    present = engine.inspect("container", node.container)
    if present:
        return False
    (paths.hw / node.name).mkdir(parents=True, exist_ok=True)
    engine.docker("volume", "create", "--label", f"{config.OWNER_LABEL}={paths.root}", node.volume)
    privileges = engine.machine_privileges()
    controller_key = paths.controller_key.with_suffix(".pub").read_text().strip()
    resolvers = usable_resolvers(path.read_text() for path in _RESOLVERS if path.exists())
    if config.SHAPE.machine:
        chassis.write_seed(node, paths, controller_key=controller_key, resolvers=resolvers)
        where = at(config.RAILS[0].address(node.number), config.RAILS[0].address6(node.number))
        words = chassis.create_arguments(node, paths, privileges=privileges, at=where)
    else:
        words = create_arguments(node, paths, privileges=privileges, controller_key=controller_key, resolvers=resolvers)
    engine.docker(*words)
    # In the order of the rails: Docker numbers the interfaces so.
    for rail in config.RAILS[1:]:
        where = at(rail.address(node.number), rail.address6(node.number))
        engine.docker("network", "connect", *where, rail.network, node.container)
    return True


def remove(node: config.Node) -> bool:
    """Removes container and volume; True if there was one."""
    present = engine.inspect("container", node.container) is not None
    if present:
        engine.docker("rm", "--force", "--volumes", node.container)
    if engine.inspect("volume", node.volume):
        engine.docker("volume", "rm", node.volume)
    return present


def recreate_all(paths: config.Paths) -> None:
    """Every node back to its image, with an empty engine; none is started."""

    def one(node: config.Node) -> None:
        remove(node)
        create(node, paths)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(one, config.NODES))


def create_all(paths: config.Paths) -> list[str]:
    with concurrent.futures.ThreadPoolExecutor() as pool:
        made = list(pool.map(lambda node: create(node, paths), config.NODES))
    return [node.name for node, new in zip(config.NODES, made) if new]


def inside(
    node: config.Node, *words: str, check: bool = True, timeout: float | None = 600
) -> subprocess.CompletedProcess[str]:
    """A program as root in the guest, whatever it is made of."""
    if config.SHAPE.machine:
        return chassis.inside(node, config.paths(), *words, check=check, timeout=timeout)
    return engine.docker("exec", node.container, *words, check=check, timeout=timeout)


def shut_down(node: config.Node, paths: config.Paths) -> None:
    """Asks the guest to end in order; it may take its time."""
    if config.SHAPE.machine:
        chassis.shut_down(node, paths)
    else:
        inside(node, "systemctl", "poweroff", timeout=30)


def running(node: config.Node) -> bool:
    present = engine.inspect("container", node.container)
    return bool(present and present["State"]["Running"])


def outdated() -> list[str]:
    """Nodes whose container was made from an earlier build of its image."""
    image = engine.inspect("image", config.MACHINE_IMAGE)
    result = []
    for node in config.NODES:
        container = engine.inspect("container", node.container)
        if container and image and container["Image"] != image["Id"]:
            result.append(node.name)
    return result


def ssh_answers(node: config.Node) -> bool:
    """Whether sshd of the node greets. Docker's own forwarder accepts connections even when nobody is behind it."""
    try:
        with socket.create_connection((node.ssh_ip, node.ssh_port), timeout=1) as connection:
            connection.settimeout(1)
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def engine_answers(node: config.Node) -> bool:
    return inside(node, "docker", "version", check=False, timeout=60 if config.SHAPE.machine else 20).returncode == 0


def wait_ready(node: config.Node) -> None:
    timeout = 600 if config.SHAPE.machine else 60
    log = f"docker logs {node.container}"
    processes.wait_for(f"{node.name}: sshd answers (see `{log}`)", lambda: ssh_answers(node), timeout)
    processes.wait_for(f"{node.name}: its Docker engine answers", lambda: engine_answers(node), timeout)


def public_host_key(node: config.Node) -> str | None:
    """Read through the engine, not over the network: this is what makes the first ssh connection trustworthy.

    Works for a node that is powered off as well; None for one that was never powered on.
    """
    run = subprocess.run(
        engine.command("cp", f"{node.container}:/etc/ssh/ssh_host_ed25519_key.pub", "-"),
        capture_output=True,
        env=engine.environment(),
        check=False,
    )
    if run.returncode:
        return None
    with tarfile.open(fileobj=io.BytesIO(run.stdout)) as archive:
        content = archive.extractfile(archive.getmembers()[0])
        return content.read().decode() if content else None


def ssh_config(paths: config.Paths) -> str:
    """For people and tests: ``ssh -F .lab/ssh/config gpu01``."""
    blocks = [
        f"""Host {node.name}
    HostName {node.ssh_ip}
    Port {node.ssh_port}
    User {config.NODE_USER}
    IdentityFile {paths.controller_key}
    IdentitiesOnly yes
    UserKnownHostsFile {paths.known_hosts}
    StrictHostKeyChecking yes
"""
        for node in config.NODES
    ]
    return "\n".join(blocks)


def write_known_hosts(paths: config.Paths) -> bool:
    """Writes .lab/ssh/known_hosts for the switch and every node; True if the content changed."""
    files.write(paths.root / "ssh" / "config", ssh_config(paths))
    lines = [keys.known_hosts_line(config.SWITCH_IP, config.SSH_PORT, (paths.switch / "host_key.pub").read_text())]
    for node in config.NODES:
        key = public_host_key(node)
        if key:
            lines.append(keys.known_hosts_line(node.ssh_ip, node.ssh_port, key))
    content = "\n".join(lines) + "\n"
    if paths.known_hosts.exists() and paths.known_hosts.read_text() == content:
        return False
    files.write(paths.known_hosts, content)
    return True
