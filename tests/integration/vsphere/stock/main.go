// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

// Command stock serves govmomi's simulator exactly as its package ships it: nothing is added or replaced.
// Its flags are those of govmomi's own vcsim that the tests use, so that either can be run.
package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/vmware/govmomi/simulator"
)

func main() {
	listen := flag.String("l", "127.0.0.1:0", "listen address")
	certificate := flag.String("tlscert", "", "PEM file with the certificate")
	key := flag.String("tlskey", "", "PEM file with the private key")
	user := flag.String("username", "", "login")
	password := flag.String("password", "", "password")
	single := flag.Bool("esx", false, "one ESXi host without a vCenter")
	flag.Parse()
	log.SetOutput(io.Discard)

	model := simulator.VPX()
	if *single {
		model = simulator.ESX()
	}
	if err := model.Create(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	pair, err := tls.LoadX509KeyPair(*certificate, *key)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	model.Service.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	model.Service.Listen = &url.URL{Scheme: "https", Host: *listen, User: url.UserPassword(*user, *password)}
	server := model.Service.NewServer()
	fmt.Printf("export GOVC_URL=%s GOVC_SIM_PID=%d\n", server.URL, os.Getpid())
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	<-stop
	server.Close()
}
