// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// DeviceSpec is one passthrough device of a VM that says more than "one NIC and one GPU".
type DeviceSpec struct {
	Kind      string `json:"kind"`    // nic | gpu
	Backing   string `json:"backing"` // fixed (default) | dynamic | vgpu | dvx | sriov | plugin (a type that says nothing)
	Node      *int   `json:"node"`    // NUMA node of a fixed device; default: the VM's
	Address   string `json:"address"` // of a fixed device, instead of the VM's own slot
	Number    *int   `json:"number"`  // key 13000+number and label "PCI device <number>"; default: position in the list
	Profile   string `json:"profile"` // of a vGPU; the device class of dvx
	Group     *int32 `json:"group"`   // instance key of the vendor device group
	GroupName string `json:"group_name"`
	Slot      int32  `json:"slot"` // pciSlotNumber, by which the guest knows it; 0: not said
}

const (
	fixedBacking, dynamicBacking, vgpuBacking, sriovBacking = "fixed", "dynamic", "vgpu", "sriov"
	dvxBacking, pluginBacking                               = "dvx", "plugin"
	automatic, notYet                                       = "Automatic-", "0000:00:00.0"
)

// labDevice is such a device of one VM. `assigned`, under lab.mu: what the power-on chose, "" while the VM is off.
type labDevice struct {
	spec     DeviceSpec
	address  string // of a fixed device
	assigned string
}

// VirtualDeviceDeviceGroupInfo and the type below are of API 8.0, which the packaged govmomi does not know. A type's Go
// name is its name on the wire.
type VirtualDeviceDeviceGroupInfo struct {
	GroupInstanceKey int32 `xml:"groupInstanceKey"`
	SequenceId       int32 `xml:"sequenceId"`
}

// VirtualPCIPassthrough is a member of a vendor device group.
type VirtualPCIPassthrough struct {
	types.VirtualDevice
	DeviceGroupInfo *VirtualDeviceDeviceGroupInfo `xml:"deviceGroupInfo,omitempty"`
}

func (s *DeviceSpec) check(vm string) error {
	if s.Backing == "" {
		s.Backing = fixedBacking
	}
	switch {
	case s.Kind != "nic" && s.Kind != "gpu":
		return fmt.Errorf("VM %s: device kind %q: nic or gpu", vm, s.Kind)
	case s.Backing == vgpuBacking && s.Kind != "gpu", s.Backing == sriovBacking && s.Kind != "nic":
		return fmt.Errorf("VM %s: a %s cannot be %s", vm, s.Kind, s.Backing)
	case s.Backing == fixedBacking, s.Backing == dynamicBacking, s.Backing == vgpuBacking, s.Backing == sriovBacking,
		s.Backing == dvxBacking, s.Backing == pluginBacking:
		return nil
	}
	return fmt.Errorf("VM %s: device backing %q", vm, s.Backing)
}

// hasSriov: a VM of this host has an SR-IOV card, so the host's spare NICs are cut into virtual functions.
func (spec *HostSpec) hasSriov() bool {
	for _, vm := range spec.VMs {
		for _, device := range vm.Devices {
			if device.Backing == sriovBacking {
				return true
			}
		}
	}
	return false
}

func (h *labHost) function(address string) *pciFunction {
	for _, f := range h.functions {
		if f.address() == address {
			return f
		}
	}
	return nil
}

// serves tells whether a function of the host may stand behind a device that names none.
func (d *labDevice) serves(f *pciFunction) bool {
	if d.spec.Backing == sriovBacking {
		return f.split
	}
	model := a100(0, 0, "")
	if d.spec.Kind == "nic" {
		model = connectX(0, 0, 0, "", true)
	}
	return f.capable && f.enabled && f.vendor == model.vendor && f.device == model.device
}

// bound tells whether a device names a function of one host, which keeps the VM there.
func (v *labVM) bound() bool {
	if v.devices == nil {
		return *v.spec.Passthrough
	}
	for _, d := range v.devices {
		if d.spec.Backing == fixedBacking {
			return true
		}
	}
	return false
}

// uses lists the functions of the host that the VM has or names. Needs lab.mu.
func (v *labVM) uses() map[string]bool {
	used := map[string]bool{}
	if v.devices == nil {
		used[v.nic], used[v.gpu] = true, true
	}
	for _, d := range v.devices {
		used[d.address] = true
		if d.spec.Backing == dynamicBacking { // a vGPU and a virtual function are shares
			used[d.assigned] = true
		}
	}
	delete(used, "")
	return used
}

// assign chooses functions of the VM's host for the devices that name none, the last free one first: nobody promises
// that it is the one of before. Needs lab.mu.
func (v *labVM) assign() *taskFailure {
	taken := map[string]bool{}
	for _, other := range v.lab.vms {
		if other.host == v.host && (other.on || other == v) {
			for address := range other.uses() {
				taken[address] = true
			}
		}
	}
	for _, d := range v.devices {
		if d.spec.Backing == fixedBacking {
			continue
		}
		for i := len(v.host.functions) - 1; i >= 0 && d.assigned == ""; i-- {
			f := v.host.functions[i]
			shared := d.spec.Backing != dynamicBacking
			if d.serves(f) && (shared || !taken[f.address()]) {
				d.assigned = f.address()
				taken[d.assigned] = true
			}
		}
		if d.assigned == "" {
			v.unassign()
			return failure(&types.GenericVmConfigFault{Reason: "no device"},
				"Module 'DevicePowerOn' power on failed. No host device is available for a passthrough device of "+v.spec.Name+".")
		}
	}
	return nil
}

// unassign needs lab.mu.
func (v *labVM) unassign() {
	for _, d := range v.devices {
		d.assigned = ""
	}
}

// bars is the 64-bit MMIO space in GB that the VM's whole GPUs take: each BAR is its memory rounded up to a power of two,
// and something small beside it. Needs lab.mu.
func (v *labVM) bars() (gpus int, space int) {
	for address := range v.uses() {
		if f := v.host.function(address); f != nil && f.memoryGB > 0 {
			bar := 1
			for bar < f.memoryGB {
				bar *= 2
			}
			gpus, space = gpus+1, space+bar
		}
	}
	return gpus, space
}

// virtual is the device as the API shows it. Needs lab.mu.
func (d *labDevice) virtual(host *labHost, position int) types.BaseVirtualDevice {
	number := orInt(d.spec.Number, position)
	device := types.VirtualDevice{Key: int32(nicKey + number),
		DeviceInfo: &types.Description{Label: fmt.Sprintf("PCI device %d", number), Summary: "SIMULATED"}}
	if d.spec.Slot != 0 {
		device.SlotInfo = &types.VirtualDevicePciBusSlotInfo{PciSlotNumber: d.spec.Slot}
	}
	switch d.spec.Backing {
	case sriovBacking:
		id := automatic + notYet
		if d.assigned != "" {
			id = automatic + d.assigned
		}
		card := &types.VirtualSriovEthernetCard{SriovBacking: &types.VirtualSriovEthernetCardSriovBackingInfo{
			PhysicalFunctionBacking: &types.VirtualPCIPassthroughDeviceBackingInfo{Id: id}}}
		card.Key, card.DeviceInfo = int32(4100+position), &types.Description{Label: fmt.Sprintf("SR-IOV network adapter %d", position+1)}
		return card
	case vgpuBacking:
		backing := &types.VirtualPCIPassthroughVmiopBackingInfo{Vgpu: d.spec.Profile}
		device.Backing = backing
	case dvxBacking:
		device.Backing = &VirtualPCIPassthroughDvxBackingInfo{DeviceClass: d.spec.Profile}
	case pluginBacking:
		device.Backing = &types.VirtualPCIPassthroughPluginBackingInfo{}
	case dynamicBacking:
		model := a100(0, 0, "")
		if d.spec.Kind == "nic" {
			model = connectX(0, 0, 0, "", true)
		}
		device.Backing = &types.VirtualPCIPassthroughDynamicBackingInfo{AssignedId: d.assigned,
			AllowedDevice: []types.VirtualPCIPassthroughAllowedDevice{{VendorId: int32(model.vendor), DeviceId: int32(model.device)}}}
	default:
		f := host.function(d.address)
		if f == nil {
			f = &pciFunction{}
		}
		device.Backing = fixedBackingInfo(f, host, d.address)
	}
	if d.spec.Group != nil {
		return &VirtualPCIPassthrough{device, &VirtualDeviceDeviceGroupInfo{*d.spec.Group, int32(position)}}
	}
	return &types.VirtualPCIPassthrough{VirtualDevice: device}
}

func fixedBackingInfo(f *pciFunction, host *labHost, address string) *types.VirtualPCIPassthroughDeviceBackingInfo {
	return &types.VirtualPCIPassthroughDeviceBackingInfo{
		VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: f.name},
		Id:                             address, DeviceId: fmt.Sprintf("%x", f.device), SystemId: host.host.Summary.Hardware.Uuid,
		VendorId: int16(uint16(f.vendor))}
}

// showDevices publishes the devices of a VM whose topology lists them, with what is assigned at present.
func (v *labVM) showDevices() {
	if v.devices == nil {
		return
	}
	v.shown.Lock()
	defer v.shown.Unlock()
	v.lab.mu.Lock()
	own := []types.BaseVirtualDevice{}
	for position, d := range v.devices {
		own = append(own, d.virtual(v.host, position))
	}
	v.lab.mu.Unlock()
	simulator.Map.WithLock(v.vm.Self, func() {
		var devices []types.BaseVirtualDevice
		for _, device := range v.vm.Config.Hardware.Device {
			switch device.(type) {
			case *types.VirtualPCIPassthrough, *VirtualPCIPassthrough, *types.VirtualSriovEthernetCard:
			default:
				devices = append(devices, device)
			}
		}
		v.vm.Config.Hardware.Device = append(devices, own...)
	})
}

// makeDevices takes the VM's own slot for fixed devices without an address.
func makeDevices(spec *VMSpec, nic, gpu map[int]string) []*labDevice {
	var devices []*labDevice
	for _, each := range spec.Devices {
		d := &labDevice{spec: each}
		if each.Backing == fixedBacking {
			d.address = each.Address
			if d.address == "" {
				slot := nic
				if each.Kind == "gpu" {
					slot = gpu
				}
				d.address = slot[orInt(each.Node, *spec.Node)]
			}
		}
		devices = append(devices, d)
	}
	return devices
}

// assigned lists what the power-on chose, for the state of the lab. Needs lab.mu.
func (v *labVM) assigned() []string {
	found := []string{}
	for _, d := range v.devices {
		if d.assigned != "" {
			found = append(found, d.assigned)
		}
	}
	return found
}
