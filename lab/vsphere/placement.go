// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import "github.com/vmware/govmomi/vim25/types"

// place moves the VM to the host that it is powered on on. As the API says: without a host DRS may take another one; a
// host that cannot take the VM leaves it where it is. A VM that names devices of its host never leaves it.
func (v *labVM) place(asked *types.ManagedObjectReference) {
	l := v.lab
	to := v.host
	if f := l.faults.match("power_on_elsewhere", v.subject()); f != nil {
		if named := l.findHost(f.text("host")); named != nil {
			to = named
		}
	} else if !v.bound() {
		for _, host := range l.hosts {
			if host.down() || host.closed() {
				continue
			}
			if asked == nil && l.topology.DRS && host != v.host {
				to = host
				break
			}
			if asked != nil && host.host.Self == *asked {
				to = host
			}
		}
	}
	if to != v.host {
		v.moveTo(to)
	}
}
