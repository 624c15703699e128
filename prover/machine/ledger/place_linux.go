package ledger

import "os"

// identity returns what identifies the machine, "" if nothing does, and what identifies its last start.
func identity() (machine, boot string) {
	id, _ := os.ReadFile("/etc/machine-id") // containers may have none
	start, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(id), string(start)
}
