// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"reflect"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// labEvents answers QueryEvents about one VM or host. The simulator's own answer is a page of ten that mixes the newest events
// with the oldest; vCenter gives all that match, oldest first.
type labEvents struct {
	reference types.ManagedObjectReference

	mu   sync.Mutex
	list []types.BaseEvent
	keys int32 // of events about hosts; those of VMs have the simulator's
}

func (e *labEvents) Reference() types.ManagedObjectReference { return e.reference }

func (e *labEvents) add(event types.BaseEvent) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, event)
}

// post is for events about hosts.
func (e *labEvents) post(event types.BaseEvent) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.keys++
	event.GetEvent().Key = 100000 + e.keys
	event.GetEvent().ChainId = event.GetEvent().Key
	e.list = append(e.list, event)
}

func (e *labEvents) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = nil
}

func (e *labEvents) QueryEvents(ctx *simulator.Context, request *types.QueryEvents) soap.HasFault {
	filter := request.Filter
	if filter.Entity == nil || (filter.Entity.Entity.Type != "VirtualMachine" && filter.Entity.Entity.Type != "HostSystem") {
		return simulator.Map.EventManager().QueryEvents(ctx, request)
	}
	wanted := map[string]bool{}
	for _, name := range filter.EventTypeId {
		wanted[name] = true
	}
	found := []types.BaseEvent{}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, event := range e.list {
		about := event.GetEvent()
		switch {
		case !isAbout(about, filter.Entity.Entity):
		case len(wanted) > 0 && !wanted[reflect.TypeOf(event).Elem().Name()]:
		case filter.Time != nil && filter.Time.BeginTime != nil && about.CreatedTime.Before(*filter.Time.BeginTime):
		default:
			found = append(found, event)
		}
	}
	return &methods.QueryEventsBody{Res: &types.QueryEventsResponse{Returnval: found}}
}

func isAbout(event *types.Event, entity types.ManagedObjectReference) bool {
	if entity.Type == "HostSystem" {
		return event.Vm == nil && event.Host != nil && event.Host.Host == entity
	}
	return event.Vm != nil && event.Vm.Vm == entity
}
