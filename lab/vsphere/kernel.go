// Copyright: (c) 2026, rocemesh.multinode contributors
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"strconv"
	"strings"
	"time"
)

// kernelSetting has four values: what the next orderly boot will use, what is in force, what the build ships with, and what
// the boot bank has. The last follows Configured at an orderly reboot and once an hour, so a power cut may lose a setting.
type kernelSetting struct{ Name, Type, Configured, Runtime, Default, Description, Saved string }

// saveState writes the configuration into the boot bank. Needs lab.mu.
func (h *labHost) saveState() {
	for _, k := range h.kernel {
		k.Saved = k.Configured
	}
	h.unsaved = time.Time{}
}

// saveHourly is the backup that the host's cron has made by now. Needs lab.mu.
func (h *labHost) saveHourly() {
	if !h.unsaved.IsZero() && time.Since(h.unsaved) >= h.lab.backup {
		h.saveState()
	}
}

// factoryKernel is the start of every host. Names and types follow public listings; values are illustrative.
func factoryKernel(overrides map[string]string) map[string]*kernelSetting {
	settings := map[string]*kernelSetting{}
	add := func(kind, value, description string, names ...string) {
		for _, name := range names {
			settings[strings.ToLower(name)] = &kernelSetting{name, kind, value, value, value, description, value}
		}
	}
	add("Bool", "FALSE", "Enable PCIe Address Translation Services (ATS) support.", "atsSupport")
	add("Bool", "TRUE", "Enable/Disable VGA support.", "vga")
	add("Bool", "FALSE", "Execute only code that was delivered as part of a VIB.", "execInstalledOnly")
	add("Bool", "FALSE", "Disable the check for PCIe Access Control Services on passthrough.", "disableACSCheck")
	add("Bool", "FALSE", "Use the side-channel aware scheduler.", "hyperthreadingMitigation")
	add("Bool", "TRUE", "Allow both hyperthreads of a core for one VM under the mitigation.", "hyperthreadingMitigationIntraVM")
	add("Bool", "TRUE", "Panic if CPU uniformity hard check fails.", "cpuUniformityHardCheckPanic")
	add("Bool", "FALSE", "Simulated switch.", "autoPartition", "autoCreateDumpFile", "checkCPUIDLimit", "debugBreak", "disableHwrng",
		"fileSystemAutoPartitionOnlyOnceAndSkipSsd", "gdbPort2", "ignoreMsrFaults", "leaveWakeGPEsDisabled", "logPortDisabled",
		"memLowReservation", "netGPFailoverVerbose", "noIOMMUForPassthru", "pciBarAllocPolicyStrict", "skipMicrocodeCompatCheck", "terminateVMOnPDL")
	add("Bool", "TRUE", "Simulated switch, on by default.", "acpi", "iovDisableIR2", "hyperthreading", "memCheckEveryWord2", "preemption",
		"usePciDeviceNames", "poweroffOnPanic")
	add("UInt32", "0", "Bit mask of the sources that seed the entropy pool.", "entropySources")
	add("UInt32", "115200", "Serial port baud rate.", "gdbBaud", "logBaud")
	add("UInt32", "128", "Simulated limit.", "maxPCPUS", "maxVMs", "heapMaxSizeMB")
	add("String", "", "Simulated list of devices.", "tty2Port", "com1_baud_options", "pciAlsNoProbe")
	add("String", "default", "Log destination.", "logPort", "gdbPort")
	settings["vga"].Configured, settings["vga"].Saved = "FALSE", "FALSE" // set, not yet rebooted: one row that differs on a fresh host
	for name, value := range overrides {
		if setting := settings[strings.ToLower(name)]; setting != nil {
			setting.Configured, setting.Runtime, setting.Saved = value, value, value
		}
	}
	return settings
}

// canonical returns the stored form of a value, or the host's complaint.
func (k *kernelSetting) canonical(value string) (string, string) {
	switch k.Type {
	case "Bool":
		switch strings.ToUpper(value) {
		case "TRUE", "1", "YES":
			return "TRUE", ""
		case "FALSE", "0", "NO":
			return "FALSE", ""
		}
		return "", "Invalid value '" + value + "' for boolean kernel setting " + k.Name
	case "UInt32":
		n, err := strconv.ParseUint(value, 0, 32)
		if err != nil {
			return "", "Invalid value '" + value + "' for integer kernel setting " + k.Name
		}
		return strconv.FormatUint(n, 10), ""
	}
	return value, ""
}
