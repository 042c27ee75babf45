// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// taskFailure is what a task ends with: the fault and the sentence that vCenter shows with it.
type taskFailure struct {
	fault   types.BaseMethodFault
	message string
}

func failure(fault types.BaseMethodFault, message string) *taskFailure {
	return &taskFailure{fault, message}
}

// Sentences as vSphere words them.
const (
	wrongStateText = "The operation is not allowed in the current state."
	hostDownText   = "Unable to communicate with the remote host, since it is disconnected."
	inProgressText = "Another task is already in progress."
)

// labTask runs beside the request that started it (the simulator's own tasks are over before the answer is sent).
type labTask struct {
	reference types.ManagedObjectReference
	ref       types.ManagedObjectReference // of the real Task
	cancel    chan struct{}                // nil: cannot be cancelled
	began     int                          // generation of the lab in which it was asked for
}

func (t *labTask) Reference() types.ManagedObjectReference { return t.reference }

// startTask registers a task on entity and runs body in the background.
func (l *lab) startTask(entity mo.Reference, name string, cancelable bool, body func(t *labTask) *taskFailure) types.ManagedObjectReference {
	task := simulator.CreateTask(entity, name, nil)
	t := &labTask{reference: types.ManagedObjectReference{Type: "LabTask", Value: task.Self.Value}, ref: task.Self, began: l.present()}
	if cancelable {
		t.cancel = make(chan struct{}, 1)
	}
	simulator.Map.Put(t)
	l.mu.Lock()
	l.tasks = append(l.tasks, t.ref)
	l.mu.Unlock()
	started := time.Now()
	update(t.ref,
		types.PropertyChange{Name: "info.startTime", Val: started},
		types.PropertyChange{Name: "info.cancelable", Val: cancelable},
		types.PropertyChange{Name: "info.state", Val: types.TaskInfoStateRunning})
	go func() {
		failed := body(t)
		now := time.Now()
		changes := []types.PropertyChange{{Name: "info.completeTime", Val: now}}
		if failed != nil {
			changes = append(changes, types.PropertyChange{Name: "info.error",
				Val: types.LocalizedMethodFault{Fault: failed.fault, LocalizedMessage: failed.message}},
				types.PropertyChange{Name: "info.state", Val: types.TaskInfoStateError})
		} else {
			changes = append(changes, types.PropertyChange{Name: "info.state", Val: types.TaskInfoStateSuccess})
		}
		update(t.ref, changes...)
	}()
	return t.ref
}

func (t *labTask) progress(percent int32) {
	update(t.ref, types.PropertyChange{Name: "info.progress", Val: percent})
}

func (t *labTask) CancelTask(*types.CancelTask) soap.HasFault {
	body := &methods.CancelTaskBody{}
	if t.cancel == nil {
		body.Fault_ = simulator.Fault("The task cannot be cancelled.", &types.NotSupported{})
		return body
	}
	select {
	case t.cancel <- struct{}{}:
	default:
	}
	body.Res = &types.CancelTaskResponse{}
	return body
}

// injected returns the failure of a task_error fault for this method and entity.
func (l *lab) injected(method string, subject map[string]string) *taskFailure {
	subject["method"] = method
	f := l.faults.match("task_error", subject)
	if f == nil {
		return nil
	}
	message := f.text("message")
	if message == "" {
		message = "A general system error occurred: injected by the lab (SIMULATED)."
	}
	return failure(methodFault(f.text("fault")), message)
}
