# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The broker's source as a module, what Open MPI sends, and what an attacker would."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "roles/mesh/files/mesh_broker.py"
GRAMMAR = SOURCE.with_name("mesh_grammar.py")
PREFIXES = ["/usr", "/usr/local/mpi", "/opt/venv"]
NETWORKS = ["127.0.0.0/8", "192.0.2.0/24", "fd00::/64"]

# The recording used a stand-in for ssh; a real run has the ssh of the container, and no parameter that names it.
_STAND_IN = re.compile(r'-(?:-prte)?mca plm_(?:rsh|ssh)_(?:agent|args) "[^"]*" ')
RECORDED = (Path(__file__).parent / "fixtures/launch_lines.txt").read_text().splitlines()
LAUNCH_LINES = [_STAND_IN.sub("", line) for line in RECORDED]

GOOD = 'orted -mca ess "env" -mca orte_hnp_uri "1.0;tcp://192.0.2.1:4000"'
PATH_LINE = 'PATH=/usr/bin:$PATH ; export PATH ; /usr/bin/orted -mca orte_hnp_uri "1.0;tcp://192.0.2.1:4000"'

# By these a daemon runs other code, reads or writes files, starts other programs or reports elsewhere. Names for every
# word that not even a site can allow, of ompi_info 4.1.4 and prte_info 5.0, synonyms included.
NAMED = {
    "agent": ("orte_launch_agent", "orte_fork_agent", "orte_exec_agent", "prte_launch_agent", "filem_rsh_agent"),
    "param_file": ("mca_base_param_files", "mca_param_files", "mca_base_override_param_file",
                   "mca_base_param_file_prefix", "mca_base_param_file_path", "btl_openib_device_param_files"),
    "env_list": ("mca_base_env_list", "mca_base_env_list_delimiter"),
    "preload": ("orte_preload_binaries", "prte_preload_files"),
    "debugger": ("orte_base_user_debugger", "orte_debugger_test_daemon", "prte_debugger_test_daemon"),
    "pass_": ("plm_rsh_pass_libpath", "plm_rsh_pass_environ_mca_params"),
    "_uri": ("orte_data_server_uri", "pmix_server_uri", "prte_parent_uri", "hnp_uri"),
    "server": ("orte_server", "prte_data_server", "ess_singleton_server"),
    "tmpdir": ("orte_tmpdir_base", "orte_local_tmpdir_base", "orte_remote_tmpdir_base", "prte_tmpdir_base"),
    "session_dir": ("orte_top_session_dir", "orte_jobfam_session_dir", "orte_no_session_dirs"),
    "chdir": ("plm_rsh_chdir",),
    "filename": ("orte_output_filename", "coll_tuned_dynamic_rules_filename", "dl_dlopen_filename_suffixes"),
    "_path": ("mca_base_component_path", "mca_component_path", "rmaps_rank_file_path",
              "mca_base_param_file_path_force"),
    "prefix": ("mca_base_envar_file_prefix", "prte_prefix", "opal_prefix", "install_prefix"),
    "hostfile": ("orte_default_hostfile", "prte_default_hostfile"),
    "rankfile": ("orte_rankfile",),
    "topo_file": ("hwloc_base_topo_file", "ras_simulator_topo_files"),
}  # fmt: skip
# Names that are no known parameters of a daemon, or whose value is a file, a program or a directory.
UNKNOWN = {
    "opal_stacktrace_output": "/tmp/x", "orte_xml_file": "/tmp/x", "orte_xterm": "1", "plm_rsh_delay": "1",
    "btl_vader_backing_directory": "/tmp", "shmem_mmap_backing_file_base_dir": "/tmp", "pml_v_output": "/tmp/x",
    "osc_sm_backing_directory": "/tmp", "mpi_show_mca_params_file": "/tmp/x", "pmix_ext3x_library_version": "x",
    "plm_slurm_args": "x", "ras_slurm_config_file": "/tmp/x", "rmaps_resilient_fault_grp_file": "/tmp/x",
    "schizo": "ompi", "sstore": "central", "dl": "dlopen", "crs": "self", "snapc_base_global_snapshot_dir": "/tmp",
    "orte_default_dash_host": "evil",
}  # fmt: skip
# A known name with a value that it never has.
VALUES = {
    "plm": "slurm", "ess": "hnp", "oob": "ud", "odls": "pspawn", "filem": "rsh", "orte_rsh_agent": "/bin/sh -c id",
    "pls_rsh_agent": "/tmp/evil", "plm_ssh_agent": "/tmp/evil", "ess_base_jobid": "$(id)", "routed": "../../tmp/evil",
    "btl": "/tmp/evil.so", "pmix": "^s1,../x", "btl_tcp_if_include": "/etc/shadow", "oob_tcp_if_include": "../../x",
    "rmaps_base_mapping_policy": "rankfile:FILE=/etc/shadow", "hwloc_base_cpu_list": "/etc/passwd",
    "orte_node_regex": "gpu[3:1-4],-oProxyCommand", "btl_tcp_links": "/tmp/x", "coll_tuned_priority": "x",
    "orte_tag_output": "/tmp/x", "mpi_show_mca_params": "/tmp/x", "btl_openib_if_include": "mlx5_0,/tmp/x",
}  # fmt: skip

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
    "open_quote": GOOD + ' -mca pml "b',
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
    "parameter_without_value": GOOD + " -mca pml",
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
    # What is in brackets is not where Open MPI goes: it cuts at the last colon.
    "address_before_a_bracket": GOOD.replace("192.0.2.1:4000", "198.51.100.7:4555[192.0.2.1]"),
    "address_before_a_bracket_5.0": "prted --prtemca prte_hnp_uri \"p@0.0;tcp://198.51.100.7:4555[192.0.2.1]:64,24\"",
    "address_in_octal": GOOD.replace("192.0.2.1", "0300.0.2.1"),
    "address_as_a_number": GOOD.replace("192.0.2.1", "3221225985"),
    "address_of_another_family": GOOD.replace("tcp://192.0.2.1:4000", "tcp6://[::ffff:192.0.2.1]:4000"),
    "address_with_a_zone": GOOD.replace("tcp://192.0.2.1:4000", "tcp6://[fd00::1%eth0]:4000"),
    "port_that_is_none": GOOD.replace("4000", "70000"),
    "port_of_many_digits": GOOD.replace("4000", "4" * 5000),
    "contact_of_the_other_daemon": GOOD.replace("192.0.2.1:4000", "192.0.2.1:4000:24"),
    "told_twice": GOOD + ' -mca orte_hnp_uri "1.0;tcp://192.0.2.9:4000"',
    "all_processes_parameter": GOOD + " -gmca btl_tcp_links 2",
    "parameter_of_the_other_daemon": GOOD + " --prtemca plm ssh",
    "flag_with_value": GOOD + " --daemonize=1",
    **{f"parameter_{name}": f'{GOOD} -mca {name} "x"' for names in NAMED.values() for name in names},
    **{f"parameter_{name}": f'{GOOD} -mca {name} "{value}"' for name, value in UNKNOWN.items()},
    **{f"value_of_{name}": f'{GOOD} -mca {name} "{value}"' for name, value in VALUES.items()},
}  # fmt: skip


def load() -> Any:
    # The program finds its grammar beside it; here it is a module of the tests.
    if str(GRAMMAR.parent) not in sys.path:
        sys.path.append(str(GRAMMAR.parent))
    spec = importlib.util.spec_from_file_location("mesh_broker", SOURCE)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
