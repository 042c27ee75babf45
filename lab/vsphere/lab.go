// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
)

// call is one request that changes (or would change) something: what tests assert on.
type call struct {
	Method string            `json:"method"`
	Entity string            `json:"entity"`
	Detail map[string]string `json:"detail,omitempty"`
}

// lab is the whole simulated site. Lock order: lab.epochs, lab.mu, then registry locks; no lock is held while the hook is
// called.
type lab struct {
	announcing sync.Mutex   // taken before mu
	epochs     sync.RWMutex // a reset has it alone; see during
	mu         sync.Mutex
	generation int // a reset makes everything that is still under way void
	hosts      []*labHost
	vms        []*labVM
	calls      []call
	killed     map[string]bool // session cookies that are no longer accepted
	requests   map[string]int  // SOAP method -> how often it was called, since the start or since DELETE /traffic
	downUntil  time.Time       // vCenter itself is restarting
	epoch      time.Time       // sessions that are older were forgotten by a restart
	opened     map[string]time.Time
	tasks      []types.ManagedObjectReference
	events     *labEvents
	fields     *labFields

	topology *Topology
	faults   faultSet
	hook     *hook
	boot     time.Duration
	shutdown time.Duration
	agent    time.Duration // from a host that is connected again to esxcli that answers
	backup   time.Duration // of the boot bank
	address  string        // of this vCenter

	service    *simulator.Service
	datacenter types.ManagedObjectReference
	cluster    types.ManagedObjectReference
	folders    *object.DatacenterFolders
	pool       *object.ResourcePool
	objects    map[string]*object.HostSystem
	subfolders map[string]*object.Folder
	datastore  string
}

func (l *lab) record(method, entity string, detail map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, call{method, entity, detail})
}

func (l *lab) present() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.generation
}

func (l *lab) current(generation int) bool { return l.present() == generation }

// during carries out one step of something that was begun in that generation: what the books say and what is published
// of it change together, or a reset came first and nothing changes. A step neither waits nor begins another.
func (l *lab) during(generation int, step func() *taskFailure) *taskFailure {
	l.epochs.RLock()
	defer l.epochs.RUnlock()
	if !l.current(generation) {
		return failure(&types.RequestCanceled{}, "The lab was reset.")
	}
	return step()
}

// update changes properties of a managed object under its own lock, so that property collectors see it.
func update(ref types.ManagedObjectReference, changes ...types.PropertyChange) {
	object := simulator.Map.Get(ref)
	if object == nil {
		return // a task that a restart has forgotten
	}
	simulator.Map.WithLock(ref, func() { simulator.Map.Update(object, changes) })
}

// build creates the inventory: one datacenter, one cluster, hosts, VMs.
func build(topology *Topology, h *hook, datastore, address string) (*lab, error) {
	l := &lab{topology: topology, hook: h, datastore: datastore, killed: map[string]bool{}, requests: map[string]int{}, opened: map[string]time.Time{},
		boot:     time.Duration(topology.BootSeconds * float64(time.Second)),
		shutdown: time.Duration(topology.ShutdownSeconds * float64(time.Second)),
		agent:    time.Duration(topology.AgentSeconds * float64(time.Second)),
		backup:   time.Duration(topology.BackupSeconds * float64(time.Second)),
		objects:  map[string]*object.HostSystem{}, subfolders: map[string]*object.Folder{}}

	present := topology.release()
	model := simulator.VPX()
	model.Datacenter = 0
	model.ServiceContent.About.Name = "VMware vCenter Server (SIMULATED)"
	model.ServiceContent.About.FullName = present.name("VMware vCenter Server")
	model.ServiceContent.About.Vendor = "VMware, Inc. (SIMULATED)"
	model.ServiceContent.About.Version = present.version
	model.ServiceContent.About.Build = "0"
	model.ServiceContent.About.ApiVersion = present.api
	// Of its own, and the same after a restart. Ids of objects are the same on every one, as on a restored copy.
	model.ServiceContent.About.InstanceUuid = uuid.NewSHA1(uuid.NameSpaceURL, []byte(address)).String()
	if err := model.Create(); err != nil {
		return nil, err
	}
	l.service = model.Service
	l.events = &labEvents{reference: types.ManagedObjectReference{Type: "LabEvents", Value: simulator.Map.EventManager().Self.Value}}
	simulator.Map.Put(l.events)
	l.fields = newFields(simulator.Map.CustomFieldsManager().Reference())
	simulator.Map.Put(l.fields)
	ctx := context.Background()
	client, err := vim25.NewClient(ctx, l.service)
	if err != nil {
		return nil, err
	}
	authorization := client.ServiceContent.AuthorizationManager.Value
	simulator.Map.Put(&labPrivileges{reference: types.ManagedObjectReference{Type: "LabPrivileges", Value: authorization}, faults: &l.faults})
	datacenter, err := object.NewRootFolder(client).CreateDatacenter(ctx, topology.Datacenter)
	if err != nil {
		return nil, err
	}
	l.datacenter = datacenter.Reference()
	if l.folders, err = datacenter.Folders(ctx); err != nil {
		return nil, err
	}
	cluster, err := l.folders.HostFolder.CreateCluster(ctx, topology.Cluster, types.ClusterConfigSpecEx{})
	if err != nil {
		return nil, err
	}
	l.cluster = cluster.Reference()
	update(l.cluster, types.PropertyChange{Name: "configurationEx", Val: &types.ClusterConfigInfoEx{DrsConfig: types.ClusterDrsConfigInfo{
		Enabled: &topology.DRS, DefaultVmBehavior: types.DrsBehaviorFullyAutomated}}})
	for _, spec := range topology.Hosts {
		task, err := cluster.AddHost(ctx, types.HostConnectSpec{HostName: spec.Name}, true, nil, nil)
		if err != nil {
			return nil, err
		}
		info, err := task.WaitForResult(ctx, nil)
		if err != nil {
			return nil, err
		}
		host := object.NewHostSystem(client, info.Result.(types.ManagedObjectReference))
		stores, err := host.ConfigManager().DatastoreSystem(ctx)
		if err != nil {
			return nil, err
		}
		if _, err := stores.CreateLocalDatastore(ctx, "lab-datastore", datastore); err != nil {
			return nil, err
		}
		l.objects[spec.Name] = host
	}
	if l.pool, err = cluster.ResourcePool(ctx); err != nil {
		return nil, err
	}
	for i := range topology.Hosts {
		if err := l.addHost(&topology.Hosts[i]); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *lab) addHost(spec *HostSpec) error {
	ref := l.objects[spec.Name].Reference()
	host := simulator.Map.Get(ref).(*simulator.HostSystem)
	slots := [numaNodes]int{}
	for _, vm := range spec.VMs {
		if *vm.Passthrough {
			slots[*vm.Node]++
			if *vm.GPUNode != *vm.Node {
				slots[*vm.GPUNode]++
			}
		}
	}
	for node, count := range slots {
		if spec.Pairs[node] > count {
			count = spec.Pairs[node]
			slots[node] = count
		}
		if count > maxSlotsPerNode {
			return fmt.Errorf("host %s: more than %d NIC and GPU pairs on NUMA node %d", spec.Name, maxSlotsPerNode, node)
		}
	}
	functions := pciInventory(slots, spec.PCIeSwitches)
	for _, f := range functions {
		for _, bus := range spareBus {
			f.split = f.split || (spec.hasSriov() && f.address() == nicAddress(bus))
		}
		if spec.FirmwareTables == "incomplete" && f.memoryGB > 0 {
			f.node = noNode
		} else if spec.FirmwareTables == "incomplete" && f.sriov {
			f.parent = ""
		}
	}
	added := &labHost{reference: types.ManagedObjectReference{Type: "LabHost", Value: ref.Value}, lab: l, spec: spec, host: host,
		functions: functions}
	added.dress()
	added.factory()
	l.hosts = append(l.hosts, added)
	simulator.Map.Put(added)
	simulator.Map.Put(&executer{types.ManagedObjectReference{
		Type: "ReflectManagedMethodExecuter", Value: "ManagedMethodExecuter-" + ref.Value}, added})

	next := firstBus
	for i := range spec.VMs {
		vm := &spec.VMs[i]
		nic, gpu := "", ""
		nics, gpus := map[int]string{}, map[int]string{}
		if *vm.Passthrough {
			bus := next[*vm.Node]
			next[*vm.Node] += 0x10
			nic, gpu = nicAddress(bus), gpuAddress(bus)
			nics[*vm.Node], gpus[*vm.Node] = nic, gpu
			if *vm.GPUNode != *vm.Node {
				gpu = gpuAddress(next[*vm.GPUNode])
				nics[*vm.GPUNode], gpus[*vm.GPUNode] = nicAddress(next[*vm.GPUNode]), gpu
				next[*vm.GPUNode] += 0x10
			}
		}
		if vm.Devices != nil {
			nic, gpu = "", ""
		}
		made, err := l.addVM(vm, added, nic, gpu)
		if err != nil {
			return fmt.Errorf("VM %s: %w", vm.Name, err)
		}
		if made.devices = makeDevices(vm, nics, gpus); made.devices != nil {
			made.factory()
		}
	}
	return nil
}

func (l *lab) subfolder(name string) (*object.Folder, error) {
	if name == "" {
		return l.folders.VmFolder, nil
	}
	if folder := l.subfolders[name]; folder != nil {
		return folder, nil
	}
	folder, err := l.folders.VmFolder.CreateFolder(context.Background(), name)
	if err == nil {
		l.subfolders[name] = folder
	}
	return folder, err
}

func (l *lab) addVM(spec *VMSpec, host *labHost, nic, gpu string) (*labVM, error) {
	ctx := context.Background()
	folder, err := l.subfolder(spec.Folder)
	if err != nil {
		return nil, err
	}
	task, err := folder.CreateVM(ctx, types.VirtualMachineConfigSpec{
		Name: spec.Name, GuestId: string(types.VirtualMachineGuestOsIdentifierUbuntu64Guest),
		NumCPUs: spec.CPUs, MemoryMB: spec.MemoryMB, Firmware: spec.Firmware,
		Files: &types.VirtualMachineFileInfo{VmPathName: "[lab-datastore]"},
	}, l.pool, l.objects[host.spec.Name])
	if err != nil {
		return nil, err
	}
	info, err := task.WaitForResult(ctx, nil)
	if err != nil {
		return nil, err
	}
	ref := info.Result.(types.ManagedObjectReference)
	vm := &labVM{reference: types.ManagedObjectReference{Type: "LabVM", Value: ref.Value}, lab: l, spec: spec, host: host, home: host,
		vm: simulator.Map.Get(ref).(*simulator.VirtualMachine), nic: nic, gpu: gpu, ownGPU: gpu}
	vm.factory()
	l.mu.Lock()
	l.vms = append(l.vms, vm)
	l.mu.Unlock()
	simulator.Map.Put(vm)
	return vm, nil
}

// setAddress tells the VM that plays the vCenter appliance which address it has.
func (l *lab) setAddress(address string) {
	l.address = address
	for _, vm := range l.vms {
		vm.dress()
	}
}

func (l *lab) findHost(name string) *labHost {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, host := range l.hosts {
		if host.spec.Name == name {
			return host
		}
	}
	return nil
}

func (l *lab) findVM(name string) *labVM {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, vm := range l.vms {
		if vm.spec.Name == name {
			return vm
		}
	}
	return nil
}

// announce tells the hook of every VM that is on, all at once (nodes start in parallel).
// A reset waits for the announcement of the start, so that no stale event follows its own.
func (l *lab) announce(patience time.Duration) error {
	l.announcing.Lock()
	defer l.announcing.Unlock()
	l.mu.Lock()
	var events []event
	for _, vm := range l.vms {
		if vm.on {
			events = append(events, vm.powerOnEvent())
		}
	}
	l.mu.Unlock()
	failed := make(chan error, len(events))
	for _, e := range events {
		go func(e event) { failed <- l.hook.postWhenUp(e, patience) }(e)
	}
	var problems []string
	for range events {
		if err := <-failed; err != nil {
			problems = append(problems, err.Error())
		}
	}
	if problems != nil {
		sort.Strings(problems)
		return fmt.Errorf("%s", strings.Join(problems, "; "))
	}
	return nil
}

// reset puts everything back to the factory state of the topology.
func (l *lab) reset() error {
	l.forgetAll()
	return l.announce(10 * time.Second)
}

func (l *lab) forgetAll() {
	l.epochs.Lock()
	defer l.epochs.Unlock()
	l.faults.clear()
	l.events.forget()
	l.fields.forget()
	l.mu.Lock()
	l.generation++
	l.calls = nil
	l.downUntil, l.epoch = time.Time{}, time.Time{}
	keep := append([]*labVM{}, l.vms...)
	l.mu.Unlock()
	for _, host := range l.hosts {
		host.factory()
	}
	for _, vm := range keep {
		if vm.host != vm.home {
			vm.moveTo(vm.home)
		}
		vm.factory()
	}
}

// void makes what is under way stop at its next step.
func (l *lab) void() {
	l.epochs.Lock()
	defer l.epochs.Unlock()
	l.mu.Lock()
	l.generation++
	l.mu.Unlock()
}

// state is the durable state: no times, nothing that reading changes.
func (l *lab) state() map[string]interface{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	hosts, vms := map[string]interface{}{}, map[string]interface{}{}
	for _, h := range l.hosts {
		kernel := map[string]interface{}{}
		for _, k := range h.kernel {
			kernel[k.Name] = map[string]string{"configured": k.Configured, "runtime": k.Runtime, "default": k.Default}
		}
		hosts[h.spec.Name] = map[string]interface{}{"kernel": kernel, "connection": h.connection,
			"maintenance": h.maintenance, "entering_maintenance": h.entering, "boots": h.boots}
	}
	for _, v := range l.vms {
		name := v.spec.Name
		if v.spec.Folder != "" {
			name = v.spec.Folder + "/" + name
		}
		power := "off"
		if v.on {
			power = "on"
		}
		vms[name] = map[string]interface{}{"host": v.host.spec.Name, "power": power, "tools": v.tools, "extra_config": v.extra.plain(),
			"in_force": v.inForce, "nic": v.nic, "gpu": v.gpu, "assigned": v.assigned()}
	}
	return map[string]interface{}{"simulated": true, "datacenter": l.topology.Datacenter, "cluster": l.topology.Cluster, "hosts": hosts, "vms": vms}
}

func complain(format string, arguments ...interface{}) {
	fmt.Fprintf(os.Stderr, "labvsphere: "+format+"\n", arguments...)
}
