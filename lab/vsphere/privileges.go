// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// labPrivileges answers the AuthorizationManager. The simulator's own grants everything; this one lacks the privilege of
// each method that the fault no_permission refuses, so that what is told before agrees with what happens later.
type labPrivileges struct {
	reference types.ManagedObjectReference
	faults    *faultSet
}

func (p *labPrivileges) Reference() types.ManagedObjectReference { return p.reference }

func (p *labPrivileges) HasPrivilegeOnEntities(_ *simulator.Context, request *types.HasPrivilegeOnEntities) soap.HasFault {
	lacking := p.faults.refused()
	rows := []types.EntityPrivilege{}
	for _, entity := range request.Entity {
		row := types.EntityPrivilege{Entity: entity}
		for _, id := range request.PrivId {
			row.PrivAvailability = append(row.PrivAvailability, types.PrivilegeAvailability{PrivId: id, IsGranted: !lacking[id]})
		}
		rows = append(rows, row)
	}
	return &methods.HasPrivilegeOnEntitiesBody{Res: &types.HasPrivilegeOnEntitiesResponse{Returnval: rows}}
}

// refused lists the privileges of the methods that no_permission stands against; looking uses up no count.
func (s *faultSet) refused() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string]bool{}
	for _, f := range s.list {
		if f.text("name") == "no_permission" {
			found[privileges[f.text("method")]] = true
		}
	}
	return found
}
