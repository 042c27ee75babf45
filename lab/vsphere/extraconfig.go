// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"fmt"
	"sort"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// extraConfig keeps vSphere's rules: keys compare without case and keep their first spelling, values are text,
// an empty value removes the key.
type extraConfig struct {
	spelling map[string]string // lower-case key -> key
	values   map[string]string // lower-case key -> value
}

func newExtraConfig() *extraConfig {
	return &extraConfig{map[string]string{}, map[string]string{}}
}

func (e *extraConfig) set(key, value string) {
	lower := strings.ToLower(key)
	if value == "" {
		delete(e.spelling, lower)
		delete(e.values, lower)
		return
	}
	if _, ok := e.spelling[lower]; !ok {
		e.spelling[lower] = key
	}
	e.values[lower] = value
}

func (e *extraConfig) get(key string) string { return e.values[strings.ToLower(key)] }

func (e *extraConfig) plain() map[string]string {
	out := map[string]string{}
	for lower, key := range e.spelling {
		out[key] = e.values[lower]
	}
	return out
}

func (e *extraConfig) wire() []types.BaseOptionValue {
	out := []types.BaseOptionValue{}
	plain := e.plain()
	keys := make([]string, 0, len(plain))
	for key := range plain {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		out = append(out, &types.OptionValue{Key: key, Value: plain[key]})
	}
	return out
}

// stored is how a typed value ends up in the file: a boolean as TRUE/FALSE, a number as decimal digits.
func stored(value types.AnyType) string {
	if b, ok := value.(bool); ok {
		return strings.ToUpper(fmt.Sprint(b))
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// fixedFields conflict with explicit fields of the specification: vSphere ignores them without a word.
var fixedFields = map[string]bool{"memsize": true, "numvcpus": true, "displayname": true, "guestos": true, "firmware": true}

// offOnly: advanced settings that a powered-on VM refuses.
func offOnly(key string) bool {
	key = strings.ToLower(key)
	for _, prefix := range []string{"pcipassthru", "numa.", "sched.", "virtualhw.", "monitor."} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

func isTrue(value string) bool { return strings.EqualFold(value, "TRUE") || value == "1" }
