// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

const (
	numaNodes    = 2
	coresPerNode = 32
	nodeMemory   = int64(256) << 30 // bytes
	noNode       = -1
)

// pciFunction is one row of a host's PCI inventory.
type pciFunction struct {
	bus, slot, function   int
	vendor, device, class int
	vendorName, name      string
	parent                string // address of the bridge above it
	node                  int
	capable, enabled      bool // passthrough
	sriov                 bool
	split                 bool // cut into virtual functions
	memoryGB              int  // of a GPU
}

func (p *pciFunction) address() string {
	return fmt.Sprintf("0000:%02x:%02x.%d", p.bus, p.slot, p.function)
}

// firstBus is where the slots of a node start; each slot takes NIC bus and GPU bus (two above), below one root complex.
var firstBus = [numaNodes]int{0x3b, 0xaf}

// spareBus holds a NIC and a GPU per node that no VM owns.
var spareBus = [numaNodes]int{0x1b, 0x88}

const maxSlotsPerNode = 4

func root(bus, slot, node int) *pciFunction {
	return &pciFunction{bus: bus, slot: slot, vendor: 0x8086, device: 0x2030, class: 0x0604, vendorName: "Intel Corporation",
		name: "Sky Lake-E PCI Express Root Port", node: node}
}

func connectX(bus, function, node int, parent string, enabled bool) *pciFunction {
	return &pciFunction{bus: bus, function: function, vendor: 0x15b3, device: 0x101d, class: 0x0200,
		vendorName: "Mellanox Technologies", name: "MT2892 Family [ConnectX-6 Dx]", parent: parent, node: node,
		capable: true, enabled: enabled, sriov: true}
}

func a100(bus, node int, parent string) *pciFunction {
	return &pciFunction{bus: bus, vendor: 0x10de, device: 0x20f1, class: 0x0302, vendorName: "NVIDIA Corporation",
		name: "GA100 [A100 PCIe 40GB]", parent: parent, node: node, capable: true, enabled: true, memoryGB: 40}
}

func switchPort(bus, slot, node int, parent string) *pciFunction {
	return &pciFunction{bus: bus, slot: slot, vendor: 0x1000, device: 0xc030, class: 0x0604, vendorName: "Broadcom / LSI",
		name: "PCIe Switch", parent: parent, node: node}
}

// complexAt returns the bridges, both ports of one NIC, and one GPU: below root ports of their own, or below one switch.
func complexAt(bus, node int, switched bool) []*pciFunction {
	nicRoot, gpuRoot := root(bus-1, 0, node), root(bus-1, 2, node)
	bridges := []*pciFunction{nicRoot, gpuRoot}
	if switched {
		top := root(bus-3, 0, node)
		up := switchPort(bus-2, 0, node, top.address())
		nicRoot, gpuRoot = switchPort(bus-1, 0, node, up.address()), switchPort(bus-1, 2, node, up.address())
		bridges = []*pciFunction{top, up, nicRoot, gpuRoot}
	}
	return append(bridges,
		connectX(bus, 0, node, nicRoot.address(), true),
		connectX(bus, 1, node, nicRoot.address(), false),
		a100(bus+2, node, gpuRoot.address()))
}

func nicAddress(bus int) string { return fmt.Sprintf("0000:%02x:00.0", bus) }
func gpuAddress(bus int) string { return fmt.Sprintf("0000:%02x:00.0", bus+2) }

// pciInventory is the host's inventory with `slots[n]` NIC+GPU complexes on node n, plus spares and ordinary devices.
func pciInventory(slots [numaNodes]int, switched bool) []*pciFunction {
	functions := []*pciFunction{
		{vendor: 0x8086, device: 0x2020, class: 0x0600, vendorName: "Intel Corporation", name: "Sky Lake-E DMI3 Registers", node: 0},
		root(0, 1, 0),
		// firmware tables place this one in no node, as some hosts do
		{slot: 0x1f, function: 4, vendor: 0x8086, device: 0xa1a3, class: 0x0c05, vendorName: "Intel Corporation", name: "C620 Series Chipset SMBus", node: noNode},
		{slot: 0x17, vendor: 0x8086, device: 0xa182, class: 0x0106, vendorName: "Intel Corporation", name: "C620 Series SATA Controller [AHCI mode]", node: 0, capable: true},
		{bus: 1, vendor: 0x8086, device: 0x1572, class: 0x0200, vendorName: "Intel Corporation", name: "Ethernet Controller X710 for 10GbE SFP+", parent: "0000:00:01.0", node: 0, capable: true, sriov: true},
		{bus: 0x65, vendor: 0x144d, device: 0xa808, class: 0x0108, vendorName: "Samsung Electronics Co Ltd", name: "NVMe SSD Controller SM981/PM981", node: 0, capable: true},
	}
	for node := 0; node < numaNodes; node++ {
		functions = append(functions, complexAt(spareBus[node], node, switched)...)
		for slot := 0; slot < slots[node]; slot++ {
			functions = append(functions, complexAt(firstBus[node]+0x10*slot, node, switched)...)
		}
	}
	return functions
}

func hostPciDevices(functions []*pciFunction) []types.HostPciDevice {
	var out []types.HostPciDevice
	for _, f := range functions {
		out = append(out, types.HostPciDevice{
			Id: f.address(), ClassId: int16(f.class), Bus: byte(f.bus), Slot: byte(f.slot), Function: byte(f.function),
			// ids are signed 16-bit on the wire: 0x8086 arrives as -32634
			VendorId: int16(uint16(f.vendor)), DeviceId: int16(uint16(f.device)),
			SubVendorId: int16(uint16(f.vendor)), SubDeviceId: int16(uint16(f.device)),
			VendorName: f.vendorName, DeviceName: f.name + " (SIMULATED)", ParentBridge: f.parent,
		})
	}
	return out
}

func passthruInfo(functions []*pciFunction, present release, modes map[string]string) []types.BaseHostPciPassthruInfo {
	var out []types.BaseHostPciPassthruInfo
	for _, f := range functions {
		info := types.HostPciPassthruInfo{Id: f.address(), DependentDevice: f.address(),
			PassthruEnabled: f.enabled, PassthruCapable: f.capable, PassthruActive: f.enabled}
		state := present.directPathState(f, modes[f.address()])
		if f.sriov {
			out = append(out, &HostSriovInfo{types.HostSriovInfo{HostPciPassthruInfo: info, SriovCapable: true,
				MaxVirtualFunctionSupported: 8, SriovEnabled: f.split, SriovActive: f.split}, state})
		} else {
			out = append(out, &HostPciPassthruInfo{info, state})
		}
	}
	return out
}

func numaInfo(functions []*pciFunction) *types.HostNumaInfo {
	info := &types.HostNumaInfo{Type: "NUMA", NumNodes: numaNodes}
	for n := 0; n < numaNodes; n++ {
		node := types.HostNumaNode{TypeId: byte(n), MemoryRangeLength: nodeMemory}
		for c := 0; c < coresPerNode; c++ {
			node.CpuID = append(node.CpuID, int16(n*coresPerNode+c))
		}
		for _, f := range functions {
			if f.node == n {
				node.PciId = append(node.PciId, strings.ToUpper(f.address())) // letter case is not documented
			}
		}
		info.NumaNode = append(info.NumaNode, node)
	}
	return info
}
