// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// control is the lab's own side door: state, reset, faults, and what the physics daemon has to say about guests.
type control struct {
	lab       *lab
	announced int32
}

func reply(w http.ResponseWriter, status int, content interface{}) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	_ = encoder.Encode(content)
}

func refuse(w http.ResponseWriter, err error) {
	reply(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
}

func (c *control) handler() http.Handler {
	mux := http.NewServeMux()
	route := func(path string, methods map[string]func(http.ResponseWriter, *http.Request)) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if serve := methods[r.Method]; serve != nil {
				serve(w, r)
				return
			}
			reply(w, http.StatusMethodNotAllowed, map[string]string{"error": r.Method + " " + path})
		})
	}
	type verbs = map[string]func(http.ResponseWriter, *http.Request)
	route("/state", verbs{"GET": func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, c.lab.state()) }})
	route("/healthz", verbs{"GET": func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]bool{"ready": true, "announced": atomic.LoadInt32(&c.announced) == 1})
	}})
	route("/reset", verbs{"POST": c.reset})
	route("/fault", verbs{"GET": func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, c.lab.faults.all()) },
		"POST": c.inject, "DELETE": c.clear})
	route("/guest", verbs{"POST": c.guest})
	route("/traffic", verbs{"GET": c.traffic, "DELETE": c.forgetTraffic})
	route("/fields", verbs{"GET": func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, c.lab.fields.shown()) }})
	route("/admin", verbs{"POST": c.admin})
	route("/calls", verbs{"GET": c.calls, "DELETE": c.forget})
	return mux
}

func (c *control) reset(w http.ResponseWriter, _ *http.Request) {
	c.lab.void() // before hosts are woken that would boot now
	for _, host := range c.lab.hosts {
		host.pressPowerButton()
	}
	c.restoreTopology()
	if err := c.lab.reset(); err != nil {
		reply(w, http.StatusBadGateway, map[string]string{"error": err.Error()})
		return
	}
	reply(w, http.StatusOK, c.lab.state())
}

// traffic says what the API was asked: requests by method, and how many sessions were opened.
func (c *control) traffic(w http.ResponseWriter, _ *http.Request) {
	c.lab.mu.Lock()
	defer c.lab.mu.Unlock()
	total, methods := 0, map[string]int{}
	for method, count := range c.lab.requests {
		methods[method] = count
		total += count
	}
	reply(w, http.StatusOK, map[string]interface{}{"requests": total, "sessions": methods["Login"], "methods": methods})
}

func (c *control) forgetTraffic(w http.ResponseWriter, r *http.Request) {
	c.lab.mu.Lock()
	c.lab.requests = map[string]int{}
	c.lab.mu.Unlock()
	c.traffic(w, r)
}

// inject adds a fault; those that change the inventory do it at once.
func (c *control) inject(w http.ResponseWriter, r *http.Request) {
	f := fault{}
	if err := json.NewDecoder(r.Body).Decode(&f); err != nil {
		refuse(w, err)
		return
	}
	if err := c.apply(f); err != nil {
		refuse(w, err)
		return
	}
	reply(w, http.StatusOK, f)
}

func (c *control) apply(f fault) error {
	if _, known := knownFaults[f.text("name")]; !known {
		return c.lab.faults.add(f) // says that it is unknown
	}
	var vm *labVM
	if f.text("name") == "meanwhile" && (f.text("method") == "" || (f.text("when") != "before" && f.text("when") != "after")) {
		return fmt.Errorf("meanwhile needs a method, and when: before or after")
	}
	switch f.text("name") {
	case "duplicate_vm", "numa_mismatch", "numa_unknown", "vm_question":
		if vm = c.lab.findVM(f.text("vm")); vm == nil {
			return fmt.Errorf("no VM %q", f.text("vm"))
		}
	}
	switch f.text("name") {
	case "duplicate_vm":
		no := false
		copied, err := c.lab.addVM(&VMSpec{Name: vm.spec.Name, Folder: "copies", Passthrough: &no, Power: "off", Tools: toolsNotRunning,
			Firmware: "efi", MemoryMB: 1024, CPUs: 1, Hardware: 20}, vm.host, "", "")
		if err != nil {
			return err
		}
		copied.duplicate = true
	case "numa_mismatch": // the GPU of the other node, which no VM owns, takes the place of the VM's own
		if vm.spec.Node == nil {
			return fmt.Errorf("VM %s has no passthrough devices", vm.spec.Name)
		}
		vm.setDevices(vm.nic, gpuAddress(spareBus[(*vm.spec.Node+1)%numaNodes]))
	case "numa_unknown": // the firmware tables forget where this VM's devices are
		forgotten := make([]*pciFunction, 0, len(vm.host.functions))
		for _, function := range vm.host.functions {
			if function.address() != vm.nic && function.address() != vm.gpu {
				forgotten = append(forgotten, function)
			}
		}
		update(vm.host.host.Self, types.PropertyChange{Name: "hardware.numaInfo", Val: *numaInfo(forgotten)})
	case "power_policy":
		host := c.lab.findHost(f.text("host"))
		if host == nil {
			return fmt.Errorf("no host %q", f.text("host"))
		}
		host.showPowerPolicy(f.text("policy"))
	case "vm_question":
		question := types.VirtualMachineQuestionInfo{Id: "1", Text: f.text("text")}
		if question.Text == "" {
			question.Text = "This virtual machine might have been moved or copied. (SIMULATED)"
		}
		simulator.Map.WithLock(vm.vm.Self, func() { vm.vm.Runtime.Question = &question })
	}
	return c.lab.faults.add(f)
}

// restoreTopology takes back what faults did to the inventory.
func (c *control) restoreTopology() {
	for _, f := range c.lab.faults.all() {
		if host := c.lab.findHost(f.text("host")); host != nil && f.text("name") == "power_policy" {
			host.showPowerPolicy("static")
		}
		vm := c.lab.findVM(f.text("vm"))
		if vm == nil {
			continue
		}
		switch f.text("name") {
		case "numa_mismatch":
			vm.setDevices(vm.nic, vm.ownGPU)
		case "numa_unknown":
			update(vm.host.host.Self, types.PropertyChange{Name: "hardware.numaInfo", Val: *numaInfo(vm.host.functions)})
		case "vm_question":
			simulator.Map.WithLock(vm.vm.Self, func() { vm.vm.Runtime.Question = nil })
		}
	}
	l := c.lab
	l.mu.Lock()
	var keep, remove []*labVM
	for _, vm := range l.vms {
		if vm.duplicate {
			remove = append(remove, vm)
		} else {
			keep = append(keep, vm)
		}
	}
	l.vms = keep
	l.mu.Unlock()
	for _, vm := range remove {
		vm.remove()
	}
}

func (c *control) clear(w http.ResponseWriter, _ *http.Request) {
	c.restoreTopology()
	c.lab.faults.clear()
	for _, host := range c.lab.hosts {
		host.pressPowerButton()
	}
	reply(w, http.StatusOK, []fault{})
}

// guest: {"vm": name, "power": "off"} or {"vm": name, "tools": "running" | "notRunning" | "silent"}.
func (c *control) guest(w http.ResponseWriter, r *http.Request) {
	var told struct{ VM, Power, Tools string }
	if err := json.NewDecoder(r.Body).Decode(&told); err != nil {
		refuse(w, err)
		return
	}
	vm := c.lab.findVM(told.VM)
	if vm == nil {
		refuse(w, fmt.Errorf("no VM %q", told.VM))
		return
	}
	switch told.Tools {
	case "":
	case toolsRunning, toolsNotRunning, toolsSilent:
		vm.guestTold(told.Tools)
	default:
		refuse(w, fmt.Errorf("tools %q: running, notRunning or silent", told.Tools))
		return
	}
	switch told.Power {
	case "":
	case "off":
		vm.guestWentOff()
	default:
		refuse(w, fmt.Errorf("power %q: a guest can only go off", told.Power))
		return
	}
	reply(w, http.StatusOK, map[string]string{"vm": told.VM})
}

// admin: {"do": "enter", "host": name, "user": name}, see lab.admin.
func (c *control) admin(w http.ResponseWriter, r *http.Request) {
	var told struct{ Do, Host, VM, User, Text string }
	if err := json.NewDecoder(r.Body).Decode(&told); err != nil {
		refuse(w, err)
		return
	}
	if err := c.lab.admin(told.Do, told.Host, told.VM, told.User, told.Text); err != nil {
		refuse(w, err)
		return
	}
	reply(w, http.StatusOK, told)
}

func (c *control) calls(w http.ResponseWriter, _ *http.Request) {
	c.lab.mu.Lock()
	defer c.lab.mu.Unlock()
	reply(w, http.StatusOK, append([]call{}, c.lab.calls...))
}

func (c *control) forget(w http.ResponseWriter, _ *http.Request) {
	c.lab.mu.Lock()
	c.lab.calls = nil
	c.lab.mu.Unlock()
	reply(w, http.StatusOK, []call{})
}
