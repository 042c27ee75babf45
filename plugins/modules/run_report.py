#!/usr/bin/python
# Copyright: (c) 2026, rocemesh.multinode contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: the work is done by the action plugin of the same name.

from __future__ import annotations

DOCUMENTATION = r"""
module: run_report
short_description: Write the summary and the report of a site run
version_added: 0.1.0
author: rocemesh.multinode contributors (@rocemesh)
description:
  - Writes C(summary.json) (for programs), C(report.html) and C(report.md) (for people), plots as PNG files and a copy
    of the training log into a folder per run, and points the link C(latest) to it.
  - C(report.html) needs nothing beside itself - plots and style are inside, it has no script and asks no network.
  - The first line of every report is a verdict. V(PROVEN), if every independent witness was heard and agrees. V(PATH
    PROVEN), if those of the data path do, and the fabric or the pace was not observed or is not as it should be. V(NOT
    PROVEN), with the witnesses that are missing or disagree. V(INVALID RUN), with the reason. A run on simulated
    devices is never proven.
  - Limits are computed from O(limits). What is not known is reported as unknown, with what is missing.
  - The shape of C(summary.json) is published as C(plugins/module_utils/_results/report/summary.schema.json).
  - All files are on the disk before the first one takes its name, and the link is swapped in one step. If the disk is
    full, the earlier report stays as it was.
  - Measures nothing and decides nothing - it writes down what it is given. If the given result contradicts itself, the
    report says that it is not a result.
requirements:
  - matplotlib (for the plots only; without it the report says so and is otherwise complete)
extends_documentation_fragment: [rocemesh.multinode.attributes.changes, rocemesh.multinode.attributes.no_restart]
attributes:
  diff_mode:
    support: full
    description: Shows the SHA-256 of each file before and after.
  async:
    support: none
    description: It runs on the controller.
options:
  path:
    description: Folder of all reports. It is created if it is missing.
    type: path
    required: true
  run_id:
    description: Name of this run, and of its folder. Letters, digits, dot, dash and underscore.
    type: str
    required: true
  simulated:
    description: >-
      Whether the devices were simulated. The report then says so in its title, its headline and at each layer.
    type: bool
    default: false
  simulated_layers:
    description: The layers whose devices do not exist, if O(simulated=true).
    type: list
    elements: str
    choices: [switch, esxi, vm, nic, container, mesh, run]
    default: [switch, esxi, vm, nic]
  layers:
    description:
      - What each layer reported. Keys are V(switch), V(esxi), V(vm), V(nic), V(container), V(mesh) and V(run).
      - Each value is a dictionary with C(changed) (bool), C(verified) (bool, or null if it was not checked), C(found)
        (anything) and C(changes) (list of descriptions).
    type: dict
    default: {}
  result:
    description: >-
      The training result as the filter P(rocemesh.multinode.read_log#filter) returns it for V(tf_cnn). Leave it out if
      there was no run.
    type: dict
  stage_marks:
    description: The start of each stage.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the stage.
        type: str
        required: true
      at:
        description: When it started, in seconds since 1970 (UTC).
        type: float
        required: true
  started:
    description: When the run started (ISO 8601). Left out, the time of the first mark.
    type: str
    default: ''
  finished:
    description: When the run ended (ISO 8601). Left out, the time of the last mark.
    type: str
    default: ''
  hosts_rebooted:
    description: ESXi hosts that this run rebooted.
    type: list
    elements: str
    default: []
  workload:
    description: Parameters of the training run, shown as they are.
    type: dict
    default: {}
  versions:
    description: Versions of what took part, shown as they are.
    type: dict
    default: {}
  problems:
    description: Problems beside those of O(result). Texts, or dictionaries with C(code) and C(message).
    type: list
    elements: raw
    default: []
  log:
    description:
      - Training log to copy into the folder as C(mpirun.log).
      - Throughput over time is drawn from its step lines, if it is no larger than 256 MiB.
    type: path
  logs:
    description:
      - Folder with all that the programs of the job printed (C(*.log), C(*.err), C(*.out)). Only read.
      - Of a run that is not proven, the report says what is wrong, as M(rocemesh.multinode.doctor) does, from these
        logs and O(evidence). Left out, O(log) is read for it.
    type: path
  expected_ranks:
    description: How many ranks were started. Left out, the number in O(evidence.job).
    type: int
  evidence:
    description:
      - The readings that the verdict rests on, as they were read. What is left out is missing, and the run is not
        proven.
      - All of them have to belong to one run - the same name, hosts, ranks and time.
    type: dict
    default: {}
    suboptions:
      job:
        description:
          - The run, as role P(rocemesh.multinode.run#role) publishes it.
          - C(id) (its name), C(hosts) (name in the inventory to what the host calls itself), C(ranks), C(network) (the
            only network that NCCL was allowed, C(NCCL_NET)), C(rdma_networks) (CIDRs that the NICs have to be in, one
            per rail, if that was asked for), C(cluster_network) (CIDR where NICs are looked for if NCCL does not name
            them), C(started) and C(ended) (seconds since 1970, UTC). C(nic_qos) is V(false) if the inventory asks for a
            lossless class at none of the NICs. C(known_xids) holds entries of C(fabric_known_xids)
            (P(rocemesh.multinode.fabric#role)); these Xids take nothing away.
        type: dict
      nccl_path:
        description:
          - The data path in NCCL's log, as the filter P(rocemesh.multinode.nccl_path#filter) returns it, with C(job)
            (name of the run) and C(at) (when the log of the training was read, in seconds since 1970, UTC). A log
            that was read before the training ended is a part of it, or that of a probe, and proves nothing.
        type: dict
      rdma:
        description:
          - Node to C(start), C(before) and C(after), each what M(rocemesh.multinode.rdma_info) returned, with C(at)
            (seconds since 1970, UTC), and C(error), the reason why there is none.
          - Counters and, where O(limits) does not say them, limits are computed from it. C(start) is for the limits.
        type: dict
      switches:
        description: >-
          Switch to C(before) and C(after), each C(ports) (of the hosts, without uplinks) as the info modules of the
          switches return them, C(at) and C(error).
        type: dict
      fabric:
        description: >-
          The fabric check before the job - C(report) (C(fabric_report) of role P(rocemesh.multinode.fabric#role)),
          C(at) (seconds since 1970, UTC) and C(heat_map) (SVG); or C(skipped), the reason why there was none. The only
          one that may be missing.
        type: dict
      hosts:
        description: >-
          Host to what it said after the job - C(said) (outputs of many commands, each below a line
          C(=== ROCEMESH NAME)), C(at) (seconds since 1970, UTC), C(since) (the kernel log counts from then on, V(0) for
          all of it), C(error). For the doctor alone.
        type: dict
      vcenter:
        description: What C(vcenter_site_info) returned. For the doctor alone.
        type: dict
  limits:
    description: >-
      What you say of the cluster. It goes before what was found in O(evidence). Whatever neither says is unknown, and
      so is each limit that needs it.
    type: dict
    default: {}
    suboptions:
      nic_link_gbit_per_s:
        description: Link speed of one NIC, in Gbit/s.
        type: float
      nics_per_node:
        description: NICs per node that carry the training.
        type: int
      roce_mtu_bytes:
        description: RoCE MTU in force (C(active_mtu) of the NIC), in bytes.
        type: int
      interface_mtu_bytes:
        description: MTU of the network interface, in bytes. Used if O(limits.roce_mtu_bytes) is not known.
        type: int
      vlan_tagged:
        description: Whether the NIC's packets carry a VLAN tag.
        type: bool
      ip_version:
        description: IP version of the RoCE v2 packets, V(4) if left out.
        type: int
        choices: [4, 6]
      pcie_link_status:
        description: Line C(LnkSta) of the NIC as C(lspci -vv) prints it.
        type: str
      pcie_generation:
        description: PCIe generation of the NIC's link, V(1) to V(6). Not needed with O(limits.pcie_link_status).
        type: int
      pcie_width:
        description: Number of PCIe lanes. Not needed with O(limits.pcie_link_status).
        type: int
      pcie_max_payload_bytes:
        description: C(MaxPayload) in force (line C(DevCtl) of C(lspci -vv)), in bytes.
        type: int
      nodes:
        description: Number of nodes. Left out, the hosts that the ranks name.
        type: int
      parameters:
        description: Parameters of the model. Known for this collection's ResNet-50.
        type: int
      gradient_precision:
        description: Number format of the gradients on the wire. Known for this collection's ResNet-50.
        type: str
        choices: [fp32, tf32, bf16, fp16]
      least_share:
        description: >-
          Share of what the links of a node carry below which an all-reduce alone is slow. Left out, V(0.75). Give less
          where something else is meant to be the limit, as one PCIe slot for two NICs is, and say so to who reads the
          report.
        type: float
      single_gpu_images_per_s:
        description: >-
          Rate of one GPU of this cluster alone, same batch and precision, in images/s. Left out, the case 1n1g of the
          benchmark scaling, if it has the same batch and precision.
        type: float
      allreduce_s:
        description: >-
          Time of the all-reduce of all gradients alone, in seconds. Left out, the benchmark bandwidth with the same
          network and number of ranks.
        type: float
  accepted_findings:
    description: >-
      Findings of the doctor that you have looked at and accept. The report shows them with their reason
      and keep no run from PROVEN, unless the device itself proves them. A cause that there is not is refused.
    type: list
    elements: dict
    default: []
    suboptions:
      cause:
        description: The cause, as the report names it.
        type: str
        required: true
      why:
        description: Why this is as it should be, for who reads the report.
        type: str
        required: true
      host:
        description: The host alone, as the inventory names it. Left out, every host.
        type: str
  benchmarks:
    description:
      - Folder with the result files C(bandwidth.json), C(scaling.json), C(scoring.json), C(training.json),
        C(nccl_tests.json) and C(perftest.json), each if it exists.
      - Left out, C(benchmarks) in the folder of this run.
    type: path
  plots:
    description: Whether to draw plots.
    type: bool
    default: true
  latest:
    description: Whether to point the link C(latest) to this run.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Write the report
  rocemesh.multinode.run_report:
    path: "{{ playbook_dir }}/reports"
    run_id: 20260131T120000Z
    result: "{{ lookup('ansible.builtin.file', 'mpirun.log') | rocemesh.multinode.read_log('tf_cnn', ranks=4) }}"
    log: mpirun.log
    expected_ranks: 4
    evidence:
      job: "{{ run_outcome.found.job }}"
      nccl_path: "{{ run_outcome.found.data_path }}"
    limits:
      nic_link_gbit_per_s: 100
      nics_per_node: 1
      roce_mtu_bytes: 4096
      vlan_tagged: false
      pcie_link_status: "LnkSta: Speed 16GT/s (ok), Width x16 (ok)"
      pcie_max_payload_bytes: 256
    layers:
      switch: {changed: false, verified: true, found: {roce: enabled}, changes: []}
  delegate_to: localhost
"""

RETURN = r"""
path:
  description: The folder of this run.
  type: str
  returned: success
  sample: reports/20260131T120000Z
headline:
  description: The result in one line.
  type: str
  returned: success
verdict:
  description: The verdict in one line, the first line of every report.
  type: str
  returned: success
  sample: "NOT PROVEN: missing: the data path in NCCL's own log."
doctor:
  description: What the doctor says first of a run that is not proven, in one sentence. Empty for a proven one.
  type: str
  returned: success
files:
  description: Names of the files of this report.
  type: list
  elements: str
  returned: success
plots_missing:
  description: Why there are no plots. Empty, if there are.
  type: str
  returned: success
summary:
  description:
    - The content of C(summary.json), such as C(simulated), C(ranks) (number of ranks with a result),
      C(images_per_second) (C(total) as printed, C(per_rank) as a list, C(sum_of_ranks)), C(agreement) (C(ok) and
      C(relative_difference) between the sum of the ranks and the printed total), C(layers) (for each C(changed),
      C(verified), C(found), C(changes) and C(simulated)), C(stages) (seconds of each) and C(problems) (C(code) and
      C(message) of each). Its published schema has all of it.
  returned: success
  type: dict
"""
