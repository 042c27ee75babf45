// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/types"
)

// fault is one injected fault: its name, selectors (method, vm, host, key ...) and parameters, as sent to POST /fault.
type fault map[string]interface{}

func (f fault) text(key string) string {
	if value, ok := f[key]; ok {
		return fmt.Sprint(value)
	}
	return ""
}

func (f fault) number(key string, otherwise float64) float64 {
	if value, ok := f[key].(float64); ok {
		return value
	}
	return otherwise
}

type faultSet struct {
	mu   sync.Mutex
	list []fault
}

// knownFaults: name -> selectors that narrow it. README.md says what each does.
var knownFaults = map[string][]string{
	"drop_key":               {"vm", "key"},
	"concurrent_change":      {"vm"},
	"hot_change_allowed":     {"vm"},
	"host_never_returns":     {"host"},
	"wrong_state_after_boot": {"host"},
	"maintenance_blocked":    {"host"},
	"exit_maintenance_fails": {"host"},
	"guest_ignores_shutdown": {"vm"},
	"vm_question":            {"vm"},
	"power_on_elsewhere":     {"vm"},
	"kernel_setting_absent":  {"host"},
	"kernel_set_ignored":     {"host", "setting"},
	"power_policy":           {"host"},
	"task_error":             {"method", "vm", "host"},
	"no_permission":          {"method"},
	"session_killed":         {"method"},
	"slow":                   {"method"},
	"drop_connection":        {"method"},
	"vcenter_restart":        {"method"},
	"vcenter_restart_after":  {"method"},
	"empty_answer":           {"method"},
	"meanwhile":              {"method", "when"},
	"reflect_prefix":         nil,
	"undeclared_xsi":         nil,
	"duplicate_vm":           nil,
	"numa_mismatch":          nil,
	"numa_unknown":           nil,
}

func (s *faultSet) add(f fault) error {
	if _, ok := knownFaults[f.text("name")]; !ok {
		return fmt.Errorf("unknown fault %q", f.text("name"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, f)
	return nil
}

func (s *faultSet) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = nil
}

func (s *faultSet) all() []fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]fault{}, s.list...)
}

// match returns the first fault of this name whose selectors all agree with `subject` (nil: none); a fault with a
// "count" is used up after so many matches.
func (s *faultSet) match(name string, subject map[string]string) fault {
	s.mu.Lock()
	defer s.mu.Unlock()
next:
	for i, f := range s.list {
		if f.text("name") != name {
			continue
		}
		for _, selector := range knownFaults[name] {
			if want := f.text(selector); want != "" && !strings.EqualFold(want, subject[selector]) {
				continue next
			}
		}
		if count, ok := f["count"].(float64); ok {
			f["count"] = count - 1
			if count <= 1 {
				s.list = append(s.list[:i:i], s.list[i+1:]...)
			}
		}
		return f
	}
	return nil
}

// methodFault makes the vim fault of that type name; an unknown name gives GenericVmConfigFault.
func methodFault(name string) types.BaseMethodFault {
	if kind, ok := types.TypeFunc()(name); ok {
		if made, ok := reflect.New(kind).Interface().(types.BaseMethodFault); ok {
			return made
		}
	}
	return &types.GenericVmConfigFault{}
}
