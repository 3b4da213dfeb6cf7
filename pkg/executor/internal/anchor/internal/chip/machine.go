package chip

import (
	"io"
	"os"
	"strings"
)

// Machine says whether this is a virtual machine. The zero value is not known.
type Machine int

// The kinds of machine.
const (
	MachineUnknown Machine = iota
	BareMetal
	Virtual
)

// maxCPUInfo bounds what is read of it: the first processor's lines are enough.
const maxCPUInfo = 64 << 10

// ReadMachine reads the processor's flags, before the sandbox closes /proc. Only
// x86 tells a hypervisor; elsewhere it is not known.
func ReadMachine() Machine {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return MachineUnknown
	}
	defer func() { _ = f.Close() }() // opened for reading
	text, err := io.ReadAll(io.LimitReader(f, maxCPUInfo))
	if err != nil {
		return MachineUnknown
	}
	return machineOf(string(text))
}

// machineOf looks for the flag among the flags of the first processor.
func machineOf(cpuinfo string) Machine {
	for line := range strings.Lines(cpuinfo) {
		key, flags, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(key) != "flags" {
			continue
		}
		for f := range strings.FieldsSeq(flags) {
			if f == "hypervisor" {
				return Virtual
			}
		}
		return BareMetal
	}
	return MachineUnknown
}

// softwareTPM are manufacturers (exact) of TPMs whose state is a file or a
// process's memory. GOOG and AMZN make real chips too; which of the two answers
// here cannot be told.
var softwareTPM = []string{
	"IBM",  // libtpms: swtpm, QEMU, libvirt, Proxmox
	"MSFT", // Microsoft's simulator, Hyper-V, Azure
	"VMW",  // VMware
	"GOOG", // Google Cloud
	"AMZN", // Nitro
	"XYZ",  // the reference code as it is handed out
	"SW",
}

// softwareWords stand in the vendor strings of such TPMs, in any case.
var softwareWords = []string{"sw tpm", "swtpm", "libtpms", "simulator", "xcg ftpm", "vtpm", "virtual", "vmware", "qemu", "nitrotpm", "emulat"}

// hardwareTPM are the manufacturers in the TCG's registry that make chips or
// firmware TPMs.
var hardwareTPM = []string{
	"AMD", "ATML", "BRCM", "CSCO", "FLYS", "HISI", "HPE", "HPI", "IFX", "INTC", "LEN", "NSG", "NSM", "NTC", "NTZ",
	"QCOM", "ROCC", "SEAL", "SECE", "SMSC", "SMSN", "SNS", "STM", "TXN", "WEC",
}

// The assurances. Unknown allows no more than Software.
const (
	Software        = "software"
	HardwareWitness = "hardware_witness"
	Unknown         = "unknown"
)

// assurance judges a TPM by what it says and where it is. It errs towards
// Software, and a manufacturer that nobody knows is Unknown: both allow no write
// outside a laboratory.
func assurance(device bool, m Machine, manufacturer, vendor string) string {
	// "SW   TPM": words are compared with single blanks.
	words := strings.ToLower(strings.Join(strings.Fields(vendor), " "))
	for _, w := range softwareWords {
		if strings.Contains(words, w) {
			return Software
		}
	}
	for _, s := range softwareTPM {
		if manufacturer == s {
			return Software
		}
	}
	switch {
	case !device || m == Virtual:
		return Software
	case m == MachineUnknown:
		return Unknown
	}
	for _, h := range hardwareTPM {
		if manufacturer == h {
			return HardwareWitness
		}
	}
	return Unknown
}
