// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

// Command labvsphere is a simulated vCenter with ESXi hosts, on top of govmomi's simulator. See README.md.
package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/vmware/govmomi/simulator"
)

func main() {
	serve := run
	if len(os.Args) > 1 && os.Args[1] == "stock" {
		serve = func() error { return stock(os.Args[2:]) }
	}
	if err := serve(); err != nil {
		complain("%v", err)
		os.Exit(1)
	}
}

func run() error {
	listen := flag.String("listen", "127.78.0.3:8443", "address of the vCenter API (HTTPS)")
	side := flag.String("control", "127.78.0.3:8080", "address of the control API (HTTP)")
	certificate := flag.String("cert", "", "PEM file with the certificate (chain)")
	key := flag.String("key", "", "PEM file with the private key")
	user := flag.String("user", "administrator@vsphere.local", "the one account")
	passwordFile := flag.String("password-file", "", "file with its password")
	topologyFile := flag.String("topology", "", "JSON file with the inventory")
	hookURL := flag.String("hook", "", "URL that power events are posted to; empty: guests are simulated here")
	wait := flag.Duration("request-delay", 0, "time before each answer of the API, for example 20ms: a vCenter that is far away")
	verbose := flag.Bool("verbose", false, "log what the simulator has to say")
	flag.Parse()
	if !*verbose {
		stdlog.SetOutput(io.Discard)
	}
	for name, value := range map[string]string{"cert": *certificate, "key": *key, "password-file": *passwordFile, "topology": *topologyFile} {
		if value == "" {
			return fmt.Errorf("-%s is needed", name)
		}
	}
	topology, err := readTopology(*topologyFile)
	if err != nil {
		return err
	}
	password, err := os.ReadFile(*passwordFile)
	if err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(*certificate, *key)
	if err != nil {
		return err
	}
	// listeners first: a used port must not leave a half-built site behind
	api, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	door, err := net.Listen("tcp", *side)
	if err != nil {
		return err
	}
	datastore, err := os.MkdirTemp("", "labvsphere-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(datastore)
	l, err := build(topology, newHook(*hookURL), datastore, "https://"+api.Addr().String())
	if err != nil {
		return err
	}
	l.setAddress(api.Addr().(*net.TCPAddr).IP.String())
	l.service.Listen = &url.URL{Scheme: "https", Host: api.Addr().String(), User: url.UserPassword(*user, strings.TrimRight(string(password), "\r\n"))}
	l.service.RegisterSDK(simulator.Map)

	mux := http.NewServeMux()
	mux.HandleFunc("/sdk", l.serveSDK)
	mux.HandleFunc("/sdk/vimServiceVersions.xml", l.service.ServiceVersions)
	quiet := stdlog.New(io.Discard, "", 0) // handshakes that a client refused are not news
	server := &http.Server{Handler: delayed(*wait, mux), ErrorLog: quiet, ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}}
	c := &control{lab: l}
	controlServer := &http.Server{Handler: c.handler(), ReadHeaderTimeout: 10 * time.Second}
	broken := make(chan error, 2)
	go func() { broken <- server.ServeTLS(api, "", "") }()
	go func() { broken <- controlServer.Serve(door) }()
	fmt.Printf("READY https://%s/sdk control http://%s SIMULATED\n", api.Addr(), door.Addr())
	go func() {
		if err := l.announce(60 * time.Second); err != nil {
			complain("announcing: %v", err)
		}
		atomic.StoreInt32(&c.announced, 1)
	}()

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	select {
	case <-stop:
		_ = server.Close()
		_ = controlServer.Close()
		return nil
	case err := <-broken:
		return err
	}
}

// delayed lets each request wait by itself, as a distance does: requests side by side wait side by side.
func delayed(wait time.Duration, answer http.Handler) http.Handler {
	if wait <= 0 {
		return answer
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(wait)
		answer.ServeHTTP(w, r)
	})
}
