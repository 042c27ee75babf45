// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"bytes"
	"encoding/xml"
	"reflect"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// The "reflect" part of the API is not in the public vim25 package: method executers carry esxcli over SOAP.

type RetrieveManagedMethodExecuter struct {
	This types.ManagedObjectReference `xml:"_this"`
}

type RetrieveManagedMethodExecuterResponse struct {
	Returnval types.ManagedObjectReference `xml:"urn:vim25 returnval"`
}

type retrieveExecuterBody struct {
	Res    *RetrieveManagedMethodExecuterResponse
	Fault_ *soap.Fault
}

func (b *retrieveExecuterBody) Fault() *soap.Fault { return b.Fault_ }

type soapArgument struct {
	Name string `xml:"name"`
	Val  string `xml:"val"`
}

type ExecuteSoap struct {
	This     types.ManagedObjectReference `xml:"_this"`
	Moid     string                       `xml:"moid"`
	Version  string                       `xml:"version"`
	Method   string                       `xml:"method"`
	Argument []soapArgument               `xml:"argument,omitempty"`
}

type soapFault struct {
	FaultMsg    string `xml:"faultMsg"`
	FaultDetail string `xml:"faultDetail,omitempty"`
}

type soapResult struct {
	Response string     `xml:"response,omitempty"`
	Fault    *soapFault `xml:"fault,omitempty"`
}

type ExecuteSoapResponse struct {
	Returnval *soapResult `xml:"urn:vim25 returnval"`
}

type executeSoapBody struct {
	Res    *ExecuteSoapResponse
	Fault_ *soap.Fault
}

func (b *executeSoapBody) Fault() *soap.Fault { return b.Fault_ }

func init() {
	types.Add("RetrieveManagedMethodExecuter", reflect.TypeOf((*RetrieveManagedMethodExecuter)(nil)).Elem())
	types.Add("ExecuteSoap", reflect.TypeOf((*ExecuteSoap)(nil)).Elem())
}

func escape(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}
