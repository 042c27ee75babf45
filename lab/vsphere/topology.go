// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// Topology is the inventory to simulate; README.md documents the file.
type Topology struct {
	Datacenter      string     `json:"datacenter"`
	Cluster         string     `json:"cluster"`
	Release         string     `json:"release"` // 8.0U2 (default), 8.0U3, 9.0 or 9.1
	BootSeconds     float64    `json:"boot_seconds"`
	ShutdownSeconds float64    `json:"shutdown_seconds"`
	AgentSeconds    float64    `json:"agent_seconds"`  // how long esxcli stays silent on a host that is connected again
	BackupSeconds   float64    `json:"backup_seconds"` // how often a host writes its settings to the boot bank
	DRS             bool       `json:"drs"`            // fully automated: VMs that can move leave a host that enters maintenance mode
	Hosts           []HostSpec `json:"hosts"`
}

// HostSpec is one ESXi host.
type HostSpec struct {
	Name   string            `json:"name"`
	VMs    []VMSpec          `json:"vms"`
	Kernel map[string]string `json:"kernel"` // setting -> value that is configured and in force at the start
	// "incomplete": the tables name no node for GPUs and no bridge for NICs, as those of some servers do
	FirmwareTables string `json:"firmware_tables"`
	// pairs of a NIC and a GPU on each NUMA node, if it has more than one per VM; their VMs name them by address
	Pairs [numaNodes]int `json:"pairs"`
	// each pair is below a PCIe switch of its own, and not below two root ports
	PCIeSwitches bool `json:"pcie_switches"`
	// address of a device -> its DirectPath mode, as release 9.1 shows it
	Modes map[string]string `json:"modes"`
}

// VMSpec is one VM; a plain string in the file means a GPU VM of that name with all defaults.
type VMSpec struct {
	Name          string            `json:"name"`
	Passthrough   *bool             `json:"passthrough"`    // one NIC and one GPU; default true
	Node          *int              `json:"node"`           // NUMA node of the NIC; default: position in the list modulo 2
	GPUNode       *int              `json:"gpu_node"`       // NUMA node of the GPU; default: node
	Folder        string            `json:"folder"`         // subfolder of the datacenter's vm folder
	Power         string            `json:"power"`          // on | off; default on
	Tools         string            `json:"tools"`          // running | notRunning; default running
	Firmware      string            `json:"firmware"`       // efi | bios; default efi
	ReserveMemory *bool             `json:"reserve_memory"` // default true
	MemoryMB      int64             `json:"memory_mb"`
	CPUs          int32             `json:"cpus"`
	ExtraConfig   map[string]string `json:"extra_config"` // added to the defaults; "" removes a default
	VCenter       bool              `json:"vcenter"`      // this VM is the vCenter appliance itself
	VCLS          bool              `json:"vcls"`         // embedded vCLS agent of vCenter 8.0 U3
	IP            string            `json:"ip"`
	Hardware      int               `json:"hardware"`   // hardware version; default that of the release
	Configured    *bool             `json:"configured"` // default true; false: as it comes, nothing set for its devices
	Devices       []DeviceSpec      `json:"devices"`    // instead of one NIC and one GPU, both fixed
}

func (t *Topology) release() release { return releases[t.Release] }

// UnmarshalJSON accepts a bare name.
func (s *VMSpec) UnmarshalJSON(data []byte) error {
	var name string
	if json.Unmarshal(data, &name) == nil {
		*s = VMSpec{Name: name}
		return nil
	}
	type plain VMSpec // without this method
	return json.Unmarshal(data, (*plain)(s))
}

func orInt(value *int, otherwise int) int {
	if value == nil {
		return otherwise
	}
	return *value
}

func orBool(value *bool, otherwise bool) bool {
	if value == nil {
		return otherwise
	}
	return *value
}

func readTopology(path string) (*Topology, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t := &Topology{Datacenter: "lab-dc", Cluster: "lab", Release: firstRelease, BootSeconds: 2, ShutdownSeconds: 0.2, BackupSeconds: 3600}
	if err := json.Unmarshal(data, t); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if _, known := releases[t.Release]; !known {
		return nil, fmt.Errorf("%s: release %q", path, t.Release)
	}
	if len(t.Hosts) == 0 {
		return nil, errors.New(path + ": no hosts")
	}
	for h := range t.Hosts {
		position := 0
		for v := range t.Hosts[h].VMs {
			vm := &t.Hosts[h].VMs[v]
			if vm.Name == "" {
				return nil, fmt.Errorf("%s: a VM of host %s has no name", path, t.Hosts[h].Name)
			}
			if vm.Passthrough == nil {
				vm.Passthrough = new(bool)
				*vm.Passthrough = !vm.VCenter && !vm.VCLS
			}
			if *vm.Passthrough {
				node := orInt(vm.Node, position%numaNodes)
				gpu := orInt(vm.GPUNode, node)
				if node < 0 || node >= numaNodes || gpu < 0 || gpu >= numaNodes {
					return nil, fmt.Errorf("%s: VM %s: node must be 0..%d", path, vm.Name, numaNodes-1)
				}
				vm.Node, vm.GPUNode = &node, &gpu
				for d := range vm.Devices {
					if err := vm.Devices[d].check(vm.Name); err != nil {
						return nil, fmt.Errorf("%s: %w", path, err)
					}
				}
				position++
			}
			if vm.Firmware == "" {
				vm.Firmware = "efi"
			}
			if vm.Hardware == 0 {
				vm.Hardware = t.release().hardware
			}
			if vm.Power == "" {
				vm.Power = "on"
			}
			if vm.Tools == "" {
				vm.Tools = "running"
			}
			if vm.MemoryMB == 0 {
				vm.MemoryMB = 65536
			}
			if vm.CPUs == 0 {
				vm.CPUs = 16
			}
		}
	}
	return t, nil
}
