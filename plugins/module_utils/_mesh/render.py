# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of every file of the mesh. Pure; private keys never come near this code."""

from __future__ import annotations

import shlex

from .state import FILE_HEADER, Layout, Peer, Wanted

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
docker=({docker})
me="mpicont.sh on $(uname -n)"

if [[ -z "${{SSH_ORIGINAL_COMMAND:-}}" || "${{SSH_ORIGINAL_COMMAND}}" =~ ^[[:space:]]*$ ]]; then
  echo "${{me}}: no command was given. This key runs commands in the container ${{container}}; it opens no session." >&2
  exit {no_command}
fi

# Standard error stays apart from the answer: the engine prints warnings there that are no failure.
if ! running=$("${{docker[@]}}" inspect --type container --format '{{{{.State.Running}}}}' "${{container}}"); then
  echo "${{me}}: cannot ask Docker for the container ${{container}} (see the line above)." >&2
  echo "${{me}}: does the container exist, and may the user $(id -un) use Docker?" >&2
  exit {no_container}
fi
if [[ "${{running}}" != true ]]; then
  echo "${{me}}: the container ${{container}} is not running. Start it: ${{docker[*]}} start ${{container}}" >&2
  exit {no_container}
fi

exec "${{docker[@]}}" exec "${{container}}" /bin/bash -c "${{SSH_ORIGINAL_COMMAND}}"
"""


def script(wanted: Wanted) -> str:
    """``mpicont.sh``."""
    return _SCRIPT.format(
        header=FILE_HEADER,
        container=shlex.quote(wanted.container_name),
        docker=" ".join(shlex.quote(word) for word in wanted.docker_command),
        no_command=NO_COMMAND,
        no_container=NO_CONTAINER,
    )


def _from(peer: Peer, wanted: Wanted) -> str:
    return ",".join(wanted.allow_from or peer.addresses)


def authorized_keys(wanted: Wanted, home: str, roles: tuple[str, ...] = ("host", "container")) -> list[str]:
    """One line per key: host keys open a login, container keys the forced command only. ``roles``: which of them."""
    lines = []
    script_path = shlex.quote(f"{home}/{wanted.layout.script}")
    command = " ".join(wanted.forced_command) or "/bin/bash " + script_path
    command = command.replace("\\", "\\\\").replace('"', '\\"')  # sshd undoes \" inside command="..."
    for peer in wanted.peers:
        if peer.planned:
            lines.append(f"# {peer.name}: its keys do not exist yet, they will be made in the real run")
            continue
        source = f'from="{_from(peer, wanted)}"'
        for key in (peer.host_public_key, peer.next_host_public_key):
            if "host" in roles and wanted.host_login and key is not None:
                lines.append(f"restrict,pty,{source} {key.text} {peer.name}:host")
        for key in (peer.container_public_key, peer.next_container_public_key):
            if "container" in roles and key and (wanted.topology == "all" or peer.name == wanted.head):
                lines.append(f'restrict,{source},command="{command}" {key.text} {peer.name}:container')
    return lines


def login_keys(wanted: Wanted, home: str) -> str:
    """``authorized_keys`` of the account as whom containers log in: root's file, nothing but forced commands."""
    return "\n".join([FILE_HEADER, *authorized_keys(wanted, home, ("container",))]) + "\n"


def known_hosts(wanted: Wanted) -> str:
    """The peers' own SSH host keys under every address and name that ssh may be given."""
    lines = [FILE_HEADER]
    for peer in wanted.peers:
        names = _unique((*peer.addresses, peer.name))
        if peer.port != 22:
            names = [f"[{each}]:{peer.port}" for each in names]
        if peer.planned:
            lines.append(f"# {peer.name}: its host keys are not known yet")
        lines.extend("{} {}".format(",".join(names), key) for key in peer.ssh_host_keys)
    return "\n".join(lines) + "\n"


def _unique(values: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(values))


def _peer_sections(wanted: Wanted, *, container: bool) -> list[str]:
    lines = []
    for peer in wanted.peers:
        if peer.name not in peer.addresses and peer.addresses:
            lines += [f"Host {peer.name}", f"    HostName {peer.addresses[0]}"]
        extra = []
        if peer.port != 22:
            extra.append(f"    Port {peer.port}")
        user = peer.login if container else peer.user
        if user != (wanted.login or wanted.user if container else wanted.user):
            extra.append(f"    User {user}")
        if extra:
            lines += ["Host {}".format(" ".join(_unique((peer.name, *peer.addresses)))), *extra]
    return lines


def _common(wanted: Wanted, user: str, key: str, known: str) -> list[str]:
    return [
        f"    User {user}",
        f"    IdentityFile {key}",
        "    IdentitiesOnly yes",
        f"    UserKnownHostsFile {known}",
        "    GlobalKnownHostsFile /dev/null",
        "    StrictHostKeyChecking yes",
        "    UpdateHostKeys no",
        f"    ConnectTimeout {wanted.connect_timeout}",
        "    ServerAliveInterval 30",
    ]


def host_config(wanted: Wanted) -> str:
    """``~/.ssh/config_mesh``: only for the peers; the user's other hosts keep their own settings."""
    names = _unique(tuple(each for peer in wanted.peers for each in (peer.name, *peer.addresses)))
    layout = wanted.layout
    lines = [
        FILE_HEADER,
        *_peer_sections(wanted, container=False),
        "Host {}".format(" ".join(names)),
        *_common(wanted, wanted.user, "~/" + layout.host_key, "~/" + layout.known_hosts),
    ]
    return "\n".join(lines) + "\n"


def host_config_block(layout: Layout) -> list[str]:
    """The lines inside ``~/.ssh/config``. A relative Include is looked up in ~/.ssh."""
    return ["Include {}".format(layout.config_mesh.rpartition("/")[2])]


def container_config(wanted: Wanted) -> str:
    """``/root/.ssh/config`` of the container. No terminal is there to ask, so ssh must not ask."""
    layout = wanted.layout
    lines = [
        FILE_HEADER,
        *_peer_sections(wanted, container=True),
        "Host *",
        *_common(
            wanted,
            wanted.login or wanted.user,
            "/root/.ssh/" + layout.container_key.rpartition("/")[2],
            "/root/.ssh/" + layout.container_known_hosts.rpartition("/")[2],
        ),
        "    BatchMode yes",
        "    LogLevel ERROR",
    ]
    return "\n".join(lines) + "\n"
