// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/vmware/govmomi/vim25/types"
)

// release is what vCenter and its hosts say they are. Clients choose the API by it.
type release struct {
	version, api string
	hardware     int  // version that new VMs get
	modes        bool // a host shows the DirectPath mode of each device (API 9.1)
}

const firstRelease = "8.0U2"

var releases = map[string]release{
	firstRelease: {"8.0.2", "8.0.2.0", 20, false},
	"8.0U3":      {"8.0.3", "8.0.3.0", 21, false},
	"9.0":        {"9.0.0", "9.0.0.0", 22, false},
	"9.1":        {"9.1.0", "9.1.0.0", 22, true},
}

func (r release) name(product string) string {
	return fmt.Sprintf("%s %s build-0 (SIMULATED)", product, r.version)
}

// The types below are of API 8.0 and 9.1, which the packaged govmomi does not know. A type's Go name is its name on the
// wire.

type HostPciPassthruInfoDirectPathState struct {
	Mode              string   `xml:"mode"`
	ConfigurableModes []string `xml:"configurableModes,omitempty"`
}

type HostPciPassthruInfo struct {
	types.HostPciPassthruInfo
	DirectPathState *HostPciPassthruInfoDirectPathState `xml:"directPathState,omitempty"`
}

type HostSriovInfo struct {
	types.HostSriovInfo
	DirectPathState *HostPciPassthruInfoDirectPathState `xml:"directPathState,omitempty"`
}

// VirtualPCIPassthroughDvxBackingInfo names a device class; which device stands behind it, no field says.
type VirtualPCIPassthroughDvxBackingInfo struct {
	types.VirtualDeviceBackingInfo
	DeviceClass string `xml:"deviceClass"`
}

// directPathState is the mode of a device and those that it can be given; nil of an older release, or of a device that
// cannot be passed through. `mode`: as the topology says.
func (r release) directPathState(f *pciFunction, mode string) *HostPciPassthruInfoDirectPathState {
	if !r.modes || !f.capable {
		return nil
	}
	state := &HostPciPassthruInfoDirectPathState{Mode: mode, ConfigurableModes: []string{"none", "host", "directPath"}}
	if f.memoryGB > 0 {
		state.ConfigurableModes = append(state.ConfigurableModes, "vGpuSameSize", "vGpuMixedSize", "systemSelect")
	} else if f.vendor == 0x15b3 {
		state.ConfigurableModes = append(state.ConfigurableModes, "enhancedDirectPath")
	}
	if mode == "" && f.enabled {
		state.Mode = "directPath"
	} else if mode == "" {
		state.Mode = "host"
	}
	return state
}

// Device groups are a property of the VM that the packaged property collector does not know.
var (
	groupsPath = regexp.MustCompile(`<(?:\w+:)?pathSet>config\.deviceGroups</(?:\w+:)?pathSet>`)
	machineRow = regexp.MustCompile(`<obj type="VirtualMachine">([^<]+)</obj>`)
)

// withGroups answers for the property collector what it was not asked.
func (l *lab) withGroups(answer []byte) []byte {
	return machineRow.ReplaceAllFunc(answer, func(row []byte) []byte {
		groups := l.groupsOf(string(machineRow.FindSubmatch(row)[1]))
		if groups == "" {
			return row
		}
		return append(append([]byte{}, row...), `<propSet><name>config.deviceGroups</name><val xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="VirtualMachineVirtualDeviceGroups">`+groups+`</val></propSet>`...)
	})
}

func (l *lab) groupsOf(moid string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found bytes.Buffer
	for _, vm := range l.vms {
		seen := map[int32]bool{}
		for _, d := range vm.devices {
			if vm.vm.Self.Value != moid || d.spec.Group == nil || seen[*d.spec.Group] {
				continue
			}
			seen[*d.spec.Group] = true
			fmt.Fprintf(&found, `<deviceGroup xsi:type="VirtualMachineVirtualDeviceGroupsVendorDeviceGroup"><groupInstanceKey>%d</groupInstanceKey>`+
				`<deviceInfo><label>Device group %[1]d</label><summary>SIMULATED</summary></deviceInfo><deviceGroupName>%s</deviceGroupName></deviceGroup>`,
				*d.spec.Group, escape(d.spec.GroupName))
		}
	}
	return found.String()
}
