// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// The reservation and its lock are two fields: the lock sets the number, taking the lock away leaves it, and another
// number beside the lock is refused.

func (v *labVM) reserve(locked bool) {
	simulator.Map.WithLock(v.vm.Self, func() {
		v.vm.Config.MemoryReservationLockedToMax = &locked
		number := int64(0)
		if locked {
			number = v.spec.MemoryMB
		}
		v.setReservation(number)
	})
}

// setReservation needs the lock of the VM.
func (v *labVM) setReservation(number int64) {
	allocation := types.ResourceAllocationInfo{}
	if present := v.vm.Config.MemoryAllocation; present != nil {
		allocation = *present
	}
	allocation.Reservation = &number
	v.vm.Config.MemoryAllocation = &allocation
}

func (v *labVM) reservation() (locked bool, number int64) {
	simulator.Map.WithLock(v.vm.Self, func() {
		locked = v.vm.Config.MemoryReservationLockedToMax != nil && *v.vm.Config.MemoryReservationLockedToMax
		if a := v.vm.Config.MemoryAllocation; a != nil && a.Reservation != nil {
			number = *a.Reservation
		}
	})
	return locked, number
}

// changeReservation carries out that part of a specification.
func (v *labVM) changeReservation(spec *types.VirtualMachineConfigSpec) *taskFailure {
	locked, number := v.reservation()
	if spec.MemoryReservationLockedToMax != nil {
		locked = *spec.MemoryReservationLockedToMax
	}
	given := spec.MemoryAllocation != nil && spec.MemoryAllocation.Reservation != nil
	if given {
		number = *spec.MemoryAllocation.Reservation
	}
	if locked && given && number != v.spec.MemoryMB {
		return failure(&types.InvalidArgument{InvalidProperty: "spec.memoryAllocation.reservation"},
			"A specified parameter was not correct: spec.memoryAllocation.reservation")
	}
	if locked {
		number = v.spec.MemoryMB
	}
	simulator.Map.WithLock(v.vm.Self, func() {
		v.vm.Config.MemoryReservationLockedToMax = &locked
		v.setReservation(number)
	})
	return nil
}
