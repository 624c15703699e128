package kernels

// MultiStream is a Device with several queues, whose operations happen beside each other.
// They share its memory: what one queue allocates or writes may be used in another
// once the first has been waited for (Sync), and freed in any once all that use it
// have.
type MultiStream interface {
	Device
	// Stream returns the device with queue n, from 0 on, its own being queue 0; it is
	// made when first asked for and lives as long as the device.
	Stream(n int) (Device, error)
}

// StreamOf returns a device with queue n if it has several, else the device itself, whose
// operations then are ordered whoever calls them.
func StreamOf(d Device, n int) (Device, error) {
	if l, ok := d.(MultiStream); ok {
		return l.Stream(n)
	}
	return d, nil
}
