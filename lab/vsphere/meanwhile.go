// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"fmt"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// admin is what somebody else does in the vSphere client, at once and under a name of his own.
// do: enter, exit, reenter, reboot, cut_power (of host); on, off (of vm); remove_lease; rewrite_mark (of host, with text).
// The user "nobody" is none: what vCenter reports by itself.
func (l *lab) admin(do, host, vm, user, text string) error {
	switch user {
	case "":
		user = "LAB\\technician"
	case "nobody":
		user = ""
	}
	switch do {
	case "enter", "exit", "reenter", "reboot", "cut_power":
		h := l.findHost(host)
		if h == nil {
			return fmt.Errorf("no host %q", host)
		}
		return h.adminDoes(do, user)
	case "on", "off":
		v := l.findVM(vm)
		if v == nil {
			return fmt.Errorf("no VM %q", vm)
		}
		l.mu.Lock()
		v.on, v.busy = do == "on", false
		if v.on {
			v.inForce, v.tools = v.extra.plain(), v.spec.Tools
		} else {
			v.lose()
		}
		l.mu.Unlock()
		v.showPower()
		return nil
	case "remove_lease":
		l.fields.forget()
		return nil
	case "rewrite_mark":
		h := l.findHost(host)
		if h == nil {
			return fmt.Errorf("no host %q", host)
		}
		l.fields.rewrite(h.host.Self, text)
		return nil
	}
	return fmt.Errorf("an admin cannot %q", do)
}

func (h *labHost) adminDoes(do, user string) error {
	set := func(on bool) {
		h.lab.mu.Lock()
		h.maintenance = on
		h.lab.mu.Unlock()
		h.showMaintenance(on, user)
	}
	switch do {
	case "enter":
		set(true)
	case "exit":
		set(false)
	case "reenter": // at one moment: a task that runs beside it never finds the host outside
		h.showMaintenance(false, user)
		set(true)
	case "cut_power":
		return h.cutPower()
	case "reboot": // over before anybody looks again
		h.lab.mu.Lock()
		h.boots++
		h.saveState()
		for _, k := range h.kernel {
			k.Runtime = k.Configured
		}
		h.lab.mu.Unlock()
		update(h.host.Self, types.PropertyChange{Name: "runtime.bootTime", Val: time.Now()})
	}
	return nil
}

// showMaintenance publishes the mode and the event that vCenter writes about it.
func (h *labHost) showMaintenance(on bool, user string) {
	update(h.host.Self, types.PropertyChange{Name: "runtime.inMaintenanceMode", Val: on})
	about := types.HostEvent{Event: types.Event{CreatedTime: time.Now(), UserName: user,
		Host: &types.HostEventArgument{Host: h.host.Self, EntityEventArgument: types.EntityEventArgument{Name: h.spec.Name}}}}
	if on {
		h.lab.events.post(&types.EnteredMaintenanceModeEvent{HostEvent: about})
	} else {
		h.lab.events.post(&types.ExitMaintenanceModeEvent{HostEvent: about})
	}
}

func userOf(ctx *simulator.Context) string {
	if ctx == nil || ctx.Session == nil {
		return ""
	}
	return ctx.Session.UserName
}

// meanwhile carries out what the fault of that name has planned for this request.
func (l *lab) meanwhile(method, when string) {
	for {
		f := l.faults.match("meanwhile", map[string]string{"method": method, "when": when})
		if f == nil {
			return
		}
		if err := l.admin(f.text("do"), f.text("host"), f.text("vm"), f.text("user"), f.text("text")); err != nil {
			complain("meanwhile: %v", err)
		}
		if _, limited := f["count"]; !limited {
			return
		}
	}
}
