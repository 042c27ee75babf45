# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The broker's source as a module, what Open MPI sends, and what an attacker would."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "roles/mesh/files/mesh_broker.py"
PREFIXES = ["/usr", "/usr/local/mpi", "/opt/venv"]
NETWORKS = ["127.0.0.0/8", "192.0.2.0/24", "fd00::/64"]

# The recording used a stand-in for ssh; a real run has the ssh of the container, and no parameter that names it.
_STAND_IN = re.compile(r'-(?:-prte)?mca plm_(?:rsh|ssh)_(?:agent|args) "[^"]*" ')
RECORDED = (Path(__file__).parent / "fixtures/launch_lines.txt").read_text().splitlines()
LAUNCH_LINES = [_STAND_IN.sub("", line) for line in RECORDED]

GOOD = 'orted -mca ess "env" -mca orte_hnp_uri "1.0;tcp://192.0.2.1:4000"'
PATH_LINE = 'PATH=/usr/bin:$PATH ; export PATH ; /usr/bin/orted -mca orte_hnp_uri "1.0;tcp://192.0.2.1:4000"'

# name of the attack -> request. None of them may start anything.
ATTACKS = {
    "another_binary": "cat /etc/shadow",
    "shell": "/bin/sh",
    "shell_with_command": 'bash -c "id"',
    "second_command_after_semicolon": GOOD + " ; id",
    "second_command_before": "id ; " + GOOD,
    "and_list": GOOD + " && id",
    "or_list": GOOD + " || id",
    "pipe": GOOD + " | sh",
    "background": GOOD + " & id",
    "newline": GOOD + "\nid",
    "carriage_return": GOOD + "\rid",
    "command_substitution": GOOD.replace("env", "$(id)"),
    "backquotes": GOOD.replace("env", "`id`"),
    "variable_in_quotes": GOOD.replace("env", "$HOME"),
    "escaped_quote": GOOD.replace("env", '\\" ; id ; \\"'),
    "open_quote": GOOD + ' -mca a "b',
    "single_quotes": GOOD.replace('"env"', "'env'"),
    "redirection_out": GOOD + " > /root/.ssh/authorized_keys",
    "redirection_in": GOOD + " < /etc/shadow",
    "here_document": GOOD + " << x",
    "glob": GOOD + " /root/*",
    "brace_expansion": "{orted,id}",
    "tilde": "~root/orted",
    "environment_of_the_loader": "LD_PRELOAD=/tmp/x.so " + GOOD,
    "environment_statement": "LD_PRELOAD=/tmp/x.so ; export LD_PRELOAD ; " + GOOD,
    "environment_of_bash": "BASH_ENV=/tmp/x ; export BASH_ENV ; " + GOOD,
    "export_without_assignment": "export LD_PRELOAD ; " + GOOD,
    "search_path_elsewhere": PATH_LINE.replace("/usr/bin:", "/tmp/evil/bin:"),
    "search_path_dots": PATH_LINE.replace("/usr/bin:", "/usr/../tmp/bin:"),
    "search_path_relative": PATH_LINE.replace("/usr/bin:", "bin:"),
    "search_path_empty_part": PATH_LINE.replace("/usr/bin:", "/usr/bin::"),
    "library_path_elsewhere": "LD_LIBRARY_PATH=/tmp/evil/lib:${LD_LIBRARY_PATH:-} ; export LD_LIBRARY_PATH ; " + GOOD,
    "other_variable_in_search_path": PATH_LINE.replace(":$PATH", ":$HOME"),
    "daemon_elsewhere": GOOD.replace("orted", "/tmp/orted", 1),
    "daemon_by_relative_path": GOOD.replace("orted", "./orted", 1),
    "daemon_with_dots": GOOD.replace("orted", "/usr/bin/../../tmp/orted", 1),
    "name_that_begins_like_the_daemon": GOOD.replace("orted", "orted2", 1),
    "mpirun_itself": GOOD.replace("orted", "mpirun", 1),
    "program_as_argument": GOOD + " /bin/sh",
    "unknown_flag": GOOD + " --uri /tmp/x",
    "parameter_without_value": GOOD + " -mca x",
    "components_from_elsewhere": GOOD + ' -mca mca_base_component_path "/tmp/evil"',
    "parameter_file": GOOD + ' -mca mca_base_param_files "/tmp/evil"',
    "environment_by_parameter": GOOD + ' -mca mca_base_env_list "LD_PRELOAD=/tmp/x.so"',
    "launch_agent": GOOD + ' -mca orte_launch_agent "sh"',
    "other_remote_shell": GOOD + ' -mca plm_rsh_agent "/tmp/evil"',
    "remote_shell_with_arguments": GOOD + ' -mca plm_rsh_agent "ssh -o ProxyCommand=id"',
    "proxy_command": GOOD + ' -mca plm_rsh_args "-o ProxyCommand=id"',
    "local_command": GOOD + ' -mca plm_rsh_args "-o PermitLocalCommand=yes -o LocalCommand=id"',
    "host_key_checking_off": GOOD + ' -mca plm_rsh_args "-o StrictHostKeyChecking=no"',
    "other_ssh_configuration": GOOD + ' -mca plm_rsh_args "-F /tmp/config"',
    "ssh_agent_forwarding": GOOD + ' -mca plm_rsh_args "-A"',
    "ssh_port_forwarding": GOOD + ' -mca plm_rsh_args "-R 1:127.0.0.1:22"',
    "reports_to_a_stranger": GOOD.replace("192.0.2.1", "198.51.100.7"),
    "reports_to_a_stranger_too": GOOD.replace("192.0.2.1", "192.0.2.1,198.51.100.7"),
    "second_contact_is_a_stranger": GOOD.replace(":4000", ":4000;tcp://198.51.100.7:1"),
    "second_parent_is_a_stranger": GOOD + ' -mca orte_parent_uri "1.0;tcp://198.51.100.7:1"',
    "reports_to_a_file": GOOD.replace("1.0;tcp://192.0.2.1:4000", "file:/tmp/uri"),
    "reports_to_a_name": GOOD.replace("192.0.2.1", "evil.example"),
    "reports_to_a_socket": GOOD.replace("tcp://192.0.2.1:4000", "usock:///tmp/x"),
    "reports_to_a_stranger_over_ipv6": GOOD.replace("tcp://192.0.2.1:4000", "tcp6://[2001:db8::1]:4000"),
    "reports_to_nobody": 'orted -mca ess "env"',
    "nothing_but_assignments": "PATH=/usr/bin:$PATH ; export PATH ;",
    "file_transfer": "scp -t /tmp/x",
    "sftp": "internal-sftp",
    "rsync": "rsync --server -e.LsfxCIvu . /tmp",
    "unicode_look_alike": GOOD.replace("orted", "\u043erted", 1),
    "null_like": GOOD.replace("env", "e\x01nv"),
    "megabytes": GOOD + " -mca x y" * 40000,
    "probe_with_more": "true ; id",
}  # fmt: skip


def load() -> Any:
    spec = importlib.util.spec_from_file_location("mesh_broker", SOURCE)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
