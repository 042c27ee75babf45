// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"encoding/xml"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// executer serves esxcli over SOAP for one host: ExecuteSoap on a ReflectManagedMethodExecuter.
type executer struct {
	reference types.ManagedObjectReference
	host      *labHost
}

func (e *executer) Reference() types.ManagedObjectReference { return e.reference }

const (
	esxcliVersion = "urn:vim25/5.0"
	notFoundText  = "The object or item referred to could not be found."
)

func open(kind string) string {
	return `<obj xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ` +
		`xmlns="urn:vim25" versionId="5.0" xsi:type="` + kind + `">`
}

// cliFault is esxcli's own error: the useful text stands in faultDetail only.
func cliFault(text string) *soapResult {
	return &soapResult{Fault: &soapFault{FaultMsg: "EsxCLI.CLIFault.summary",
		FaultDetail: `<detail xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns="urn:vim25"><VimEsxCLICLIFaultFault xsi:type="VimEsxCLICLIFault">` +
			`<errMsg>` + escape(text) + `</errMsg></VimEsxCLICLIFaultFault></detail>`}}
}

func object1(kind string, fields ...string) string {
	out := `<DataObject xsi:type="` + kind + `">`
	for i := 0; i+1 < len(fields); i += 2 {
		out += "<" + fields[i] + ">" + escape(fields[i+1]) + "</" + fields[i] + ">"
	}
	return out + "</DataObject>"
}

// esxcliCommand is one command: its parameters in declared order, and what it does.
type esxcliCommand struct {
	parameters []string
	run        func(h *labHost, arguments map[string]string) *soapResult
}

var esxcli = map[string]esxcliCommand{
	"system.settings.kernel.list": {[]string{"delta", "option"}, kernelList},
	"system.settings.kernel.set":  {[]string{"setting", "value"}, kernelSet},
	"hardware.pci.list":           {nil, pciList},
}

func (e *executer) ExecuteSoap(request *ExecuteSoap) soap.HasFault {
	body := &executeSoapBody{}
	refuse := func(text string, fault types.BaseMethodFault) soap.HasFault {
		body.Fault_ = simulator.Fault(text, fault)
		return body
	}
	if e.host.down() || e.host.starting() {
		return refuse(hostDownText, &types.HostNotConnected{})
	}
	name := strings.TrimPrefix(request.Method, "vim.EsxCLI.")
	namespace := name
	if dot := strings.LastIndex(name, "."); dot >= 0 {
		namespace = name[:dot]
	}
	command, known := esxcli[name]
	if !known || request.Moid != "ha-cli-handler-"+strings.ReplaceAll(namespace, ".", "-") || request.Version != esxcliVersion {
		body.Res = &ExecuteSoapResponse{Returnval: &soapResult{Fault: &soapFault{FaultMsg: notFoundText}}}
		return body
	}
	// the handler walks its declared parameters and the given ones side by side: a wrong order does not match
	arguments, declared := map[string]string{}, 0
	for i, given := range request.Argument {
		for declared < len(command.parameters) && command.parameters[declared] != given.Name {
			declared++
		}
		decoded := struct {
			XMLName xml.Name
			Text    string `xml:",chardata"`
		}{}
		err := xml.Unmarshal([]byte(given.Val), &decoded)
		if declared == len(command.parameters) || err != nil || decoded.XMLName.Local != given.Name {
			place := fmt.Sprintf("argument[%d]", i)
			return refuse("A specified parameter was not correct: "+place, &types.InvalidArgument{InvalidProperty: place})
		}
		arguments[given.Name] = decoded.Text
		declared++
	}
	if strings.HasSuffix(name, ".set") {
		e.host.lab.record("esxcli "+name, e.host.spec.Name, arguments)
	}
	body.Res = &ExecuteSoapResponse{Returnval: command.run(e.host, arguments)}
	return body
}

func (h *labHost) visible(name string) bool {
	for _, f := range h.lab.faults.all() {
		if f.text("name") == "kernel_setting_absent" && strings.EqualFold(f.text("setting"), name) &&
			(f.text("host") == "" || f.text("host") == h.spec.Name) {
			return false
		}
	}
	return true
}

func kernelList(h *labHost, arguments map[string]string) *soapResult {
	option := strings.ToLower(arguments["option"])
	h.lab.mu.Lock()
	defer h.lab.mu.Unlock()
	var names []string
	for key, k := range h.kernel {
		if (option == "" || option == key) && h.visible(k.Name) && !(arguments["delta"] == "true" && k.Configured == k.Default) {
			names = append(names, key)
		}
	}
	if option != "" && names == nil {
		return cliFault("Unable to find kernel setting '" + arguments["option"] + "'")
	}
	sort.Strings(names)
	out := open("ArrayOfDataObject")
	for _, key := range names {
		k := h.kernel[key]
		out += object1("VimEsxCLIsystemsettingskernellistSettingsKernel", "Configured", k.Configured, "Default", k.Default,
			"Description", k.Description, "Name", k.Name, "Runtime", k.Runtime, "Type", k.Type)
	}
	return &soapResult{Response: out + "</obj>"}
}

func kernelSet(h *labHost, arguments map[string]string) *soapResult {
	h.lab.mu.Lock()
	defer h.lab.mu.Unlock()
	k := h.kernel[strings.ToLower(arguments["setting"])]
	if k == nil || !h.visible(k.Name) {
		return cliFault("Invalid kernel setting '" + arguments["setting"] + "'")
	}
	value, wrong := k.canonical(arguments["value"])
	if wrong != "" {
		return cliFault(wrong)
	}
	if h.lab.faults.match("kernel_set_ignored", map[string]string{"host": h.spec.Name, "setting": k.Name}) == nil {
		h.saveHourly() // before this change
		k.Configured = value
		if h.unsaved.IsZero() {
			h.unsaved = time.Now()
		}
	}
	return &soapResult{Response: open("xsd:boolean") + "true</obj>"}
}

func pciList(h *labHost, _ map[string]string) *soapResult {
	out := open("ArrayOfDataObject")
	for _, f := range h.functions {
		module, kernelName, owner := "None", "", "VMkernel"
		switch {
		case f.enabled:
			module, owner = "pciPassthru", "VM Passthru"
		case f.vendor == 0x15b3:
			module, kernelName = "nmlx5_core", fmt.Sprintf("vmnic%d", f.bus)
		case f.class == 0x0200:
			module, kernelName = "i40en", "vmnic0"
		case f.class == 0x0106 || f.class == 0x0108:
			module, kernelName = "vmw_ahci", "vmhba0"
		}
		out += object1("VimEsxCLIhardwarepcilistPciDevice", "Address", f.address(), "Bus", fmt.Sprintf("0x%02x", f.bus),
			"ConfiguredOwner", owner, "CurrentOwner", owner, "DependentDevice", "PCI "+f.address(),
			"DeviceClass", fmt.Sprintf("0x%04x", f.class), "DeviceID", fmt.Sprintf("0x%04x", f.device), "DeviceName", f.name+" (SIMULATED)",
			"Function", fmt.Sprintf("0x%x", f.function), "ModuleName", module, "PassthruCapable", fmt.Sprint(f.capable),
			"PhysicalSlot", "4294967295", "Segment", "0x0000", "Slot", fmt.Sprintf("0x%02x", f.slot),
			"VendorID", fmt.Sprintf("0x%04x", f.vendor), "VendorName", f.vendorName, "VMkernelName", kernelName)
	}
	return &soapResult{Response: out + "</obj>"}
}
