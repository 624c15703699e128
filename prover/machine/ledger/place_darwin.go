package ledger

import "golang.org/x/sys/unix"

// identity returns what identifies the machine and its last start.
func identity() (machine, boot string) {
	machine, _ = unix.Sysctl("kern.uuid")
	boot, _ = unix.Sysctl("kern.bootsessionuuid")
	return machine, boot
}
