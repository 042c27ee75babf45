// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// labVM answers the VirtualMachine methods that the simulator lacks or gets wrong (see labHost).
type labVM struct {
	reference types.ManagedObjectReference
	lab       *lab
	spec      *VMSpec
	host      *labHost
	home      *labHost // as the topology says
	vm        *simulator.VirtualMachine
	duplicate bool   // made by a fault; gone at the next reset
	ownGPU    string // as the topology says

	devices []*labDevice // as the topology lists them; nil: one NIC, one GPU

	shown sync.Mutex // from reading the books to publishing them, so that what was read earlier is not shown later; before lab.mu

	// under lab.mu
	nic, gpu string // addresses on the host, "" = none
	on       bool
	busy     bool // a power task is under way
	tools    string
	toolsSet bool // somebody told the tools state since power-on began
	extra    *extraConfig
	inForce  map[string]string // extraConfig as it was at power-on; nil when off
	version  int64
}

const (
	toolsRunning    = "running"
	toolsNotRunning = "notRunning"
	toolsSilent     = "silent" // they were running, and the guest says nothing any more
	nicKey, gpuKey  = 13000, 13001
	poweredOnText   = "The attempted operation cannot be performed in the current state (Powered on)."
	poweredOffText  = "The attempted operation cannot be performed in the current state (Powered off)."
)

func (v *labVM) Reference() types.ManagedObjectReference { return v.reference }

func (v *labVM) subject() map[string]string {
	return map[string]string{"vm": v.spec.Name, "host": v.host.spec.Name}
}

func (v *labVM) factory() {
	v.lab.mu.Lock()
	v.extra = newExtraConfig()
	// what hostd keeps in every VM's file, next to the keys that people set
	v.extra.set("nvram", v.spec.Name+".nvram")
	v.extra.set("svga.present", "TRUE")
	v.extra.set("pciBridge0.present", "TRUE")
	v.extra.set("numa.autosize.cookie", fmt.Sprintf("%d0022", v.spec.CPUs))
	if *v.spec.Passthrough && orBool(v.spec.Configured, true) {
		v.extra.set("pciPassthru.use64bitMMIO", "TRUE")
		v.extra.set("pciPassthru.64bitMMIOSizeGB", "128")
	}
	if v.spec.VCLS {
		v.extra.set("HDCS.agent", "true")
	}
	for key, value := range v.spec.ExtraConfig {
		v.extra.set(key, value)
	}
	v.on, v.busy, v.toolsSet, v.inForce = v.spec.Power == "on", false, false, nil
	v.tools = toolsNotRunning
	v.unassign()
	if v.on {
		v.inForce, v.tools = v.extra.plain(), v.spec.Tools
		if failed := v.assign(); failed != nil {
			complain("%s: %s", v.spec.Name, failed.message)
		}
	}
	v.version = time.Now().UnixNano()
	v.lab.mu.Unlock()
	v.setDevices(v.nic, v.gpu)
	v.showDevices()
	v.reserve(orBool(v.spec.ReserveMemory, *v.spec.Passthrough && orBool(v.spec.Configured, true)))
	v.dress()
	v.showConfig()
	v.showPower()
}

func (v *labVM) dress() {
	config := v.vm.Config
	address := v.spec.IP
	if v.spec.VCenter {
		address = v.lab.address
	}
	simulator.Map.WithLock(v.vm.Self, func() {
		config.Firmware = v.spec.Firmware
		config.Version = fmt.Sprintf("vmx-%d", v.spec.Hardware)
		config.Annotation = "SIMULATED"
		if v.spec.VCenter {
			config.VAppConfig = &types.VmConfigInfo{Product: []types.VAppProductInfo{{Name: "VMware vCenter Server", Vendor: "VMware (SIMULATED)"}}}
		}
		if v.spec.VCLS { // as the embedded ones of 8.0 U3 call themselves
			config.ManagedBy = &types.ManagedByInfo{ExtensionKey: "VirtualCenter", Type: "vcls-entity"}
		}
		v.vm.Guest.IpAddress = address
		v.vm.Guest.GuestState = "notRunning"
	})
}

// setDevices replaces the passthrough devices: NIC first, then GPU, as the guide's VMs have them.
func (v *labVM) setDevices(nic, gpu string) {
	simulator.Map.WithLock(v.vm.Self, func() {
		var devices []types.BaseVirtualDevice
		for _, device := range v.vm.Config.Hardware.Device {
			if _, ours := device.(*types.VirtualPCIPassthrough); !ours {
				devices = append(devices, device)
			}
		}
		add := func(key int32, label, address string) {
			for _, f := range v.host.functions {
				if f.address() != address {
					continue
				}
				passthrough := &types.VirtualPCIPassthrough{}
				passthrough.Key = key
				passthrough.DeviceInfo = &types.Description{Label: label, Summary: f.name + " (SIMULATED)"}
				passthrough.Backing = fixedBackingInfo(f, v.host, address)
				devices = append(devices, passthrough)
			}
		}
		add(nicKey, "PCI device 0", nic)
		add(gpuKey, "PCI device 1", gpu)
		v.vm.Config.Hardware.Device = devices
	})
	v.lab.mu.Lock()
	v.nic, v.gpu = nic, gpu
	v.lab.mu.Unlock()
}

// showConfig publishes extraConfig and a new changeVersion.
func (v *labVM) showConfig() {
	v.shown.Lock()
	defer v.shown.Unlock()
	v.lab.mu.Lock()
	v.version++
	wire, version := v.extra.wire(), time.Unix(0, v.version).UTC().Format("2006-01-02T15:04:05.000000000Z")
	v.lab.mu.Unlock()
	simulator.Map.WithLock(v.vm.Self, func() {
		v.vm.Config.ExtraConfig = wire
		v.vm.Config.ChangeVersion = version
	})
}

func (v *labVM) showPower() {
	v.shown.Lock()
	defer v.shown.Unlock()
	v.lab.mu.Lock()
	power, guest, tools := types.VirtualMachinePowerStatePoweredOff, "notRunning", types.VirtualMachineToolsRunningStatusGuestToolsNotRunning
	heartbeat := types.ManagedEntityStatusGray
	var boot interface{}
	if v.on {
		power, boot = types.VirtualMachinePowerStatePoweredOn, time.Now()
		switch v.tools {
		case toolsRunning:
			guest, tools, heartbeat = "running", types.VirtualMachineToolsRunningStatusGuestToolsRunning, types.ManagedEntityStatusGreen
		case toolsSilent:
			guest, tools, heartbeat = "running", types.VirtualMachineToolsRunningStatusGuestToolsRunning, types.ManagedEntityStatusRed
		}
	}
	v.lab.mu.Unlock()
	changes := []types.PropertyChange{
		{Name: "runtime.powerState", Val: power}, {Name: "summary.runtime.powerState", Val: power},
		{Name: "guest.toolsRunningStatus", Val: string(tools)}, {Name: "guest.guestState", Val: guest},
		{Name: "guestHeartbeatStatus", Val: heartbeat}}
	if current := v.vm.Runtime.PowerState; current != power {
		changes = append(changes, types.PropertyChange{Name: "runtime.bootTime", Val: boot},
			types.PropertyChange{Name: "summary.runtime.bootTime", Val: boot})
	}
	update(v.vm.Self, changes...)
}

// lose turns the VM off in the books. Needs lab.mu; the caller publishes with showPower.
func (v *labVM) lose() {
	v.unassign()
	v.on, v.tools, v.inForce = false, toolsNotRunning, nil
}

// powerOnEvent needs lab.mu.
func (v *labVM) powerOnEvent() event {
	ats := v.host.kernel["atssupport"]
	return event{"event": "vm_power_on", "vm": v.spec.Name, "host": v.host.spec.Name,
		"ats_runtime": ats != nil && ats.Runtime == "TRUE", "extra_config": v.extra.plain()}
}

func (v *labVM) remove() {
	v.lab.mu.Lock()
	v.on = false
	v.lab.mu.Unlock()
	update(v.vm.Self, types.PropertyChange{Name: "runtime.powerState", Val: types.VirtualMachinePowerStatePoweredOff})
	simulator.Map.Remove(v.reference)
	client := v.lab.objects[v.host.spec.Name].Client()
	if _, err := methods.UnregisterVM(context.Background(), client, &types.UnregisterVM{This: v.vm.Self}); err != nil {
		complain("removing %s: %v", v.spec.Name, err)
	}
}

func (v *labVM) postEvent(ctx *simulator.Context, made func(types.VmEvent) types.BaseEvent) {
	entity := func(name string) types.EntityEventArgument { return types.EntityEventArgument{Name: name} }
	e := made(types.VmEvent{Event: types.Event{
		Datacenter:      &types.DatacenterEventArgument{Datacenter: v.lab.datacenter, EntityEventArgument: entity(v.lab.topology.Datacenter)},
		ComputeResource: &types.ComputeResourceEventArgument{ComputeResource: v.lab.cluster, EntityEventArgument: entity(v.lab.topology.Cluster)},
		Host:            &types.HostEventArgument{Host: v.host.host.Self, EntityEventArgument: entity(v.host.spec.Name)},
		Vm:              &types.VmEventArgument{Vm: v.vm.Self, EntityEventArgument: entity(v.spec.Name)},
	}})
	manager := simulator.Map.EventManager()
	ctx.WithLock(manager, func() { manager.PostEvent(ctx, &types.PostEvent{EventToPost: e}) })
	v.lab.events.add(e)
}

// ReconfigVMTask keeps the rules of extraConfig itself and leaves the rest of the specification to the simulator.
func (v *labVM) ReconfigVMTask(ctx *simulator.Context, request *types.ReconfigVM_Task) soap.HasFault {
	l := v.lab
	given := map[string]string{}
	for _, option := range request.Spec.ExtraConfig {
		given[option.GetOptionValue().Key] = stored(option.GetOptionValue().Value)
	}
	l.record("ReconfigVM_Task", v.spec.Name, given)
	ref := l.startTask(v.vm, "reconfigVm", false, func(t *labTask) *taskFailure {
		return l.during(t.began, func() *taskFailure { return v.reconfigure(ctx, request, given) })
	})
	return &methods.ReconfigVM_TaskBody{Res: &types.ReconfigVM_TaskResponse{Returnval: ref}}
}

func (v *labVM) reconfigure(ctx *simulator.Context, request *types.ReconfigVM_Task, given map[string]string) *taskFailure {
	l := v.lab
	if failed := l.injected("ReconfigVM_Task", v.subject()); failed != nil {
		return failed
	}
	if v.host.down() {
		return failure(&types.HostNotConnected{}, hostDownText)
	}
	if l.faults.match("concurrent_change", v.subject()) != nil {
		v.showConfig() // somebody else was faster
	}
	var shown string
	simulator.Map.WithLock(v.vm.Self, func() { shown = v.vm.Config.ChangeVersion })
	if request.Spec.ChangeVersion != "" && request.Spec.ChangeVersion != shown {
		return failure(&types.ConcurrentAccess{}, "The virtual machine configuration was changed by another client.")
	}
	l.mu.Lock()
	if v.on && request.Spec.Firmware != "" {
		l.mu.Unlock()
		return failure(&types.InvalidPowerState{RequestedState: types.VirtualMachinePowerStatePoweredOff,
			ExistingState: types.VirtualMachinePowerStatePoweredOn}, poweredOnText)
	}
	if v.on && l.faults.match("hot_change_allowed", v.subject()) == nil {
		for key := range given {
			if offOnly(key) {
				l.mu.Unlock()
				return failure(&types.InvalidPowerState{RequestedState: types.VirtualMachinePowerStatePoweredOff,
					ExistingState: types.VirtualMachinePowerStatePoweredOn}, poweredOnText)
			}
		}
	}
	for _, key := range sortedKeys(given) {
		dropped := l.faults.match("drop_key", map[string]string{"vm": v.spec.Name, "key": key}) != nil
		if !fixedFields[strings.ToLower(key)] && !dropped {
			v.extra.set(key, given[key])
		}
	}
	l.mu.Unlock()
	if failed := v.changeReservation(&request.Spec); failed != nil {
		return failed
	}
	rest := request.Spec
	rest.ExtraConfig, rest.ChangeVersion = nil, ""
	rest.MemoryReservationLockedToMax, rest.MemoryAllocation = nil, nil
	inner := &types.ReconfigVM_Task{This: v.vm.Self, Spec: rest}
	simulator.Map.WithLock(v.vm.Self, func() { v.vm.ReconfigVMTask(ctx, inner) })
	v.postEvent(ctx, func(e types.VmEvent) types.BaseEvent {
		return &types.VmReconfiguredEvent{VmEvent: e, ConfigSpec: request.Spec}
	})
	v.showConfig()
	return nil
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// obstacle is why this VM cannot be powered on. Needs lab.mu.
func (v *labVM) obstacle() *taskFailure {
	switch {
	case v.host.connection != types.HostSystemConnectionStateConnected:
		return failure(&types.HostNotConnected{}, hostDownText)
	case v.host.maintenance || v.host.entering:
		return failure(&types.InvalidState{}, wrongStateText)
	case v.busy:
		return failure(&types.TaskInProgress{}, inProgressText)
	case v.on:
		return failure(&types.InvalidPowerState{RequestedState: types.VirtualMachinePowerStatePoweredOn,
			ExistingState: types.VirtualMachinePowerStatePoweredOn}, poweredOnText)
	}
	if v.nic == "" && v.gpu == "" && len(v.devices) == 0 {
		return nil
	}
	for _, other := range v.lab.vms {
		if other == v || !other.on || other.host != v.host {
			continue
		}
		for address := range other.uses() {
			if v.uses()[address] {
				return failure(&types.GenericVmConfigFault{Reason: "device in use"},
					"Module 'DevicePowerOn' power on failed. A passthrough device is already in use by VM "+other.spec.Name+".")
			}
		}
	}
	if locked, number := v.reservation(); !locked && number < v.spec.MemoryMB {
		return failure(&types.GenericVmConfigFault{Reason: "memory"},
			fmt.Sprintf("Invalid memory setting: memory reservation (sched.mem.min) should be equal to memsize(%d).", v.spec.MemoryMB))
	}
	if failed := v.assign(); failed != nil {
		return failed
	}
	gpus, space := v.bars()
	size, _ := strconv.Atoi(v.extra.get("pciPassthru.64bitMMIOSizeGB"))
	if gpus > 0 && (v.vm.Config.Firmware != "efi" || !isTrue(v.extra.get("pciPassthru.use64bitMMIO")) || size <= space) {
		v.unassign()
		return failure(&types.GenericVmConfigFault{Reason: "mmio"}, "Module 'DevicePowerOn' power on failed.")
	}
	return nil
}

func (v *labVM) PowerOnVMTask(ctx *simulator.Context, request *types.PowerOnVM_Task) soap.HasFault {
	l := v.lab
	asked := map[string]string{}
	for _, host := range l.hosts {
		if request.Host != nil && host.host.Self == *request.Host {
			asked["host"] = host.spec.Name
		}
	}
	l.record("PowerOnVM_Task", v.spec.Name, asked)
	ref := l.startTask(v.vm, "powerOn", false, func(t *labTask) *taskFailure {
		if failed := l.injected("PowerOnVM_Task", v.subject()); failed != nil {
			return failed
		}
		var e event
		var force map[string]string
		failed := l.during(t.began, func() *taskFailure {
			v.place(request.Host)
			l.mu.Lock()
			defer l.mu.Unlock()
			if failed := v.obstacle(); failed != nil {
				return failed
			}
			v.busy, v.toolsSet = true, false
			e, force = v.powerOnEvent(), v.extra.plain()
			return nil
		})
		if failed != nil {
			return failed
		}
		err := l.hook.post(e)
		return l.during(t.began, func() *taskFailure { return v.poweredOn(ctx, force, err) })
	})
	return &methods.PowerOnVM_TaskBody{Res: &types.PowerOnVM_TaskResponse{Returnval: ref}}
}

func (v *labVM) poweredOn(ctx *simulator.Context, force map[string]string, err error) *taskFailure {
	l := v.lab
	l.mu.Lock()
	v.busy = false
	if err != nil {
		l.mu.Unlock()
		return failure(&types.GenericVmConfigFault{Reason: "hook"}, "Module 'DevicePowerOn' power on failed. (SIMULATED node: "+err.Error()+")")
	}
	v.on, v.inForce = true, force
	if !v.toolsSet {
		v.tools = v.spec.Tools
	}
	l.mu.Unlock()
	v.showDevices()
	v.showPower()
	v.showConfig() // hostd rewrites keys of its own at every power-on
	v.postEvent(ctx, func(e types.VmEvent) types.BaseEvent { return &types.VmPoweredOnEvent{VmEvent: e} })
	return nil
}

// takeDown tells the hook, then turns the VM off. `began`: the generation in which that was asked for.
func (v *labVM) takeDown(eventName string, began int) *taskFailure {
	l := v.lab
	failed := l.during(began, func() *taskFailure {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !v.on {
			return failure(&types.InvalidPowerState{RequestedState: types.VirtualMachinePowerStatePoweredOff,
				ExistingState: types.VirtualMachinePowerStatePoweredOff}, poweredOffText)
		}
		if v.busy {
			return failure(&types.TaskInProgress{}, inProgressText)
		}
		v.busy = true
		return nil
	})
	if failed != nil {
		return failed
	}
	err := l.hook.post(event{"event": eventName, "vm": v.spec.Name})
	return l.during(began, func() *taskFailure {
		l.mu.Lock()
		v.busy = false
		if err != nil {
			l.mu.Unlock()
			return failure(&types.GenericVmConfigFault{Reason: "hook"}, "The power operation failed. (SIMULATED node: "+err.Error()+")")
		}
		v.lose()
		l.mu.Unlock()
		v.showDevices()
		v.showPower()
		return nil
	})
}

func (v *labVM) PowerOffVMTask(*types.PowerOffVM_Task) soap.HasFault {
	v.lab.record("PowerOffVM_Task", v.spec.Name, nil)
	ref := v.lab.startTask(v.vm, "powerOff", false, func(t *labTask) *taskFailure {
		if failed := v.lab.injected("PowerOffVM_Task", v.subject()); failed != nil {
			return failed
		}
		if v.host.down() {
			return failure(&types.HostNotConnected{}, hostDownText)
		}
		return v.takeDown("vm_power_off", t.began)
	})
	return &methods.PowerOffVM_TaskBody{Res: &types.PowerOffVM_TaskResponse{Returnval: ref}}
}

// guestCall checks what every guest operation needs.
func (v *labVM) guestCall() *soap.Fault {
	v.lab.mu.Lock()
	defer v.lab.mu.Unlock()
	switch {
	case v.host.connection != types.HostSystemConnectionStateConnected:
		return simulator.Fault(hostDownText, &types.HostNotConnected{})
	case !v.on:
		return simulator.Fault(poweredOffText, &types.InvalidPowerState{RequestedState: types.VirtualMachinePowerStatePoweredOn,
			ExistingState: types.VirtualMachinePowerStatePoweredOff})
	case v.tools != toolsRunning:
		return simulator.Fault("Cannot complete operation because VMware Tools is not running in this virtual machine.", &types.ToolsUnavailable{})
	}
	return nil
}

// ShutdownGuest only asks the guest; the VM is off some time later.
func (v *labVM) ShutdownGuest(*types.ShutdownGuest) soap.HasFault {
	v.lab.record("ShutdownGuest", v.spec.Name, nil)
	if fault := v.guestCall(); fault != nil {
		return &methods.ShutdownGuestBody{Fault_: fault}
	}
	if v.lab.faults.match("guest_ignores_shutdown", v.subject()) == nil {
		began := v.lab.present()
		go func() {
			if !v.lab.hook.present() {
				time.Sleep(v.lab.shutdown)
			}
			if failed := v.takeDown("vm_shutdown_guest", began); failed != nil {
				complain("shutdown of %s: %s", v.spec.Name, failed.message)
			}
		}()
	}
	return &methods.ShutdownGuestBody{Res: &types.ShutdownGuestResponse{}}
}

// RebootGuest does not read the VM's file again: the keys in force stay what they were at power-on.
func (v *labVM) RebootGuest(*types.RebootGuest) soap.HasFault {
	v.lab.record("RebootGuest", v.spec.Name, nil)
	if fault := v.guestCall(); fault != nil {
		return &methods.RebootGuestBody{Fault_: fault}
	}
	go v.restart(v.lab.present())
	return &methods.RebootGuestBody{Res: &types.RebootGuestResponse{}}
}

func (v *labVM) restart(began int) {
	v.lab.during(began, func() *taskFailure {
		v.guestTold(toolsNotRunning)
		v.lab.mu.Lock()
		v.toolsSet = false
		v.lab.mu.Unlock()
		return nil
	})
	if err := v.lab.hook.post(event{"event": "vm_reboot_guest", "vm": v.spec.Name}); err != nil {
		complain("%v", err)
		return
	}
	v.lab.during(began, func() *taskFailure {
		v.lab.mu.Lock()
		told := v.toolsSet
		v.lab.mu.Unlock()
		if !told {
			v.guestTold(v.spec.Tools)
		}
		return nil
	})
}

func (v *labVM) ResetVMTask(*types.ResetVM_Task) soap.HasFault {
	v.lab.record("ResetVM_Task", v.spec.Name, nil)
	ref := v.lab.startTask(v.vm, "reset", false, func(t *labTask) *taskFailure {
		v.lab.mu.Lock()
		on := v.on
		v.lab.mu.Unlock()
		if !on {
			return failure(&types.InvalidPowerState{RequestedState: types.VirtualMachinePowerStatePoweredOn,
				ExistingState: types.VirtualMachinePowerStatePoweredOff}, poweredOffText)
		}
		v.restart(t.began)
		return nil
	})
	return &methods.ResetVM_TaskBody{Res: &types.ResetVM_TaskResponse{Returnval: ref}}
}

// pinned refuses what a VM with passthrough devices cannot do.
func (v *labVM) pinned(name string) types.ManagedObjectReference {
	v.lab.record(name, v.spec.Name, nil)
	return v.lab.startTask(v.vm, name, false, func(*labTask) *taskFailure {
		return failure(&types.NotSupported{}, "The operation is not supported for a virtual machine with passthrough devices (SIMULATED).")
	})
}

func (v *labVM) SuspendVMTask(*types.SuspendVM_Task) soap.HasFault {
	return &methods.SuspendVM_TaskBody{Res: &types.SuspendVM_TaskResponse{Returnval: v.pinned("suspend")}}
}

// guestTold takes the tools state from the guest.
func (v *labVM) guestTold(tools string) {
	v.lab.mu.Lock()
	v.tools, v.toolsSet = tools, true
	v.lab.mu.Unlock()
	v.showPower()
}

// guestWentOff takes a power-off that the guest did by itself; during a power task it is only the echo of that task.
func (v *labVM) guestWentOff() {
	v.lab.mu.Lock()
	if v.busy || !v.on {
		v.lab.mu.Unlock()
		return
	}
	v.lose()
	v.lab.mu.Unlock()
	v.showDevices()
	v.showPower()
}
