"""The text of every file of the mesh. Pure; private keys never come near this code."""

from __future__ import annotations

import shlex
from typing import Sequence

from .state import FILE_HEADER, MeshState, Peer, Wanted, mesh_addresses

# Exit statuses of mpicont.sh for its own refusals (sysexits.h: EX_USAGE, EX_UNAVAILABLE). 255 is ssh's own, 125 to 127
# are docker's.
NO_COMMAND = 64
NO_CONTAINER = 69

_SCRIPT = """\
#!/bin/bash
{header}
# Forced command of the container keys in authorized_keys: whatever the other side asks for runs inside one
# container, as the root of that container, and nowhere else. A shell has to evaluate Open MPI's launch line exactly
# once, hence the one quoted argument of bash -c. There is no -i: standard input is not passed on, so the key cannot
# carry scp, sftp or a shell session. The exit status of the command is the exit status of this script.
set -u
container={container}
me="mpicont.sh on $(uname -n)"

if [[ -z "${{SSH_ORIGINAL_COMMAND:-}}" || "${{SSH_ORIGINAL_COMMAND}}" =~ ^[[:space:]]*$ ]]; then
  echo "${{me}}: no command was given. This key runs commands in the container ${{container}}; it opens no session." >&2
  exit {no_command}
fi

# Standard error stays apart from the answer: the engine prints warnings there that are no failure.
if ! running=$(docker inspect --type container --format '{{{{.State.Running}}}}' "${{container}}"); then
  echo "${{me}}: cannot ask Docker for the container ${{container}} (see the line above)." >&2
  echo "${{me}}: does the container exist, and may the user $(id -un) use Docker?" >&2
  exit {no_container}
fi
if [[ "${{running}}" != true ]]; then
  echo "${{me}}: the container ${{container}} is not running. Start it: docker start ${{container}}" >&2
  exit {no_container}
fi

exec docker exec "${{container}}" /bin/bash -c "${{SSH_ORIGINAL_COMMAND}}"
"""


def script(wanted: Wanted) -> str:
    """``mpicont.sh``."""
    return _SCRIPT.format(
        header=FILE_HEADER,
        container=shlex.quote(wanted.container_name),
        no_command=NO_COMMAND,
        no_container=NO_CONTAINER,
    )


def authorized_keys(wanted: Wanted, home: str) -> list[str]:
    """One line per key. In the guide's way host keys open a login and container keys the forced command only; in the
    container's own server its key opens the container."""
    lines = []
    command = "/bin/bash " + shlex.quote(f"{home}/{wanted.layout.script}")
    command = command.replace("\\", "\\\\").replace('"', '\\"')  # sshd undoes \" inside command="..."
    forced = f',command="{command}"' if wanted.guide else ""
    for peer in wanted.peers:
        if not peer.container_public_keys:
            lines.append(f"# {peer.name}: its keys do not exist yet, they will be made in the real run")
        source = 'from="{}"'.format(",".join(peer.addresses))
        for key in peer.host_public_keys if wanted.host_login else ():
            lines.append(f"restrict,pty,{source} {key} {peer.name}:host")
        for key in peer.container_public_keys if wanted.head in ("", peer.name) else ():
            lines.append(f"restrict,{source}{forced} {key} {peer.name}:container")
    return lines


_SERVER = """\
{header}
# The container's own SSH server: Open MPI starts its daemons through it, with the keys of this directory and no other.
Port {port}
{listen}
HostKey {directory}/ssh_host_ed25519_key
AuthorizedKeysFile {directory}/authorized_keys
PidFile /run/sshd/mesh.pid
AllowUsers {user}
PermitRootLogin {root}
AuthenticationMethods publickey
PubkeyAuthentication yes
PasswordAuthentication no
KbdInteractiveAuthentication no
HostbasedAuthentication no
UsePAM no
StrictModes yes
LoginGraceTime 20
MaxAuthTries 3
MaxStartups 100:30:200
DisableForwarding yes
AllowTcpForwarding no
AllowAgentForwarding no
AllowStreamLocalForwarding no
X11Forwarding no
PermitTunnel no
PermitTTY no
PermitUserEnvironment no
PermitUserRC no
UseDNS no
LogLevel VERBOSE
"""


def server_config(wanted: Wanted, addresses: Sequence[str]) -> str:
    """``sshd_config`` of the container: the network of the mesh only, keys only, commands only."""
    listen = "\n".join(f"ListenAddress {each}" for each in addresses)
    own = {"user": wanted.rank.name, "root": "no" if wanted.rank.uid else "prohibit-password"}
    return _SERVER.format(header=FILE_HEADER, port=wanted.port, listen=listen, directory=wanted.inside, **own)


# sshd gives a session nothing of the environment that the image and the engine gave the container; SetEnv does. It is
# written to a file, because a command line can be read by every account of the node. A value with a quote, a backslash
# or a line feed has no form there that all releases of sshd read alike, and stays out.
_START = """\
#!/bin/sh
{header}
# First program of the container. With "reload" the server that runs reads its configuration again.
set -eu
umask 077
mkdir -p /run/sshd
chmod 0755 /run/sshd
config=/run/sshd/mesh_config
if [ "${{1:-}}" = reload ]; then
  environment=$(head -n 1 "$config")
else
  rm -f /run/sshd/mesh.pid
  environment=SetEnv$(cat /proc/self/environ | tr '\\n\\000' '\\001\\n' | LC_ALL=C sed -n \\
    -e '/^\\(HOME\\|PWD\\|OLDPWD\\|SHLVL\\|_\\)=/d' -e '/^[A-Za-z_][A-Za-z0-9_]*=[^"\\\\[:cntrl:]]*$/s/.*/ "&"/p' \\
    | tr -d '\\n')
fi
{{ printf '%s\\n' "$environment"; cat {directory}/sshd_config; }} > "$config"
if [ "${{1:-}}" = reload ]; then
  /usr/sbin/sshd -t -f "$config"
  exec kill -HUP "$(cat /run/sshd/mesh.pid)"
fi
exec /usr/sbin/sshd -D -e -f "$config"
"""


def _names(peer: Peer) -> list[str]:
    return list(dict.fromkeys((peer.name, *peer.addresses)))


def known_hosts(wanted: Wanted) -> str:
    """The peers' own SSH host keys under every address and name that ssh may be given."""
    lines = [FILE_HEADER]
    for peer in wanted.peers:
        names = [each if peer.port == 22 else f"[{each}]:{peer.port}" for each in _names(peer)]
        lines += ["{} {}".format(",".join(names), key) for key in peer.ssh_host_keys]
    return "\n".join(lines) + "\n"


# What a server that was broken into, or the image's own ssh_config, could ask of this client.
_CLOSED = ("ForwardAgent no", "ForwardX11 no", "ForwardX11Trusted no", "PermitLocalCommand no")
# Its keys take 50 ms of processor each, for every node on the head. What OpenSSH 9.9 has in its place takes none.
_QUICK = "KexAlgorithms -sntrup*"


def client_config(wanted: Wanted, *, inside: bool) -> str:
    """``~/.ssh/config`` of the container, where no terminal is there to ask, or the user's ``~/.ssh/config_mesh``,
    which is for the peers alone: the user's other hosts keep their own settings."""
    layout, own_server = wanted.layout, inside and not wanted.guide
    lines = [FILE_HEADER]
    for peer in wanted.peers:
        if peer.name not in peer.addresses and peer.addresses:
            lines += [f"Host {peer.name}", f"    HostName {peer.addresses[0]}"]
        own = [f"    Port {peer.port}"] if peer.port != (22 if wanted.guide else wanted.port) else []
        own += [f"    User {peer.user}"] if peer.user != wanted.user and not own_server else []
        if own:
            lines += ["Host {}".format(" ".join(_names(peer))), *own]
    hosts = "*" if inside else " ".join(dict.fromkeys(name for peer in wanted.peers for name in _names(peer)))
    key = f"{wanted.inside}/{layout.container_key_name}" if inside else "~/" + layout.host_key
    settings = [
        f"User {wanted.rank.name if own_server else wanted.user}",
        f"IdentityFile {key}",
        "IdentitiesOnly yes",
        f"UserKnownHostsFile {wanted.inside + '/known_hosts' if inside else '~/' + layout.known_hosts}",
        "GlobalKnownHostsFile /dev/null",
        "StrictHostKeyChecking yes",
        "UpdateHostKeys no",
        "ConnectTimeout 10",
        "ServerAliveInterval 30",
        *((f"Port {wanted.port}", _QUICK, *_CLOSED) if own_server else ()),
        *(("BatchMode yes", "LogLevel ERROR") if inside else ()),
    ]
    return "\n".join([*lines, f"Host {hosts}", *(f"    {each}" for each in settings)]) + "\n"


def files(wanted: Wanted, state: MeshState, host: str) -> tuple[dict[str, str], dict[str, list[str]]]:
    """By path: every file that is ours as a whole, and the lines of our blocks in files of other owners."""
    layout, own = wanted.layout, wanted.own
    known = known_hosts(wanted)
    texts = {"known_hosts": known, "config": client_config(wanted, inside=True)}
    if not wanted.guide:
        addresses = own.addresses if own else mesh_addresses(state, wanted, host=host)
        texts["sshd_config"] = server_config(wanted, addresses)
        texts["start_sshd.sh"] = _START.format(header=FILE_HEADER, directory=wanted.inside)
        texts["authorized_keys"] = "\n".join([FILE_HEADER, *authorized_keys(wanted, "")]) + "\n"
    mounted = {layout.inside(name): text for name, text in texts.items()}
    if not wanted.guide:
        return mounted, {}
    users, blocks = {layout.script: script(wanted)}, {}
    if wanted.host_login:
        users.update({layout.known_hosts: known, layout.config_mesh: client_config(wanted, inside=False)})
        # A relative Include is looked up in ~/.ssh.
        blocks[layout.config] = ["Include {}".format(layout.config_mesh.rpartition("/")[2])]
    blocks[layout.authorized_keys] = authorized_keys(wanted, state.account.home)
    return {**users, **mounted}, blocks
