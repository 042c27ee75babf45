"""More wrong inventories of one mistake each, and right ones that are unusual.

Written from what the variables mean, before the rules were read; what each row expects was fixed before it was run.
"""

from __future__ import annotations

from typing import Any

from tests.unit.preflight.inventories import A, E, G, Inventory, Mistake, S, right


class Absent(Mistake):
    """``variable`` is not said."""

    def __call__(self, inventory: Inventory) -> None:
        self.row(inventory).pop(self.variable)


class Misspelt(Mistake):
    """``variable`` is said under the name ``value``."""

    def __call__(self, inventory: Inventory) -> None:
        row = self.row(inventory)
        row[self.value] = row.pop(self.variable)

    @property
    def thing(self) -> str:
        return str(self.value)


class Added(Mistake):
    """``where``: group that gets the host ``variable`` too."""

    def __call__(self, inventory: Inventory) -> None:
        inventory["groups"][self.where]["hosts"][self.variable] = self.value


class Renamed(Mistake):
    """The group ``variable`` has the name ``value``. Nothing else of such an inventory can be judged."""

    alone = True

    def __call__(self, inventory: Inventory) -> None:
        groups = inventory["groups"]
        groups[self.value] = groups.pop(self.variable)


QOS = {"guest_qos_enabled": True}
RAILS, CUMULUS, IPV6 = {"rails": 2}, {"driver": "cumulus"}, {"version": 6}
SHA = "sha256:" + "0" * 64

MORE: tuple[Mistake, ...] = (
    # Addresses and networks.
    Mistake("login-octet", "gpu002", "ansible_host", "172.16.0.300"),
    Mistake("login-three-octets", "gpu002", "ansible_host", "172.16.2"),
    Mistake("login-commas", "gpu002", "ansible_host", "172,16,0,2"),
    Mistake("login-and-port", "gpu002", "ansible_host", "172.16.0.2:2222"),
    Mistake("login-and-user", "gpu002", "ansible_host", "nvidia@172.16.0.2"),
    Mistake("login-nowhere", "gpu002", "ansible_host", "0.0.0.0"),
    Mistake("login-list", "gpu002", "ansible_host", ["172.16.0.2", "10.100.0.2"]),
    Mistake("address-leading-zeros", "gpu002", "rocemesh_address", "10.100.000.002"),
    Mistake("address-list", "gpu002", "rocemesh_address", ["10.100.0.2"]),
    Absent("address-absent", "gpu002", "rocemesh_address", None),
    Mistake("address-zone", "gpu002", "rocemesh_address", "fd00:0::2%eth1", size=IPV6),
    Mistake("address-brackets", "gpu002", "rocemesh_address", "[fd00:0::2]", size=IPV6),
    Mistake("run-network-too-small", A, "run_network", "10.100.0.0/30", "rocemesh_address"),
    Mistake("run-network-mask", A, "run_network", "10.100.0.0 255.255.0.0"),
    Mistake("run-network-list", A, "run_network", ["10.100.0.0/16", "10.101.0.0/16"]),
    Mistake("run-network-interface", A, "run_network", "eth1"),
    Mistake("run-network-everything", A, "run_network", "0.0.0.0/0"),
    Mistake("run-network-ipv6", A, "run_network", "fd00::/64", "rocemesh_address"),
    Mistake("mesh-cidr-elsewhere", A, "mesh_cidr", ["10.200.0.0/16"], "rocemesh_address"),
    Mistake("guest-networks-elsewhere", G, "guest_networks", ["10.200.0.0/16"]),
    Mistake("guest-networks-everything", G, "guest_networks", ["0.0.0.0/0"]),
    Mistake("rails-not-of-guest", G, "guest_networks", ["10.100.0.0/16"], size=RAILS),
    Mistake("mesh-address-of-group", G, "mesh_address", "10.100.0.1"),
    Mistake("switch-address-twice", "leaf02", "ansible_host", "192.0.2.2", size=RAILS),
    # MTU, VLAN, quality of service.
    Mistake("vlan-with-word", S, "switch_vlan", "vlan111"),
    Absent("vlan-absent", S, "switch_vlan", None),
    Mistake("switch-mtu-unit", S, "switch_mtu", "9k"),
    Mistake("switch-mtu-1400", S, "switch_mtu", 1400),
    Mistake("guest-mtu-above-switch", G, "guest_mtu", 9500),
    Mistake("pfc-of-another-priority", A, "guest_qos_pfc", "0,0,0,0,1,0,0,0", beside=QOS),
    Mistake("pfc-nowhere", A, "guest_qos_pfc", "0,0,0,0,0,0,0,0", beside=QOS),
    Mistake("pfc-seven", A, "guest_qos_pfc", "0,0,0,1,0,0,0"),
    Mistake("pfc-two", A, "guest_qos_pfc", "0,0,0,2,0,0,0,0"),
    Mistake("dscp-map-64", A, "guest_qos_dscp_priority", {"64": 3}),
    Mistake("dscp-map-8", A, "guest_qos_dscp_priority", {"26": 8}),
    Mistake("dscp-map-without-pfc", A, "guest_qos_dscp_priority", {"26": 4}, beside=QOS),
    Mistake("tos-is-dscp", A, "guest_qos_tos", 26, beside=QOS),
    Mistake("trust", A, "guest_qos_trust", "L3"),
    Mistake("dscp-name", A, "run_rdma_dscp", "AF31"),
    Mistake("dscp-without-pfc", A, "run_rdma_dscp", 46, beside=QOS),
    Mistake("priority-of-switch-alone", S, "switch_roce_priority", 5, "guest_qos_pfc", beside=QOS),
    Mistake("roce-priority-9", A, "rocemesh_roce_priority", 9),
    Mistake("fabric-tos-is-dscp", A, "fabric_options", {"tos": 26}, beside=QOS),
    Mistake("nccl-tc-is-dscp", A, "run_env", {"NCCL_IB_TC": "26"}, beside=QOS),
    # Switches.
    Mistake("ports-of-cumulus", S, "switch_ports", ["swp1-4"]),
    Mistake("driver-of-other-ports", S, "rocemesh_switch_driver", "cumulus", "switch_ports"),
    Mistake("ports-none", S, "switch_ports", []),
    Mistake("ports-dots", S, "switch_ports", ["1/1..1/4"]),
    Mistake("port-0", S, "switch_ports", ["1/0-1/3"]),
    Mistake("driver-unknown", S, "rocemesh_switch_driver", "mlnx-os"),
    Mistake("port-mode-hybrid", S, "switch_port_mode", "hybrid"),
    Mistake("routed-without-addresses", S, "switch_port_mode", "routed", "switch_addresses"),
    Mistake("roce-mode-of-other-driver", S, "switch_roce_mode", "lossless-single-ipool"),
    Mistake("roce-mode-of-onyx", S, "switch_roce_mode", "semi-lossless", size=CUMULUS),
    Mistake("confirm-before-links", S, "switch_options", {"confirm_timeout": 30}, size=CUMULUS),
    Absent("switch-password-absent", S, "switch_password", None),
    Mistake("switch-user-empty", S, "switch_username", ""),
    Mistake("switch-known-hosts", S, "switch_known_hosts", "/etc/rocemesh/known_host"),
    Mistake("switch-timeout-0", S, "switch_options", {"timeout": 0}),
    Mistake("mode-change-all", S, "switch_allow_mode_change", "all"),
    Mistake("neighbors-any", S, "switch_options", {"allow_unexpected_neighbors": "any"}),
    Mistake("watchdog", S, "switch_options", {"pfc_watchdog": "enable"}),
    # vCenter, ESXi hosts, VMs, windows.
    Mistake("vcenter-is-esxi", A, "rocemesh_vcenter_hostname", "esx001.example.com"),
    Mistake("vcenter-empty", A, "rocemesh_vcenter_hostname", ""),
    Absent("vcenter-password-absent", A, "rocemesh_vcenter_password", None),
    Mistake("vcenter-vault-misspelt", A, "rocemesh_vcenter_password", "{{ vault_vcenter_pasword }}"),
    Mistake("vcenter-ca", A, "rocemesh_vcenter_ca_path", "/etc/ssl/vcenter-missing.pem"),
    Mistake("vcenter-port-and-protocol", A, "rocemesh_vcenter_port", "443/tcp"),
    Added("vm-among-esxi-hosts", E, "gpu001", None),
    Renamed("group-gpu-vm", A, "gpu_vms", "gpu_vm"),
    Renamed("group-esxi", A, "esxi_hosts", "esxi"),
    Renamed("group-switch", A, "switches", "switch"),
    Mistake("kernel-setting-word", E, "esxi_host_kernel_settings", {"atsSupport": "enabled"}),
    Mistake("kernel-setting-against-guest", E, "esxi_host_kernel_settings", {"atsSupport": False}),
    Mistake("numa-word", G, "gpu_vm_numa_node_affinity", "node0"),
    Mistake("numa-negative", G, "gpu_vm_numa_node_affinity", [-1]),
    Mistake("mmio-without-64bit", G, "gpu_vm_wanted", {"use_64bit_mmio": False, "mmio_size_gb": 256}),
    Mistake("mmio-perhaps", G, "gpu_vm_wanted", {"use_64bit_mmio": "maybe"}),
    Mistake("reserve-memory", G, "gpu_vm_wanted", {"reserve_memory": "all"}),
    Mistake("hard-off", A, "rocemesh_hard_off", "maybe"),
    Mistake("shutdown-timeout", A, "rocemesh_shutdown_timeout", "5m"),
    Mistake("maintenance-timeout", A, "rocemesh_maintenance_timeout", -600),
    Mistake("reboot-timeout-none", A, "rocemesh_reboot_timeout", 0),
    Mistake("apply-timeout-none", S, "switch_options", {"apply_timeout": 0}),
    Mistake("skip-unknown", A, "rocemesh_skip_hosts", "esx0002.example.com"),
    Mistake("accept-unknown", A, "rocemesh_accept_boot", ["gpu0002"]),
    Mistake("max-unavailable-fraction", A, "rocemesh_max_unavailable", 1.5),
    Mistake("window-text", A, "rocemesh_change_window", "22:00-04:00"),
    Mistake("plan-minutes", A, "rocemesh_plan_host_reboot_minutes", "15 min"),
    # Guests.
    Mistake("ssh-port", "gpu002", "ansible_port", 222222),
    Mistake("ssh-user-blank", "gpu002", "ansible_user", "nvidia user"),
    Mistake("ssh-key", G, "ansible_ssh_private_key_file", "/root/.ssh/id_of_nobody"),
    Mistake("slots-all", "gpu002", "rocemesh_slots", "all"),
    Mistake("interface-misspelt", G, "guest_interfaces", ["eht1"]),
    Mistake("device-short", G, "guest_devices", ["13:00"]),
    Mistake("device-auto-and-more", G, "guest_devices", ["auto", "0000:13:00.0"]),
    Mistake("ofed-url", G, "guest_ofed_url", "mirror.example.com/MLNX_OFED.tgz"),
    Mistake("ofed-no-checksum", A, "guest_ofed_url", "https://mirror.example.com/ofed.tgz", "guest_ofed_checksum",
            beside={"guest_ofed_profile": "guide"}),
    # Containers.
    Mistake("registry-port", A, "container_registry", "registry.example.com:99999"),
    Mistake("registry-path", A, "container_registry", "registry.example.com/project"),
    Mistake("registry-name-alone", A, "container_registry", "registry"),
    Mistake("registry-empty", A, "container_registry", ""),
    Mistake("registry-shell", A, "container_registry", "${REGISTRY}:5000"),
    Absent("registry-user-alone", A, "container_registry_password", None),
    Absent("registry-password-alone", A, "container_registry_username", None),
    Mistake("registry-ca", A, "container_registry_ca_path", "/etc/ssl/registry-missing.pem"),
    Mistake("image-capitals", A, "container_image", "MultiNode"),
    Mistake("image-and-tag", A, "container_image", "multinode:v1"),
    Mistake("tag-slash", A, "container_image_tag", "2026/11"),
    Mistake("shm-negative", A, "container_shm_size", "-1g"),
    Mistake("volume-relative", A, "container_volumes", ["./data:/data"]),
    Mistake("volume-mode", A, "container_volumes", ["/data:/data:readonly"]),
    Mistake("volume-mode-alone", A, "container_volumes", ["/data:ro"]),
    Mistake("volume-without-target", A, "container_volumes", ["/data:"]),
    Mistake("env-list", A, "container_env", ["HTTP_PROXY=http://proxy:3128"]),
    Mistake("container-name-blank", A, "container_name", "mpi cont"),
    Mistake("memlock-word", A, "container_memlock", "unlimited"),
    Mistake("context-missing", A, "container_build_context", "/srv/workloads-missing"),
    Mistake("builder-unknown", A, "container_build_host", "builder01"),
    Mistake("toolkit-no-checksum", A, "container_toolkit_source",
            {"repository": "https://mirror.example.com/deb/amd64", "key_url": "https://mirror.example.com/gpgkey"}),
    # Mesh, run, checks, benchmarks, report.
    Mistake("head-unknown", A, "mesh_head", "head01"),
    Mistake("head-not-first", A, "mesh_head", "gpu002"),
    Mistake("host-login-without-guide", A, "mesh_host_login", True),
    Mistake("transport", A, "mesh_transport", "ssh"),
    Mistake("master-port-of-mesh", A, "run_master_port", 2222),
    Mistake("graph-warmup", A, "run_num_warmup_batches", 5, beside={"run_tuning": {"cuda_graph": True}}),
    Mistake("graph-fp16", A, "run_tuning", {"cuda_graph": True}, beside={"run_precision": "fp16"}),
    Mistake("display-0", A, "run_display_every", 0),
    Mistake("env-value-list", A, "run_env", {"NCCL_IB_HCA": ["mlx5_0", "mlx5_1"]}),
    Mistake("env-name-blank", A, "run_env", {"NCCL DEBUG": "INFO"}),
    Mistake("env-against-path", A, "run_env", {"NCCL_IB_DISABLE": "1"}, beside={"run_require_path": "gdrdma"}),
    Mistake("site-name", A, "run_site", "site a/1"),
    Mistake("looks-too-rare", A, "run_progress_interval", 120),
    Mistake("timeout-comma", A, "run_timeout", "3,600"),
    Mistake("handoff-name", A, "run_handoff_name", "ResNet 50"),
    Mistake("handoff-launcher", A, "run_handoff_launchers", ["slurm", "k8s"]),
    Mistake("fabric-program", A, "fabric_programs", ["ib_write_bandwidth"]),
    Mistake("fabric-seconds", A, "fabric_options", {"seconds": 0.5}),
    Mistake("fabric-size", A, "fabric_options", {"size": "1M"}),
    Mistake("benchmark-part", A, "benchmark_parts", ["bandwith"]),
    Mistake("benchmark-network", A, "benchmark_bandwidth", {"networks": ["resnet-50"]}),
    Mistake("benchmark-dropped", A, "benchmark_scaling", {"dropped": 120}),
    Mistake("benchmark-iterations", A, "benchmark_bandwidth", {"iterations": 500}),
    Mistake("accepted-no-reason", A, "report_accepted_findings", [{"cause": "switch_pfc"}]),
    Mistake("accepted-no-cause", A, "report_accepted_findings", [{"cause": "switch_pcf", "why": "it is a lab"}]),
    # Names of variables.
    Misspelt("misspelt-guest-mtu", G, "guest_mtu", "guest_mut"),
    Misspelt("misspelt-max-unavailable", A, "rocemesh_max_unavailable", "rocemesh_max_unavailble"),
    Misspelt("misspelt-batch", A, "run_batch_size", "run_bach_size"),
    Misspelt("misspelt-switch-mtu", S, "switch_mtu", "switch_mtus"),
)  # fmt: skip

# Written after the rules that the rows above brought, and again before any was run.
LATER: tuple[Mistake, ...] = (
    Mistake("user-placeholder", A, "rocemesh_vcenter_username", "<user>"),
    Mistake("vcenter-placeholder", A, "rocemesh_vcenter_hostname", "CHANGEME"),
    Mistake("switch-has-address-of-vm", "leaf01", "ansible_host", "10.100.0.2"),
    Mistake("vcenter-has-address-of-switch", A, "rocemesh_vcenter_hostname", "192.0.2.2"),
    Mistake("window-too-short", A, "rocemesh_change_window_least_minutes", 600,
            beside={"rocemesh_change_window": [{"start": "22:00", "end": "04:00"}]}),
    Mistake("shm-bytes", A, "container_shm_size", 8),
    Mistake("memlock-bytes", A, "container_memlock", 64),
    Mistake("key-is-public", G, "ansible_ssh_private_key_file", "~/.ssh/id_ed25519.pub"),
    Mistake("fabric-mtu", A, "fabric_options", {"mtu": 1500}),
    Mistake("consistency-mtu", A, "consistency_mtu", 9216),
    Mistake("consistency-priority", A, "consistency_priority", 4),
    Mistake("switch-priority-alone", S, "switch_roce_priority", 5),
    Mistake("benchmark-small-images", A, "benchmark_image_size", 64),
    Mistake("benchmark-precision", A, "benchmark_scaling", {"batches": {"fp64": 8}}),
    Mistake("benchmark-case", A, "benchmark_scaling", {"cases": ["2x8"]}),
    Mistake("capabilities", A, "container_capabilities", ["SYS_PTRACE"]),
    Mistake("container-user-root", A, "container_user", {"name": "root", "uid": 0, "gid": 0, "home": "/root"}),
    Mistake("container-user-without-home", A, "container_user", {"name": "mpi", "uid": 1000, "gid": 1000}),
    Mistake("handoff-memory", A, "run_handoff_options", {"shared_memory": "1 gigabyte"}),
    Mistake("python-2", G, "ansible_python_interpreter", "/usr/bin/python2.7"),
    Mistake("fabric-limit", A, "fabric_limit", 0),
    Mistake("container-of-another-name", A, "container_name", "trainer"),
    Mistake("fabric-gate-boolean", A, "rocemesh_fabric_gate", False),
    Mistake("guest-networks-mapping", G, "guest_networks", {"rail1": "10.100.0.0/16"}),
    Mistake("mmio-terabyte", G, "gpu_vm_wanted", {"mmio_size_gb": "1TB"}),
    # Of a third, who read none of the rules before.
    Mistake("adopts-an-unknown-host", A, "rocemesh_adopt_maintenance", "esx9"),
    Mistake("interface-of-no-vm", A, "run_env", {"NCCL_SOCKET_IFNAME": "eth9"}),
    Mistake("interface-that-is-none-exactly", A, "run_env", {"NCCL_SOCKET_IFNAME": "=eth"}),
    Mistake("device-of-no-vm", A, "run_env", {"NCCL_IB_HCA": "mlx5_0,mlx5_9:1"}),
    Mistake("kernel-setting-misspelt", E, "esxi_host_kernel_settings", {"atsSuport": True}),
    Mistake("lease-of-seconds", A, "rocemesh_lease_seconds", 5),
    Mistake("mesh-on-the-port-of-ssh", A, "mesh_ssh_port", 22),
    Mistake("vlan-with-a-part", S, "switch_vlan", 1.5),
    Mistake("address-of-the-engine", "gpu002", "rocemesh_address", "172.17.0.1"),
    Mistake("login-port-with-protocol", "gpu002", "ansible_port", "22/tcp"),
    Mistake("vcenter-is-a-switch", A, "rocemesh_vcenter_hostname", "192.0.2.2"),
    Mistake("vault-variable-misspelt", A, "rocemesh_vcenter_password", "{{ vault_vcenter_pasword }}"),
)  # fmt: skip


def _of_switch(driver: str, ports: list[str], **values: Any) -> Inventory:
    inventory = right(4, driver=driver)
    inventory["groups"]["switches"]["vars"].update(switch_ports=ports, **values)
    return inventory


def _with(place: str = A, *, size: dict[str, Any] | None = None, **values: Any) -> Inventory:
    inventory = right(**(size or {}))
    (inventory["all"] if place == A else inventory["groups"][place]["vars"]).update(values)
    return inventory


def _long_ipv6() -> Inventory:
    inventory = right(version=6)
    for at, row in enumerate(inventory["groups"]["gpu_vms"]["hosts"].values()):
        row["rocemesh_address"] = f"FD00:0000:0000:0000:0000:0000:0000:{at + 1:04X}"
    return inventory


def _routed() -> Inventory:
    inventory = _of_switch("nxos", ["Ethernet1/1-4"], switch_port_mode="routed", switch_mtu=9216)
    del inventory["groups"]["switches"]["vars"]["switch_vlan"]
    return inventory


def _names() -> Inventory:
    """Logins by name, port and user of their own; VMs that vCenter knows by a title."""
    inventory = right()
    for at, (vm, row) in enumerate(list(inventory["groups"]["gpu_vms"]["hosts"].items())):
        title = f"ML GPU node {at + 1} (prod)"
        row.update(
            ansible_host=f"{vm}.mgmt.example.com",
            ansible_port="2222",
            ansible_user="svc-ai@corp.example.com",
            gpu_vm_name=title,
        )
        inventory["vcenter"]["placed"][title] = inventory["vcenter"]["placed"].pop(vm)
        inventory["vcenter"]["hosts"][at]["running_vms"] = [title]
    return inventory  # fmt: skip


def _no_login() -> Inventory:
    inventory = right()
    del inventory["all"]["container_registry_username"], inventory["all"]["container_registry_password"]
    return inventory


def _more_groups() -> Inventory:
    """Racks of VMs and hosts beside the three groups, with variables of their own."""
    inventory = right()
    inventory["groups"]["rack_a"] = {"vars": {"rack": "A"}, "hosts": {"gpu001": None, "esx001.example.com": None}}
    inventory["groups"]["rack_b"] = {"vars": {"rack": "B"}, "hosts": {"gpu002": None, "leaf01": None}}
    return inventory


def _over_management() -> Inventory:
    """Mesh and MPI over the management network, RoCE on two rails, as inventories/example-rails has it."""
    inventory = right(rails=2)
    inventory["all"].update(run_network="172.16.0.0/24", mesh_cidr=["172.16.0.0/24"])
    for vm, row in inventory["groups"]["gpu_vms"]["hosts"].items():
        row["rocemesh_address"] = row["ansible_host"]
        inventory["nodes"][vm]["addresses"]["eth0"] = [row["ansible_host"] + "/24"]
    return inventory


def _alone() -> Inventory:
    """Each ESXi host is asked itself."""
    inventory = right()
    for host in inventory["groups"]["esxi_hosts"]["hosts"]:
        inventory["groups"]["esxi_hosts"]["hosts"][host] = {"rocemesh_vcenter_hostname": host}
    return inventory


def _one_leaf() -> Inventory:
    inventory = right(rails=2)
    del inventory["groups"]["switches"]["hosts"]["leaf02"]
    inventory["groups"]["switches"]["vars"]["switch_ports"] = ["1/1-1/4", "1/17-1/20"]
    return inventory


def _templates() -> Inventory:
    inventory = _with(vault_vcenter="s3cr3t-Kb", rocemesh_vcenter_password="{{ vault_vcenter }}")
    inventory["groups"]["gpu_vms"]["vars"]["guest_networks"] = ["{{ run_network }}"]
    return inventory


# No role reads these. That is said, and stops nothing.
OWN = _with(
    switch_rack="A3",
    run_owner="ml-team",
    guest_ntp_servers=["192.0.2.1"],
    container_team="ai",
    fabric_ticket=4711,
    mesh_contact="ops@example.com",
)
UNUSUAL: dict[str, Inventory] = {
    "long-ipv6": _long_ipv6(),
    "split-ports": _of_switch("onyx", ["1/1/1-1/1/4"]),
    "ports-as-the-switch-says": _of_switch("onyx", ["ethernet 1/1-1/4"]),
    "eos-trunks": _of_switch("eos", ["Ethernet1/1-4"], switch_port_mode="trunk", switch_mtu=9214),
    "sonic": _of_switch("sonic", ["Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12"], switch_mtu=9100),
    "nxos-routed": _routed(),
    "driver-of-its-own": _of_switch("acme.network.junos", ["et-0/0/0", "et-0/0/1", "et-0/0/2", "et-0/0/3"]),
    "names": _names(),
    "no-login": _no_login(),
    "more-groups": _more_groups(),
    "over-management": _over_management(),
    "one-leaf": _one_leaf(),
    "templates": _templates(),
    "another-priority": _with(size=CUMULUS, switch_roce_priority=5, rocemesh_roce_priority=5, guest_qos_enabled=True,
                              guest_qos_pfc="0,0,0,0,0,1,0,0", guest_qos_tos=186, run_rdma_dscp=46,
                              fabric_options={"tos": 186}, consistency_dscp=46, consistency_priority=5),
    "map-to-another-priority": _with(guest_qos_enabled="yes", guest_qos_dscp_priority={"46": 3}, guest_qos_tos=186,
                                     run_rdma_dscp="46"),
    "numbers-as-text": _with(run_batch_size="256", run_timeout="7200", fabric_options={"drop": "0.2"},
                             container_memlock="-1",
                             rocemesh_lease_seconds="1800", mesh_ssh_port="2222", preflight_timeout="20"),
    "rails-twice": _with(rocemesh_roce_networks=["10.100.0.0/16", "10.100.0.0/16"]),
    "rails-with-blanks": _with(size=RAILS, rocemesh_roce_networks="10.100.0.0/16 10.101.0.0/16"),
    "guest-networks-around-rails": _with(G, size=RAILS, guest_networks=["10.96.0.0/12"]),
    "pci-without-domain": _with(gpu_vm_gpu_pci_ids={"0": "3b:00.0"}),
    "esxi-hosts-without-vcenter": _alone(),
    "words-of-ini": _with(rocemesh_vcenter_validate_certs="no", rocemesh_vcenter_ca_path="/nowhere/ca.pem",
                          switch_host_key_checking="off", switch_known_hosts="/nowhere/known_hosts"),
    "words-of-yaml": _with(gpu_vm_final_power=True, container_nccl_topology=False),
    "one-name-of-container": _with(container_name="trainer", mesh_container_name="trainer", run_container="trainer"),
    "no-limits": _with(container_memlock=-1, container_shm_size="64m"),
    "mtu-everywhere": _with(fabric_options={"mtu": 9000}, consistency_mtu="9000"),
    "small-images": _with(benchmark_image_size=64, benchmark_scoring={"models": ["resnet50"]},
                          benchmark_training={"models": ["alexnet*8"]}, benchmark_scaling={"cases": ["1n1g", "2n8g"]}),
    "container": _with(container_volumes=["/data:/data:ro", "scratch:/scratch", "/mnt/nfs:/nfs:ro,z", "/cache"],
                       container_env={"HTTP_PROXY": "http://proxy:3128", "OMP_NUM_THREADS": 4},
                       container_capabilities=["AUDIT_WRITE", "IPC_LOCK", "SETGID", "SETUID", "SYS_CHROOT",
                                               "SYS_PTRACE"], container_image="ai/multi-node_v2"),
    "guide-transport": _with(mesh_guide_compatible=True, mesh_host_login=True, mesh_ssh_port=22, mesh_topology="all"),
    "head-of-all": _with(mesh_topology="all", mesh_head="gpu002"),
    "left-out": _with(rocemesh_skip_hosts="esx001.example.com, gpu002", rocemesh_accept_boot=["gpu003"],
                      rocemesh_adopt_maintenance=["esx002.example.com"]),
    "devices-of-nccl": _with(run_env={"NCCL_IB_HCA": "=mlx5_0:1", "NCCL_SOCKET_IFNAME": "^docker,lo"}),
    "interfaces-by-beginning": _with(run_env={"NCCL_IB_HCA": "mlx5", "NCCL_SOCKET_IFNAME": "eth"},
                                     rocemesh_adopt_maintenance="esx001.example.com,host-21",
                                     esxi_host_kernel_settings={"ATSSupport": True, "netNetqMaxRxQueueFeatPairs": 1}),
    "graph": _with(run_tuning={"cuda_graph": "true"}, run_num_warmup_batches=11, run_progress_interval=30),
}  # fmt: skip
