// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// MigrateVMTask moves a VM to another host; passthrough devices keep it where it is.
func (v *labVM) MigrateVMTask(request *types.MigrateVM_Task) soap.HasFault {
	return &methods.MigrateVM_TaskBody{Res: &types.MigrateVM_TaskResponse{Returnval: v.relocate("MigrateVM_Task", request.Host)}}
}

// RelocateVMTask is vMotion too, as far as it names a host.
func (v *labVM) RelocateVMTask(request *types.RelocateVM_Task) soap.HasFault {
	return &methods.RelocateVM_TaskBody{Res: &types.RelocateVM_TaskResponse{Returnval: v.relocate("RelocateVM_Task", request.Spec.Host)}}
}

func (v *labVM) relocate(method string, target *types.ManagedObjectReference) types.ManagedObjectReference {
	l := v.lab
	l.record(method, v.spec.Name, nil)
	return l.startTask(v.vm, method, false, func(t *labTask) *taskFailure {
		if failed := l.injected(method, v.subject()); failed != nil {
			return failed
		}
		if *v.spec.Passthrough {
			return failure(&types.NotSupported{}, "The operation is not supported for a virtual machine with passthrough devices (SIMULATED).")
		}
		var to *labHost
		for _, host := range l.hosts {
			if target != nil && host.host.Self == *target {
				to = host
			}
		}
		switch {
		case to == nil:
			return failure(&types.InvalidArgument{InvalidProperty: "host"}, "A specified parameter was not correct: host")
		case to.down() || v.host.down():
			return failure(&types.HostNotConnected{}, hostDownText)
		case to.closed():
			return failure(&types.InvalidState{}, wrongStateText)
		}
		return l.during(t.began, func() *taskFailure {
			v.moveTo(to)
			return nil
		})
	})
}

// closed: no VM may come to a host that is in maintenance, or on its way there.
func (h *labHost) closed() bool {
	h.lab.mu.Lock()
	defer h.lab.mu.Unlock()
	return h.maintenance || h.entering
}

func (v *labVM) moveTo(to *labHost) {
	l := v.lab
	l.mu.Lock()
	from := v.host
	v.host = to
	l.mu.Unlock()
	here := func(host *labHost, list func([]types.ManagedObjectReference) []types.ManagedObjectReference) {
		simulator.Map.WithLock(host.host.Self, func() {
			simulator.Map.Update(host.host, []types.PropertyChange{{Name: "vm", Val: list(host.host.Vm)}})
		})
	}
	here(from, func(all []types.ManagedObjectReference) []types.ManagedObjectReference {
		kept := []types.ManagedObjectReference{}
		for _, ref := range all {
			if ref != v.vm.Self {
				kept = append(kept, ref)
			}
		}
		return kept
	})
	here(to, func(all []types.ManagedObjectReference) []types.ManagedObjectReference {
		return append(append([]types.ManagedObjectReference{}, all...), v.vm.Self)
	})
	self := to.host.Self
	update(v.vm.Self, types.PropertyChange{Name: "runtime.host", Val: &self}, types.PropertyChange{Name: "summary.runtime.host", Val: &self})
}

// evacuate is what vCenter does while a host enters maintenance mode: its own agents leave in any case, and DRS, where the
// cluster has it, takes along every VM that can move.
func (h *labHost) evacuate() {
	l := h.lab
	l.mu.Lock()
	leaving := []*labVM{}
	for _, vm := range h.running() {
		if vm.spec.VCLS || (l.topology.DRS && !*vm.spec.Passthrough) {
			leaving = append(leaving, vm)
		}
	}
	l.mu.Unlock()
	for _, vm := range leaving {
		for _, other := range l.hosts {
			if other != h && !other.down() && !other.closed() {
				vm.moveTo(other)
				break
			}
		}
		if vm.host == h && vm.spec.VCLS { // nowhere to go: vCenter stops it
			l.mu.Lock()
			vm.lose()
			l.mu.Unlock()
			vm.showPower()
		}
	}
}
