package ledger

import "os"

// identity returns the machine's identity, "" if it has none, and that of its last start.
func identity() (machine, boot string) {
	id, _ := os.ReadFile("/etc/machine-id") // containers may have none
	start, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(id), string(start)
}
