"""Filter: which way the data of a NCCL job went between hosts, and why."""

from __future__ import annotations

DOCUMENTATION = r"""
name: nccl_path
short_description: Judge from NCCL's log which way the data went between the hosts
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Gives each pair of ranks on different hosts one verdict, and the whole job the worst of them.
  - V(gdrdma) - between NIC and GPU memory without detour. V(rdma_via_host) - RDMA, staged in host memory. V(sockets) -
    TCP. V(not_one_job) - the processes did not compute together, so no figure of the run counts. V(unknown) - the log
    does not tell.
  - Nothing is taken for granted. Without lines of NCCL, or with a rank or a host missing, the best verdict is
    V(unknown).
  - Written from NCCL's source and from public logs. Not verified on hardware.
positional: _input, ranks, hosts
options:
  _input:
    description: >-
      The text of the log, of all ranks, or the absolute path of a log on the controller (one line that begins with a
      slash is a path).
    type: raw
    required: true
  ranks:
    description: How many ranks were started. Left out, the log is believed.
    type: int
  hosts:
    description: Names of the hosts that take part, as they call themselves. Left out, the log is believed.
    type: list
    elements: str
seealso:
  - plugin: rocemesh.multinode.read_log
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Fail unless all traffic between the hosts uses GPUDirect RDMA
  ansible.builtin.assert:
    that: path.ok
    fail_msg: "{{ path.verdict }}: {{ path.reason }}"
  vars:
    path: "{{ lookup('ansible.builtin.file', 'nccl.log') | rocemesh.multinode.nccl_path(4, ['gpu01', 'gpu02']) }}"
"""

RETURN = r"""
_value:
  description: >-
    C(ok) (verdict V(gdrdma) and no problem), C(verdict), C(reason), C(counts) (verdict to number of pairs), C(pairs)
    (list of C(source), C(target), C(source_host), C(target_host), C(verdict), C(reason), C(send) and C(receive), each
    with C(path), C(reason), C(lines), C(devices)), C(hosts), C(nranks), C(layers) (V(RoCE) or V(IB)),
    C(versions), C(notes), C(problems) (list of C(code), C(message)).
  type: dict
"""

from typing import Any, Callable, Sequence

from ansible.errors import AnsibleFilterError

from ..module_utils._results.path.path_verdict import judge
from ..module_utils._results.readers.nccl_log import read
from ..module_utils._results.readers.reading import source_of


def nccl_path(log: Any, ranks: int | None = None, hosts: Sequence[str] | None = None) -> dict[str, Any]:
    if hosts is not None and (isinstance(hosts, str) or not all(isinstance(name, str) for name in hosts)):
        raise AnsibleFilterError(f"nccl_path: hosts is {hosts!r}; wants a list of names")
    try:
        found = read(source_of(log), hosts or ())
    except ValueError as error:
        raise AnsibleFilterError(f"nccl_path: {error}") from error
    except OSError as error:
        raise AnsibleFilterError(
            f"nccl_path: {log}: cannot be read ({error.strerror}); give a log on this machine"
        ) from error
    return judge(found, None if ranks is None else int(ranks), hosts).as_result()


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"nccl_path": nccl_path}
