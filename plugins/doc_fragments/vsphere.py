"""Options that every vSphere module of this collection shares."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  hostname:
    description: Name or address of the vCenter server, or of one ESXi host. If not set, E(VMWARE_HOST) is used.
    type: str
    required: true
  username:
    description: Account to log in with. If not set, E(VMWARE_USER) is used.
    type: str
    required: true
  password:
    description: Password of that account. If not set, E(VMWARE_PASSWORD) is used.
    type: str
    required: true
  port:
    description: TCP port of the API. If not set, E(VMWARE_PORT) is used.
    type: int
    default: 443
  validate_certs:
    description: Whether the server's certificate must verify. If not set, E(VMWARE_VALIDATE_CERTS) is used.
    type: bool
    default: true
  ca_path:
    description:
      - PEM file with the CA certificates to verify the server with, on the machine that runs the module.
      - Without it the system's CA certificates are used.
      - If not set, E(VMWARE_CA_PATH) is used.
    type: path
  proxy_host:
    description:
      - Name or address of an HTTP proxy that all requests go through. Needs O(proxy_port). Without it none is used.
      - If not set, E(VMWARE_PROXY_HOST) is used.
    type: str
  proxy_port:
    description: TCP port of that proxy. If not set, E(VMWARE_PROXY_PORT) is used.
    type: int
  timeout:
    description:
      - Seconds that one network operation may take, including the login and the discovery of the API release.
      - A session that vCenter ends is renewed once, without repeating what was already carried out.
    type: int
    default: 30
  vcenter_uuid:
    description:
      - UUID of the vCenter on which ids of hosts and VMs were read, as C(vcenter_uuid) of that reading says.
      - On another vCenter, such as a restored copy with the same ids, the module refuses and nothing is changed.
      - Not compared if not set.
    type: str
attributes:
  action_group:
    description: Use C(group/rocemesh.multinode.vsphere) in C(module_defaults) to set the login of these modules once.
    support: full
    membership:
      - rocemesh.multinode.vsphere
requirements:
  - pyvmomi >= 9.1
notes:
  - Runs on the controller. Use C(delegate_to=localhost) or C(connection=local).
  - ESXi shell and SSH on the hosts are not needed and stay off. Commands of C(esxcli) travel through vCenter.
  - Of the results C(vcenter_uuid) is the UUID of the vCenter; of an ESXi host that is asked itself, that of its
    hardware. C(esxi_host), C(esxi_host_moid) and C(esxi_host_uuid) are the name of a host (that a VM is on), its
    managed object id, and the UUID of its hardware; where several were asked, they stand in the row of each.
  - A failure returns C(error_code), one of V(refused), V(credentials), V(unreachable), V(unknown_format),
    V(apply_failed) and V(not_in_force).
"""

    HOSTS = r"""
options:
  esxi_hostname:
    description:
      - Name of one ESXi host as vCenter shows it, or its managed object id.
      - One of O(esxi_hostname), O(esxi_hostnames) and O(cluster) is needed.
    type: str
  esxi_hostnames:
    description: Names or managed object ids of several ESXi hosts. The result is in RV(hosts).
    type: list
    elements: str
  cluster:
    description:
      - Name or managed object id of a cluster. Alone it means all hosts of the cluster. The result is in RV(hosts).
      - With O(esxi_hostname) or O(esxi_hostnames) it only narrows where these names are looked for. Without it they are
        looked for in the whole inventory.
    type: str
"""

    LEASE = r"""
options:
  lease_seconds:
    description:
      - Seconds that the lease of the datacenter is good without a sign of life from its holder, at least 60. A reboot
        gives one with every step and while it waits.
    type: int
    default: 1800
  take_over:
    description:
      - Name of a run whose lease is taken over although it has not expired. Only for a run that is known to be dead.
    type: str
  run_name:
    description:
      - Name of this run in the lease, and in the mark of a reboot. By default each C(ansible-playbook) is a run of its
        own.
      - All that runs under one name is one run, and has its lease together. Never give a fixed name to what may run
        twice at once.
    type: str
"""
