// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// labFields answers the CustomFieldsManager. The simulator's own appends a second value where vCenter replaces the first,
// and its property collector never hears of either.
type labFields struct {
	reference types.ManagedObjectReference
	manager   types.ManagedObjectReference

	mu     sync.Mutex
	next   int32
	defs   []types.CustomFieldDef
	values map[types.ManagedObjectReference]map[int32]string
}

func newFields(manager types.ManagedObjectReference) *labFields {
	return &labFields{reference: types.ManagedObjectReference{Type: "LabFields", Value: manager.Value}, manager: manager, next: 101,
		values: map[types.ManagedObjectReference]map[int32]string{}}
}

func (f *labFields) Reference() types.ManagedObjectReference { return f.reference }

// publish needs f.mu.
func (f *labFields) publish(entities ...types.ManagedObjectReference) {
	update(f.manager, types.PropertyChange{Name: "field", Val: append([]types.CustomFieldDef{}, f.defs...)})
	for _, entity := range entities {
		list := []types.BaseCustomFieldValue{}
		for _, def := range f.defs {
			if value, ok := f.values[entity][def.Key]; ok {
				list = append(list, &types.CustomFieldStringValue{CustomFieldValue: types.CustomFieldValue{Key: def.Key}, Value: value})
			}
		}
		update(entity, types.PropertyChange{Name: "customValue", Val: list})
	}
}

func (f *labFields) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.defs = nil
	entities := []types.ManagedObjectReference{}
	for entity := range f.values {
		entities = append(entities, entity)
	}
	f.values = map[types.ManagedObjectReference]map[int32]string{}
	f.publish(entities...)
}

// rewrite replaces every value of an entity: somebody types into the vSphere client.
func (f *labFields) rewrite(entity types.ManagedObjectReference, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key := range f.values[entity] {
		f.values[entity][key] = text
	}
	f.publish(entity)
}

// shown: entity -> field -> value, for the control API.
func (f *labFields) shown() map[string]map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]map[string]string{"": {}}
	for _, def := range f.defs {
		out[""][def.Name] = def.ManagedObjectType
	}
	for entity, values := range f.values {
		for _, def := range f.defs {
			if value := values[def.Key]; value != "" {
				if out[entity.Value] == nil {
					out[entity.Value] = map[string]string{}
				}
				out[entity.Value][def.Name] = value
			}
		}
	}
	return out
}

func (f *labFields) AddCustomFieldDef(request *types.AddCustomFieldDef) soap.HasFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, def := range f.defs {
		if def.Name == request.Name {
			return &methods.AddCustomFieldDefBody{Fault_: simulator.Fault("The name '"+request.Name+"' already exists.",
				&types.DuplicateName{Name: request.Name, Object: f.manager})}
		}
	}
	def := types.CustomFieldDef{Key: f.next, Name: request.Name, ManagedObjectType: request.MoType, Type: "string"}
	f.next++ // never used again, as the API promises
	f.defs = append(f.defs, def)
	f.publish()
	return &methods.AddCustomFieldDefBody{Res: &types.AddCustomFieldDefResponse{Returnval: def}}
}

// find needs f.mu.
func (f *labFields) find(key int32) int {
	for i, def := range f.defs {
		if def.Key == key {
			return i
		}
	}
	return -1
}

func (f *labFields) RemoveCustomFieldDef(request *types.RemoveCustomFieldDef) soap.HasFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := f.find(request.Key)
	if at < 0 {
		return &methods.RemoveCustomFieldDefBody{Fault_: simulator.Fault("A specified parameter was not correct: key",
			&types.InvalidArgument{InvalidProperty: "key"})}
	}
	f.defs = append(f.defs[:at:at], f.defs[at+1:]...)
	entities := []types.ManagedObjectReference{}
	for entity, values := range f.values {
		if _, ok := values[request.Key]; ok {
			delete(values, request.Key)
			entities = append(entities, entity)
		}
	}
	f.publish(entities...)
	return &methods.RemoveCustomFieldDefBody{Res: &types.RemoveCustomFieldDefResponse{}}
}

func (f *labFields) SetField(request *types.SetField) soap.HasFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.find(request.Key) < 0 {
		return &methods.SetFieldBody{Fault_: simulator.Fault("A specified parameter was not correct: key",
			&types.InvalidArgument{InvalidProperty: "key"})}
	}
	if simulator.Map.Get(request.Entity) == nil {
		return &methods.SetFieldBody{Fault_: simulator.Fault("The object has already been deleted or has not been completely created",
			&types.ManagedObjectNotFound{Obj: request.Entity})}
	}
	if kind := f.defs[f.find(request.Key)].ManagedObjectType; kind != "" && kind != request.Entity.Type {
		return &methods.SetFieldBody{Fault_: simulator.Fault("A specified parameter was not correct: key",
			&types.InvalidArgument{InvalidProperty: "key"})}
	}
	if f.values[request.Entity] == nil {
		f.values[request.Entity] = map[int32]string{}
	}
	if request.Value == "" {
		delete(f.values[request.Entity], request.Key)
	} else {
		f.values[request.Entity][request.Key] = request.Value
	}
	f.publish(request.Entity)
	return &methods.SetFieldBody{Res: &types.SetFieldResponse{}}
}
