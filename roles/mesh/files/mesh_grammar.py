# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Open MPI 4.1 and 5.0 send to start a daemon on another node, token by token. Pure; the broker reads with it.

`read` understands a request or refuses it, and returns one that is built anew from what was understood: no word of the
caller's goes on unread. Sources: recorded launch lines (tests/unit/mesh/fixtures), `ompi_info` of 4.1.4, and how orted
and prted take a contact apart (component_set_addr of orte/mca/oob/tcp, and of PRRTE's src/mca/oob/tcp). Runs on Python
3.8, standard library only.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Callable, Mapping, NamedTuple

LONGEST = 131072  # bytes of one argument that Linux passes on; a launch line of 256 nodes has about 8 000

_PREFIX_VARIABLES = ("PRTE_PREFIX", "PMIX_PREFIX", "OPAL_PREFIX")
_ASSIGNED = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", *_PREFIX_VARIABLES)
_FLAGS = (
    "--daemonize", "--tree-spawn", "--allow-run-as-root", "--debug", "--debug-daemons", "--debug-daemons-file",
    "--leave-session-attached",
)  # fmt: skip


class Refused(Exception):
    """The request is not one that Open MPI sends; the text says where it differs."""


class Dialect(NamedTuple):
    """What one daemon is told how. ``options``: as it may be spelled -> as it is passed on."""

    options: Mapping[str, str]
    contact: str
    masks: bool


# A contact without prefix lengths means other addresses to prted, and one with them other addresses to orted: each
# cuts the text at its last colons.
DIALECTS = {
    "orted": Dialect({"-mca": "-mca", "--mca": "-mca"}, "orte_hnp_uri", masks=False),
    "prted": Dialect({"--prtemca": "--prtemca", "--pmixmca": "--pmixmca"}, "prte_hnp_uri", masks=True),
}


class Launch(NamedTuple):
    """One request, built anew. ``program``: orted or prted, bare or absolute; ``paths``: directories that come first in
    PATH and LD_LIBRARY_PATH; ``variables``: where Open MPI 5 says that it lies."""

    program: str
    arguments: list[str]
    paths: dict[str, str]
    variables: dict[str, str]


# --------------------------------------------------------------------------------------------------- values, by kind

_DIRECTORY = re.compile(r"/[A-Za-z0-9_./+-]*\Z")
_QUOTED = re.compile(r"[ !#%-\[\]^_a-z{|}~]*\Z")  # printable ASCII but for " $ \ and the backquote
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_INTERFACE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,14}\Z")
_HOST = re.compile(
    r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*)?(?:\[\d{1,3}:\d{1,9}(?:-\d{1,9})?(?:,\d{1,9}(?:-\d{1,9})?)*\][A-Za-z0-9_.-]*)?\Z"
)
_CONTACT = {
    4: re.compile(r"tcp://(?P<hosts>[0-9.,]+):(?P<ports>[0-9,]+)(?P<masks>:[0-9,]+)?\Z"),
    6: re.compile(r"tcp6://\[(?P<hosts>[0-9a-fA-F:.,]+)\]:(?P<ports>[0-9,]+)(?P<masks>:[0-9,]+)?\Z"),
}


def _kind(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(rf"(?:{pattern})\Z")
    return lambda value: compiled.match(value) is not None


def _interfaces(value: str) -> bool:
    """`10.0.0.0/24,eth0`: networks and names, no path."""
    for each in value.lstrip("^").split(","):
        try:
            ipaddress.ip_network(each, strict=False)
        except ValueError:
            if not _INTERFACE.match(each):
                return False
    return True


def _node_regex(value: str) -> bool:
    """`vm,gpu[3:1-4,7].site@0(5)`. A daemon starts others by these names, so none may look like an option of ssh."""
    names, at, slots = value.partition("@")
    if at and not re.match(r"\d+\(\d+\)(?:,\d+\(\d+\))*\Z", slots):
        return False
    return all(each and _HOST.match(each) for each in re.split(r",(?![^\[\]]*\])", names))


_NUMBER = _kind(r"-?[0-9]{1,19}|true|false|yes|no")
_COMPONENTS = _kind(r"\^?[A-Za-z][A-Za-z0-9_]*(?:,[A-Za-z][A-Za-z0-9_]*)*")
# A list, a policy, a range of ports; no slash, so no file.
_WORDS = _kind(r"\^?[A-Za-z0-9_](?:[A-Za-z0-9_:,.-]|(?<=:PE)=)*")
_SITE = _kind(r"-?[0-9]{1,19}|\^?[A-Za-z0-9_][A-Za-z0-9_:,.-]*")
# What mpirun's user may tell ssh; host key checking stays on and no proxy command runs.
_SSH_ARGUMENTS = _kind(
    r"(?: *(?:-[Tqx4]|-p ?\d{1,5}|-o ?(?:BatchMode=yes|Port=\d{1,5}|ConnectTimeout=\d{1,5}|ConnectionAttempts=\d{1,3}"
    r"|LogLevel=[A-Z0-9]{4,8}|ServerAlive(?:Interval|CountMax)=\d{1,5})))* *"
)
_AGENTS = _kind(r"(?:/usr/bin/)?ssh(?: : rsh)?")

_HINTS = {
    _AGENTS: "daemons start each other with ssh only",
    _SSH_ARGUMENTS: "of ssh's options only port, time limits and log level are free",
    _NUMBER: "a number, unless mesh_mpi_parameters of the role mesh names this parameter",
}

# Allowed by name, with the kind of value. Anything else is refused; a site adds names of its own (mesh_mpi_parameters).
PARAMETERS: dict[str, Callable[[str], bool]] = {
    "ess": _kind("env"), "ess_base_nspace": _kind(r"[A-Za-z0-9_][A-Za-z0-9_.-]*@\d+"),
    **dict.fromkeys(("ess_base_jobid", "ess_base_vpid", "ess_base_num_procs"), _kind(r"\d{1,10}")),
    "orte_node_regex": _node_regex, "PREFIXES": _COMPONENTS,
    # The ways to start others and to talk to them: only those that the mesh was made for.
    "plm": _kind("rsh|ssh"), "oob": _kind("tcp"), "odls": _kind("default"), "filem": _kind("raw"),
    **dict.fromkeys(("plm_rsh_agent", "plm_ssh_agent", "orte_rsh_agent", "pls_rsh_agent"), _AGENTS),
    **dict.fromkeys(("plm_rsh_args", "plm_ssh_args"), _SSH_ARGUMENTS),
    **dict.fromkeys(
        ("pmix", "routed", "btl", "pml", "mtl", "osc", "coll", "bml", "grpcomm", "rmaps", "op", "topo", "io", "fcoll"),
        _COMPONENTS,
    ),
    **dict.fromkeys(
        ("oob_tcp_if_include", "oob_tcp_if_exclude", "btl_tcp_if_include", "btl_tcp_if_exclude", "prte_if_include",
         "prte_if_exclude", "btl_openib_if_include", "btl_openib_if_exclude", "opal_net_private_ipv4"), _interfaces,
    ),
    **dict.fromkeys(
        ("hwloc_base_binding_policy", "hwloc_base_cpu_list", "hwloc_base_cpu_set", "hwloc_default_binding_policy",
         "rmaps_base_mapping_policy", "rmaps_base_ranking_policy", "rmaps_default_mapping_policy",
         "btl_openib_receive_queues", "btl_openib_cpc_include", "pml_ucx_tls", "pml_ucx_devices", "osc_ucx_tls",
         "osc_ucx_devices", "oob_tcp_static_ipv4_ports", "oob_tcp_dynamic_ipv4_ports", "prte_static_ipv4_ports",
         "mtl_ofi_provider_include", "mtl_ofi_provider_exclude", "btl_ofi_provider_include"), _WORDS,
    ),
    **dict.fromkeys(
        (f"{project}_{name}" for project in ("orte", "prte") for name in (
            "tag_output", "timestamp_output", "report_bindings", "abort_timeout", "debug", "debug_daemons",
            "debug_daemons_file", "leave_session_attached", "enable_recovery", "max_vm_size", "startup_timeout",
            "abort_on_non_zero_status", "map_stddiag_to_stderr", "map_stddiag_to_stdout", "keep_fqdn_hostnames")),
        _NUMBER,
    ),
    **dict.fromkeys(("pmix_session_server", "odls_base_sigkill_timeout", "routed_radix"), _NUMBER),
    **dict.fromkeys(
        (f"plm_{shell}_{name}" for shell in ("rsh", "ssh") for name in ("no_tree_spawn", "num_concurrent")), _NUMBER
    ),
}  # fmt: skip
# Tuning of transports and algorithms, thousands of names: as long as the value is a number it names no file, program
# or address.
_TUNED = re.compile(
    r"(?:btl|bml|coll|hwloc_base|mpi|mpool|mtl|oob_tcp|op|opal_cuda|osc|pml|rcache|rmaps_base|topo)_\w+"
    r"|[a-z]+_base_verbose"
)
_TOLD_ABOUT = re.compile(r"[a-z]+_(?:hnp|parent)_uri\Z")
# What not even a site can allow: by these a daemon runs other code, reads other files or reports elsewhere.
NEVER = (
    "agent", "param_file", "env_list", "preload", "debugger", "pass_", "_uri", "server", "tmpdir", "session_dir",
    "chdir", "filename", "_path", "prefix", "hostfile", "rankfile", "topo_file",
)  # fmt: skip


# ---------------------------------------------------------------------------------------------------------- reading it


def split(line: str) -> list[list[str]]:
    """Statements of words. Double quotes hold a word together; no other character of the shell has a meaning here."""
    statements: list[list[str]] = [[]]
    word: str | None = None
    position = 0
    while position < len(line):
        character = line[position]
        if character == '"':
            end = line.find('"', position + 1)
            if end < 0:
                raise Refused("a double quote is not closed")
            inside = line[position + 1 : end]
            if not _QUOTED.match(inside):
                raise Refused(f"{inside[:80]!r} holds a character that Open MPI never sends between quotes")
            word = (word or "") + inside
            position = end + 1
            continue
        if character in " ;":
            if word is not None:
                statements[-1].append(word)
                word = None
            if character == ";":
                statements.append([])
        elif re.match(r"[A-Za-z0-9_=.,:@/+^${}-]", character):
            word = (word or "") + character
        else:
            raise Refused(f"the character {character!r} at place {position + 1}")
        position += 1
    if word is not None:
        statements[-1].append(word)
    return statements


def _search_path(name: str, value: str) -> list[str]:
    """Directories of one assignment; a trailing reference to the variable's own old value is allowed and dropped."""
    parts = value.split(":")
    own = (f"${name}", "${" + name)  # ${NAME:-} was cut at its colon
    if len(parts) > 1 and parts[-1] == own[0]:
        parts = parts[:-1]
    elif len(parts) > 2 and parts[-2] == own[1] and parts[-1] == "-}":
        parts = parts[:-2]
    for part in parts:
        if not _DIRECTORY.match(part) or ".." in part.split("/"):
            raise Refused(f"{name} holds {part[:80]!r}, which is no absolute path")
    return parts


def read(line: str, prefixes: list[str], networks: list[Any], site: tuple[str, ...] = ()) -> Launch:
    """The request as data. Raises `Refused`.

    ``prefixes``: directories in which Open MPI may lie; ``networks``: where the daemon may report to; ``site``: names
    of parameters that this site allows beyond those known here.
    """
    if len(line) > LONGEST:
        raise Refused(f"{len(line)} characters")
    statements = split(line)
    if not statements[-1]:
        raise Refused("no daemon is started at its end")
    assigned: dict[str, list[str]] = {}
    for statement in statements[:-1]:
        _assignment(statement, assigned)
    for directories in assigned.values():
        for directory in directories:
            if re.sub(r"/(bin|lib|lib64)\Z", "", directory.rstrip("/")) not in prefixes:
                raise Refused(f"Open MPI in {directory}; here it may lie in {', '.join(prefixes)} (mesh_mpi_prefixes)")
    program, *rest = statements[-1]
    known = {base + name: name for base in ("", *(f"{each}/bin/" for each in prefixes)) for name in DIALECTS}
    if program not in known:
        raise Refused(f"{program[:80]!r} is no daemon of Open MPI ({', '.join(DIALECTS)} in {', '.join(prefixes)})")
    arguments = _arguments(rest, DIALECTS[known[program]], networks, site)
    joined = {name: ":".join(directories) for name, directories in assigned.items()}
    return Launch(
        program,
        arguments,
        {name: joined.get(name, "") for name in ("PATH", "LD_LIBRARY_PATH")},
        {name: joined[name] for name in _PREFIX_VARIABLES if name in joined},
    )


def _assignment(statement: list[str], assigned: dict[str, list[str]]) -> None:
    if len(statement) == 2 and statement[0] == "export" and statement[1] in assigned:
        return
    name, equals, value = statement[0].partition("=") if len(statement) == 1 else ("", "", "")
    if not equals or name not in _ASSIGNED:
        raise Refused(f"{' '.join(statement)[:80]!r} before the daemon")
    assigned[name] = _search_path(name, value)


def _arguments(words: list[str], dialect: Dialect, networks: list[Any], site: tuple[str, ...]) -> list[str]:
    """The daemon's arguments, built anew from those that were understood."""
    built: list[str] = []
    told: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in _FLAGS:
            built.append(word)
        elif word in dialect.options:
            if len(rest) < 2:
                raise Refused(f"{word} without name and value")
            name, value = rest.pop(0), rest.pop(0)
            if _TOLD_ABOUT.match(name) and name.split("_")[0] == dialect.contact.split("_")[0]:
                value = contact(name, value, networks, masks=dialect.masks)
            else:
                _check_parameter(name, value, site)
            # The daemon joins the values of a name that it is told twice; each was looked at by itself only.
            if told.setdefault(name, value) != value:
                raise Refused(f"the parameter {name[:80]} twice, with different values")
            built += [dialect.options[word], name, value]
        else:
            raise Refused(f"the argument {word[:80]!r}")
    if dialect.contact not in told:
        raise Refused(f"a daemon that is told nobody to report to (no parameter {dialect.contact})")
    return built


def _check_parameter(name: str, value: str, site: tuple[str, ...]) -> None:
    if not NAME.match(name):
        raise Refused(f"{name[:80]!r} is no name of a parameter")
    kind = PARAMETERS.get(name)
    if kind is None and name in site:
        kind = _SITE
    if kind is None and _TUNED.fullmatch(name):
        kind = _NUMBER
    if kind is None:
        raise Refused(
            f"the parameter {name[:80]}, which is not among those that a daemon of this mesh may be told. If it "
            "names no file, program or address, add it to mesh_mpi_parameters of the role mesh"
        )
    if not kind(value):
        hint = _HINTS.get(kind, "no value of the kind that this parameter has")
        raise Refused(f"{name} {value[:80]!r}: {hint}")


def contact(name: str, value: str, networks: list[Any], *, masks: bool) -> str:
    """`1.0;tcp://10.0.0.1,10.0.0.2:4711;tcp6://[fd00::1]:4711`, built anew. A daemon that obeys a stranger is a
    stranger's shell: every address it may report to lies in the mesh. ``masks``: prefix lengths follow the ports."""
    process, *parts = value.split(";")
    if not re.match(r"[A-Za-z0-9_][A-Za-z0-9_.@-]*\.\d{1,10}\Z", process) or not parts:
        raise Refused(f"{name} {value[:80]!r} is no contact of a daemon")
    return ";".join([process, *(_contact(name, part, networks, masks) for part in parts)])


def _contact(name: str, part: str, networks: list[Any], masks: bool) -> str:
    version = 6 if part.startswith("tcp6:") else 4
    match = _CONTACT[version].match(part)
    if not match:
        raise Refused(f"{name} leads to {part[:80]!r}, which is no tcp://ADDRESS:PORT or tcp6://[ADDRESS]:PORT")
    hosts = [_address(name, each, version, networks) for each in match.group("hosts").split(",")]
    ports = [_number(name, each, 1, 65535) for each in match.group("ports").split(",")]
    given = match.group("masks")
    lengths = [_number(name, each, 0, 128) for each in given[1:].split(",")] if given else []
    if bool(lengths) != masks or (masks and len(lengths) < len(hosts)):
        raise Refused(
            f"{name} leads to {part[:80]!r}; {'a' if masks else 'no'} prefix length per address belongs there"
        )
    shown = f"tcp://{','.join(hosts)}" if version == 4 else f"tcp6://[{','.join(hosts)}]"
    return ":".join([shown, ",".join(ports), *([",".join(lengths)] if lengths else [])])


def _number(name: str, text: str, low: int, high: int) -> str:
    if not re.match(r"[0-9]{1,5}\Z", text) or text != str(int(text)) or not low <= int(text) <= high:
        raise Refused(f"{name}: {text[:20]!r} is no number from {low} to {high}")
    return text


def _address(name: str, text: str, version: int, networks: list[Any]) -> str:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise Refused(f"{name}: {text[:80]!r} is no IP address to report to") from None
    # Python before 3.9.5 reads 010.0.0.1 as 10.0.0.1, the C library as 8.0.0.1.
    if address.version != version or (version == 4 and str(address) != text):
        raise Refused(f"{name}: {text[:80]!r} is no IP address to report to")
    if not any(address.version == network.version and address in network for network in networks):
        raise Refused(
            f"{name} leads to {address}, outside of the mesh ({', '.join(map(str, networks))}): give mpirun "
            "oob_tcp_if_include (4.1) or prte_if_include (5.0) with the network of the mesh"
        )
    return str(address)
