// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

// `labvsphere stock` serves govmomi's simulator exactly as its package ships it: nothing is added or replaced.
// Its flags are those of govmomi's own vcsim that the tests use, so that either can be run.

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

func stock(words []string) error {
	flags := flag.NewFlagSet("stock", flag.ExitOnError)
	listen := flags.String("l", "127.0.0.1:0", "listen address")
	certificate := flags.String("tlscert", "", "PEM file with the certificate")
	key := flags.String("tlskey", "", "PEM file with the private key")
	user := flags.String("username", "", "login")
	password := flags.String("password", "", "password")
	single := flags.Bool("esx", false, "one ESXi host without a vCenter")
	if err := flags.Parse(words); err != nil {
		return err
	}
	log.SetOutput(io.Discard)

	model := simulator.VPX()
	if *single {
		model = simulator.ESX()
	}
	if err := model.Create(); err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(*certificate, *key)
	if err != nil {
		return err
	}
	model.Service.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	model.Service.Listen = &url.URL{Scheme: "https", Host: *listen, User: url.UserPassword(*user, *password)}
	server := model.Service.NewServer()
	fmt.Printf("export GOVC_URL=%s GOVC_SIM_PID=%d\n", server.URL, os.Getpid())
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	<-stop
	server.Close()
	return nil
}
