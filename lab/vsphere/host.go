// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// labHost answers the HostSystem methods that the simulator lacks or gets wrong. It is registered beside the real
// object, under type LabHost and the same id; soap.go redirects calls to it. (Wrapping the real object would break the
// property collector.)
type labHost struct {
	reference types.ManagedObjectReference
	lab       *lab
	spec      *HostSpec
	host      *simulator.HostSystem
	functions []*pciFunction

	// under lab.mu
	kernel      map[string]*kernelSetting
	connection  types.HostSystemConnectionState
	maintenance bool
	entering    bool
	boots       int
	unsaved     time.Time     // since when the boot bank lacks a setting; zero: it has all
	answersAt   time.Time     // when esxcli answers after a boot
	powerCycle  chan struct{} // closed to let a host that never returned come back
}

func (h *labHost) Reference() types.ManagedObjectReference { return h.reference }

// dress fills in what the simulator's template host lacks; called once, before anything is served.
func (h *labHost) dress() {
	present := h.lab.topology.release()
	reboot := true
	h.host.Capability = &types.HostCapability{RebootSupported: true, ShutdownSupported: true, VmotionSupported: true,
		MaintenanceModeSupported: true, StandbySupported: false, IpmiSupported: &reboot, MaxSupportedVMs: 1024, MaxSupportedVcpus: 768,
		HighGuestMemSupported: true}
	h.host.Hardware.SystemInfo.Vendor = "rocemesh lab (SIMULATED)"
	h.host.Hardware.SystemInfo.Model = "2-socket GPU server (SIMULATED)"
	h.host.Summary.Hardware.Vendor = h.host.Hardware.SystemInfo.Vendor
	h.host.Summary.Hardware.Model = h.host.Hardware.SystemInfo.Model
	h.host.Hardware.MemorySize = numaNodes * nodeMemory
	h.host.Summary.Hardware.MemorySize = numaNodes * nodeMemory
	h.host.Summary.Hardware.NumCpuCores = numaNodes * coresPerNode
	if h.host.Config != nil {
		h.host.Config.Product.FullName = present.name("VMware ESXi")
		h.host.Config.Product.Version = present.version
		h.host.Config.PciPassthruInfo = passthruInfo(h.functions, present, h.spec.Modes)
		h.host.Config.PowerSystemInfo = powerPolicy("static") // what tuning guides ask for; ESXi itself comes with "dynamic"
	}
	if product := h.host.Summary.Config.Product; product != nil {
		copied := *product
		copied.FullName, copied.Version = present.name("VMware ESXi"), present.version
		h.host.Summary.Config.Product = &copied
	}
	h.dressOptions()
	h.host.Hardware.PciDevice = hostPciDevices(h.functions)
	h.host.Hardware.NumaInfo = numaInfo(h.functions)
}

// powerPolicy is the host's policy by its short name: static, dynamic, low or custom.
func powerPolicy(name string) *types.PowerSystemInfo {
	keys := map[string]int32{"static": 1, "dynamic": 2, "low": 3, "custom": 4}
	return &types.PowerSystemInfo{CurrentPolicy: types.HostPowerPolicy{Key: keys[name], Name: "PowerPolicy." + name + ".name",
		ShortName: name, Description: "PowerPolicy." + name + ".description"}}
}

func (h *labHost) showPowerPolicy(name string) {
	update(h.host.Self, types.PropertyChange{Name: "config.powerSystemInfo", Val: *powerPolicy(name)})
}

// dressOptions gives the host an option list of its own (the simulator's hosts share one), and says what it supports.
func (h *labHost) dressOptions() {
	if h.host.ConfigManager.AdvancedOption == nil {
		return
	}
	manager, ok := simulator.Map.Get(*h.host.ConfigManager.AdvancedOption).(*simulator.OptionManager)
	if !ok {
		return
	}
	manager.Setting = []types.BaseOptionValue{&types.OptionValue{Key: "Config.HostAgent.log.level", Value: "info"}}
	manager.SupportedOption = []types.OptionDef{{
		ElementDescription: types.ElementDescription{Key: "Config.HostAgent.log.level",
			Description: types.Description{Label: "Log level", Summary: "Log level of hostd (SIMULATED)"}},
		OptionType: &types.StringOption{DefaultValue: "info"},
	}}
}

func (h *labHost) factory() {
	h.lab.mu.Lock()
	h.kernel = factoryKernel(h.spec.Kernel)
	h.connection = types.HostSystemConnectionStateConnected
	h.maintenance, h.entering, h.boots = false, false, 0
	h.unsaved, h.answersAt = time.Time{}, time.Time{}
	h.lab.mu.Unlock()
	now := time.Now().Add(-24 * time.Hour)
	update(h.host.Self,
		types.PropertyChange{Name: "runtime.connectionState", Val: types.HostSystemConnectionStateConnected},
		types.PropertyChange{Name: "runtime.inMaintenanceMode", Val: false},
		types.PropertyChange{Name: "runtime.bootTime", Val: now},
		types.PropertyChange{Name: "hardware.numaInfo", Val: *numaInfo(h.functions)})
	h.showConnection(types.HostSystemConnectionStateConnected) // and its VMs, which a silent host had taken along
}

func (h *labHost) subject() map[string]string { return map[string]string{"host": h.spec.Name} }

func (h *labHost) down() bool {
	h.lab.mu.Lock()
	defer h.lab.mu.Unlock()
	return h.connection != types.HostSystemConnectionStateConnected
}

// starting: vCenter has the host back, and the agent behind esxcli is not there yet.
func (h *labHost) starting() bool {
	h.lab.mu.Lock()
	defer h.lab.mu.Unlock()
	return time.Now().Before(h.answersAt)
}

// running lists VMs of this host that are on. Needs lab.mu.
func (h *labHost) running() []*labVM {
	var out []*labVM
	for _, vm := range h.lab.vms {
		if vm.host == h && vm.on {
			out = append(out, vm)
		}
	}
	return out
}

func (h *labHost) RetrieveManagedMethodExecuter(*RetrieveManagedMethodExecuter) soap.HasFault {
	return &retrieveExecuterBody{Res: &RetrieveManagedMethodExecuterResponse{Returnval: types.ManagedObjectReference{
		Type: "ReflectManagedMethodExecuter", Value: "ManagedMethodExecuter-" + h.reference.Value}}}
}

// EnterMaintenanceModeTask waits, as the real one does, until no VM of the host is on, the timeout (0: never) or a cancel.
func (h *labHost) EnterMaintenanceModeTask(ctx *simulator.Context, request *types.EnterMaintenanceMode_Task) soap.HasFault {
	l, user := h.lab, userOf(ctx)
	evacuate := request.EvacuatePoweredOffVms != nil && *request.EvacuatePoweredOffVms
	l.record("EnterMaintenanceMode_Task", h.spec.Name, map[string]string{
		"timeout": strconv.Itoa(int(request.Timeout)), "evacuate_powered_off_vms": strconv.FormatBool(evacuate)})
	ref := l.startTask(h.host, "enterMaintenanceMode", true, func(t *labTask) *taskFailure {
		if failed := l.injected("EnterMaintenanceMode_Task", h.subject()); failed != nil {
			return failed
		}
		if failed := l.during(t.began, h.beginEntering); failed != nil {
			return failed
		}
		t.progress(2)
		var expired <-chan time.Time
		if request.Timeout > 0 {
			timer := time.NewTimer(time.Duration(request.Timeout) * time.Second)
			defer timer.Stop()
			expired = timer.C
		}
		look := time.NewTicker(20 * time.Millisecond)
		defer look.Stop()
		leave := func(failed *taskFailure) *taskFailure {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.generation == t.began {
				h.entering = false
			}
			return failed
		}
		for {
			entered := false
			if failed := l.during(t.began, func() *taskFailure {
				entered = h.tryToEnter(user)
				return nil
			}); failed != nil || entered {
				return failed
			}
			select {
			case <-expired:
				return leave(failure(&types.Timedout{}, "Operation timed out."))
			case <-t.cancel:
				return leave(failure(&types.RequestCanceled{}, "The task was canceled by a user."))
			case <-look.C:
			}
		}
	})
	return &methods.EnterMaintenanceMode_TaskBody{Res: &types.EnterMaintenanceMode_TaskResponse{Returnval: ref}}
}

func (h *labHost) beginEntering() *taskFailure {
	h.lab.mu.Lock()
	switch {
	case h.connection != types.HostSystemConnectionStateConnected:
		h.lab.mu.Unlock()
		return failure(&types.HostNotConnected{}, hostDownText)
	case h.maintenance:
		h.lab.mu.Unlock()
		return failure(&types.InvalidState{}, wrongStateText)
	case h.entering:
		h.lab.mu.Unlock()
		return failure(&types.TaskInProgress{}, inProgressText)
	}
	h.entering = true
	h.lab.mu.Unlock()
	h.evacuate()
	return nil
}

func (h *labHost) tryToEnter(user string) bool {
	blocked := h.lab.faults.match("maintenance_blocked", h.subject()) != nil
	h.lab.mu.Lock()
	if blocked || len(h.running()) > 0 {
		h.lab.mu.Unlock()
		return false
	}
	h.maintenance, h.entering = true, false
	h.lab.mu.Unlock()
	h.showMaintenance(true, user)
	return true
}

func (h *labHost) ExitMaintenanceModeTask(ctx *simulator.Context, _ *types.ExitMaintenanceMode_Task) soap.HasFault {
	l, user := h.lab, userOf(ctx)
	l.record("ExitMaintenanceMode_Task", h.spec.Name, nil)
	ref := l.startTask(h.host, "exitMaintenanceMode", false, func(t *labTask) *taskFailure {
		if failed := l.injected("ExitMaintenanceMode_Task", h.subject()); failed != nil {
			return failed
		}
		if h.down() {
			return failure(&types.HostNotConnected{}, hostDownText)
		}
		if l.faults.match("exit_maintenance_fails", h.subject()) != nil {
			return failure(&types.Timedout{}, "Operation timed out.")
		}
		return l.during(t.began, func() *taskFailure {
			l.mu.Lock()
			if !h.maintenance {
				l.mu.Unlock()
				return failure(&types.InvalidState{}, wrongStateText)
			}
			h.maintenance = false
			l.mu.Unlock()
			h.showMaintenance(false, user)
			return nil
		})
	})
	return &methods.ExitMaintenanceMode_TaskBody{Res: &types.ExitMaintenanceMode_TaskResponse{Returnval: ref}}
}

// RebootHostTask ends when the reboot was issued, not when the host is back.
func (h *labHost) RebootHostTask(request *types.RebootHost_Task) soap.HasFault {
	l := h.lab
	l.record("RebootHost_Task", h.spec.Name, map[string]string{"force": strconv.FormatBool(request.Force)})
	ref := l.startTask(h.host, "reboot", false, func(t *labTask) *taskFailure {
		if failed := l.injected("RebootHost_Task", h.subject()); failed != nil {
			return failed
		}
		return l.during(t.began, func() *taskFailure {
			l.mu.Lock()
			if h.connection != types.HostSystemConnectionStateConnected {
				l.mu.Unlock()
				return failure(&types.HostNotConnected{}, hostDownText)
			}
			if !h.maintenance && !request.Force {
				l.mu.Unlock()
				return failure(&types.InvalidState{}, wrongStateText)
			}
			h.saveState()
			h.goDown(false) // releases the lock
			return nil
		})
	})
	return &methods.RebootHost_TaskBody{Res: &types.RebootHost_TaskResponse{Returnval: ref}}
}

// goDown takes the host away and lets it boot. `cold`: its power was cut, and comes back. Needs lab.mu, and releases it.
func (h *labHost) goDown(cold bool) {
	l := h.lab
	h.connection = types.HostSystemConnectionStateNotResponding
	generation, killed := l.generation, h.running()
	for _, vm := range killed { // only with force, or without power: theirs is cut
		vm.lose()
	}
	h.powerCycle = make(chan struct{})
	wake := h.powerCycle
	l.mu.Unlock()
	h.showConnection(types.HostSystemConnectionStateNotResponding)
	go func() {
		for _, vm := range killed {
			l.during(generation, func() *taskFailure { vm.showPower(); return nil })
			if err := l.hook.post(event{"event": "vm_power_off", "vm": vm.spec.Name}); err != nil {
				complain("%v", err)
			}
		}
		h.bootUp(generation, wake, cold)
	}()
}

// cutPower is what a technician or a power failure does: nothing is shut down, nothing is written.
func (h *labHost) cutPower() error {
	h.lab.mu.Lock()
	if h.connection != types.HostSystemConnectionStateConnected {
		h.lab.mu.Unlock()
		return fmt.Errorf("%s is %s already", h.spec.Name, h.connection)
	}
	h.saveHourly()
	for _, k := range h.kernel {
		k.Configured = k.Saved
	}
	h.unsaved = time.Time{}
	h.goDown(true) // releases the lock
	return nil
}

// showConnection publishes the host's connection state, and that of its VMs: behind a silent host they are disconnected.
func (h *labHost) showConnection(state types.HostSystemConnectionState) {
	update(h.host.Self, types.PropertyChange{Name: "runtime.connectionState", Val: state})
	vms := types.VirtualMachineConnectionStateConnected
	if state != types.HostSystemConnectionStateConnected {
		vms = types.VirtualMachineConnectionStateDisconnected
	}
	h.lab.mu.Lock()
	list := append([]*labVM{}, h.lab.vms...)
	h.lab.mu.Unlock()
	for _, vm := range list {
		if vm.host == h {
			update(vm.vm.Self, types.PropertyChange{Name: "runtime.connectionState", Val: vms})
		}
	}
}

func (h *labHost) bootUp(generation int, wake chan struct{}, cold bool) {
	l := h.lab
	time.Sleep(l.boot)
	if l.faults.match("host_never_returns", h.subject()) != nil {
		<-wake // somebody presses the button: faults are cleared
	}
	if !l.current(generation) {
		return
	}
	l.mu.Lock()
	names := []string{}
	for _, vm := range l.vms {
		if vm.host == h && *vm.spec.Passthrough {
			names = append(names, vm.spec.Name)
		}
	}
	l.mu.Unlock()
	// the physics first: nobody must see the host connected while its cards still have their old values
	if err := l.hook.post(event{"event": "host_rebooted", "host": h.spec.Name, "vms": names, "cold": cold}); err != nil {
		complain("%v", err)
	}
	mode := ""
	if f := l.faults.match("wrong_state_after_boot", h.subject()); f != nil {
		if mode = f.text("mode"); mode == "" {
			mode = "kernel"
		}
	}
	l.during(generation, func() *taskFailure { h.comeBack(mode); return nil })
}

// comeBack is the moment in which vCenter has the host again, with the fault that its boot has.
func (h *labHost) comeBack(mode string) {
	l := h.lab
	l.mu.Lock()
	if mode != "same_boot" {
		h.boots++
	}
	if mode != "kernel" && mode != "same_boot" {
		for _, k := range h.kernel {
			k.Runtime = k.Configured
		}
	}
	if mode == "out_of_maintenance" {
		h.maintenance = false
	}
	maintenance := h.maintenance // survives the reboot
	h.connection = types.HostSystemConnectionStateConnected
	if mode == "disconnected" {
		h.connection = types.HostSystemConnectionStateDisconnected
	}
	connection := h.connection
	h.answersAt = time.Now().Add(l.agent)
	l.mu.Unlock()
	changes := []types.PropertyChange{{Name: "runtime.inMaintenanceMode", Val: maintenance}}
	if mode != "same_boot" {
		changes = append(changes, types.PropertyChange{Name: "runtime.bootTime", Val: time.Now()})
	}
	update(h.host.Self, changes...)
	h.showConnection(connection)
}

// pressPowerButton lets a host that never returned, or came back disconnected, return.
func (h *labHost) pressPowerButton() {
	h.lab.mu.Lock()
	if h.powerCycle != nil {
		close(h.powerCycle)
		h.powerCycle = nil
	}
	disconnected := h.connection == types.HostSystemConnectionStateDisconnected
	if disconnected {
		h.connection = types.HostSystemConnectionStateConnected
	}
	h.lab.mu.Unlock()
	if disconnected {
		h.showConnection(types.HostSystemConnectionStateConnected)
	}
}
