// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"
)

type event map[string]interface{}

// hook tells the physics of the lab what happened to power; without a URL guests are simulated here.
type hook struct {
	url    string
	client *http.Client
}

func newHook(url string) *hook {
	// no proxy: the lab never leaves the machine
	return &hook{url: url, client: &http.Client{Timeout: 60 * time.Second, Transport: &http.Transport{Proxy: nil}}}
}

func (h *hook) present() bool { return h.url != "" }

// post waits for the 200 answer.
func (h *hook) post(e event) error {
	if h.url == "" {
		return nil
	}
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	response, err := h.client.Post(h.url, "application/json", bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("hook %s: %w", e["event"], err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 2000))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("hook %s: %s: %s", e["event"], response.Status, strings.TrimSpace(string(text)))
	}
	return nil
}

// postWhenUp retries while nobody listens yet: the daemon behind the hook may start after this process.
func (h *hook) postWhenUp(e event, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for {
		err := h.post(e)
		if err == nil || !errors.Is(err, syscall.ECONNREFUSED) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
}
