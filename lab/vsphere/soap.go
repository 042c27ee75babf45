// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// redirected: methods that the lab answers instead of the simulator, by the type of the object they are called on.
var redirected = map[string]map[string]string{
	"HostSystem": {"RetrieveManagedMethodExecuter": "LabHost", "EnterMaintenanceMode_Task": "LabHost",
		"ExitMaintenanceMode_Task": "LabHost", "RebootHost_Task": "LabHost"},
	"VirtualMachine": {"ReconfigVM_Task": "LabVM", "PowerOnVM_Task": "LabVM", "PowerOffVM_Task": "LabVM", "ShutdownGuest": "LabVM",
		"RebootGuest": "LabVM", "ResetVM_Task": "LabVM", "SuspendVM_Task": "LabVM", "MigrateVM_Task": "LabVM", "RelocateVM_Task": "LabVM"},
	"Task":                 {"CancelTask": "LabTask"},
	"EventManager":         {"QueryEvents": "LabEvents"},
	"CustomFieldsManager":  {"AddCustomFieldDef": "LabFields", "RemoveCustomFieldDef": "LabFields", "SetField": "LabFields"},
	"AuthorizationManager": {"HasPrivilegeOnEntities": "LabPrivileges"},
}

var (
	bodyMethod = regexp.MustCompile(`<(?:\w+:)?Body[^>]*>\s*<(?:\w+:)?(\w+)`)
	thisType   = regexp.MustCompile(`(<(?:\w+:)?_this[^>]*\btype=")(\w+)("[^>]*>)([^<]*)`)
	answer     = regexp.MustCompile(`<(/?)(response|fault|faultMsg|faultDetail)>`)
	returnval  = regexp.MustCompile(`<returnval[^>]*>`)
	labType    = regexp.MustCompile(`type="Lab\w+"`)
	namespaces = regexp.MustCompile(` xmlns:xs[id]=&#34;[^&]*&#34;`)
)

const sessionCookie = "vmware_soap_session"

// privileges named in NoPermission, per method.
var privileges = map[string]string{
	"EnterMaintenanceMode_Task": "Host.Config.Maintenance", "ExitMaintenanceMode_Task": "Host.Config.Maintenance",
	"RebootHost_Task": "Host.Config.Maintenance", "ReconfigVM_Task": "VirtualMachine.Config.AdvancedConfig",
	"PowerOnVM_Task": "VirtualMachine.Interact.PowerOn", "PowerOffVM_Task": "VirtualMachine.Interact.PowerOff",
	"ShutdownGuest": "VirtualMachine.Interact.PowerOff", "MigrateVM_Task": "Resource.HotMigrate",
	"AddCustomFieldDef": "Global.ManageCustomFields", "RemoveCustomFieldDef": "Global.ManageCustomFields", "SetField": "Global.SetCustomField",
}

// serveSDK stands before the simulator's own handler: faults of the connection, then redirection.
func (l *lab) serveSDK(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		l.service.ServeSDK(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	method := ""
	if found := bodyMethod.FindSubmatch(body); found != nil {
		method = string(found[1])
	}
	subject := map[string]string{"method": method}
	l.mu.Lock()
	l.requests[method]++
	l.mu.Unlock()
	if f := l.faults.match("vcenter_restart", subject); f != nil {
		l.restart(time.Duration(f.number("seconds", 1) * float64(time.Second)))
	}
	if l.restarting() {
		hangUp(w)
		return
	}
	if f := l.faults.match("slow", subject); f != nil {
		asked := l.present()
		time.Sleep(time.Duration(f.number("seconds", 1) * float64(time.Second)))
		if !l.current(asked) { // a reset meanwhile: nobody waits for this any more
			hangUp(w)
			return
		}
	}
	if l.faults.match("drop_connection", subject) != nil {
		hangUp(w)
		return
	}
	if l.sessionEnded(r, subject) && method != "Login" {
		denied(w, "NotAuthenticated", "The session is not authenticated.", "ServiceInstance", "ServiceInstance", "System.View")
		return
	}
	l.meanwhile(method, "before")
	this := thisType.FindSubmatch(body)
	if this != nil {
		kind, id := string(this[2]), string(this[4])
		if l.faults.match("no_permission", subject) != nil {
			privilege := privileges[method]
			if privilege == "" {
				privilege = "System.Read"
			}
			denied(w, "NoPermission", "Permission to perform this operation was denied.", kind, id, privilege)
			return
		}
		if target := redirected[kind][method]; target != "" &&
			simulator.Map.Get(types.ManagedObjectReference{Type: target, Value: id}) != nil {
			body = thisType.ReplaceAll(body, []byte("${1}"+target+"${3}${4}"))
		}
	}
	groups := groupsPath.Match(body)
	body = groupsPath.ReplaceAll(body, nil)
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	recorder := httptest.NewRecorder()
	l.service.ServeSDK(recorder, r)
	l.meanwhile(method, "after")
	if l.faults.match("empty_answer", subject) != nil { // a proxy that says 200 to everything
		w.WriteHeader(http.StatusOK)
		return
	}
	if f := l.faults.match("vcenter_restart_after", subject); f != nil { // carried out, never answered
		l.restart(time.Duration(f.number("seconds", 1) * float64(time.Second)))
	}
	if l.restarting() { // the answer dies with the process that made it
		hangUp(w)
		return
	}
	out := recorder.Body.Bytes()
	if groups {
		out = l.withGroups(out)
	}
	if this != nil && recorder.Code != http.StatusOK {
		out = labType.ReplaceAll(out, append([]byte(`type="`), append(this[2], '"')...)) // faults name the object's real type
	}
	if method == "Login" {
		l.remember(recorder)
	}
	if method != "ExecuteSoap" {
		for name, values := range recorder.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(out)
		return
	}
	if l.faults.match("undeclared_xsi", nil) != nil {
		out = namespaces.ReplaceAll(out, nil)
	}
	if l.faults.match("reflect_prefix", nil) != nil {
		out = answer.ReplaceAll(out, []byte(`<${1}reflect:${2}>`))
		out = returnval.ReplaceAll(out, []byte(`<returnval xmlns:reflect="urn:reflect" xsi:type="reflect:ReflectManagedMethodExecuterSoapResult">`))
	}
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	w.WriteHeader(recorder.Code)
	_, _ = w.Write(out)
}

// remember when a session began.
func (l *lab) remember(recorder *httptest.ResponseRecorder) {
	for _, cookie := range recorder.Result().Cookies() {
		if cookie.Name == sessionCookie {
			l.mu.Lock()
			l.opened[cookie.Value] = time.Now()
			l.mu.Unlock()
		}
	}
}

func hangUp(w http.ResponseWriter) {
	if connection, _, err := w.(http.Hijacker).Hijack(); err == nil {
		_ = connection.Close()
	}
}

// restart is that of the vCenter service: sessions and tasks are forgotten, the hosts and what they are doing go on.
func (l *lab) restart(silence time.Duration) {
	l.mu.Lock()
	l.downUntil = time.Now().Add(silence)
	l.epoch = l.downUntil
	tasks := l.tasks
	l.tasks = nil
	l.mu.Unlock()
	for _, task := range tasks {
		simulator.Map.Remove(task)
	}
}

func (l *lab) restarting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Before(l.downUntil)
}

// sessionEnded tells whether an administrator (the fault) ended the session of this request, now or earlier.
func (l *lab) sessionEnded(r *http.Request, subject map[string]string) bool {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return false
	}
	ended := l.faults.match("session_killed", subject) != nil
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.epoch.IsZero() && l.opened[cookie.Value].Before(l.epoch) {
		return true // of before the restart
	}
	if ended {
		l.killed[cookie.Value] = true
	}
	return l.killed[cookie.Value]
}

// denied answers with NoPermission or one of its kind.
func denied(w http.ResponseWriter, fault, text, kind, id, privilege string) {
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	w.WriteHeader(http.StatusInternalServerError)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<soapenv:Body><soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>%[2]s</faultstring>
<detail><%[1]sFault xmlns="urn:vim25" xsi:type="%[1]s"><object type="%[3]s">%[4]s</object><privilegeId>%[5]s</privilegeId></%[1]sFault></detail>
</soapenv:Fault></soapenv:Body></soapenv:Envelope>`, fault, text, kind, id, privilege)
}
