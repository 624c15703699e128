package kernels

// MultiStream is a Device with several queues, whose operations run at the same time. The
// queues share the device's memory: memory that one queue has allocated or written may be
// used in another queue once the first has been waited for (Sync), and may be freed in
// any queue once all queues that use it have been waited for.
type MultiStream interface {
	Device
	// Stream returns the device with queue n, from 0 on; queue 0 is the device's own. A
	// queue is made when it is first asked for, and lives as long as the device.
	Stream(n int) (Device, error)
}

// StreamOf returns a device with queue n if d has several queues, else d itself; its
// operations then happen in the order of the calls, whoever makes them.
func StreamOf(d Device, n int) (Device, error) {
	if l, ok := d.(MultiStream); ok {
		return l.Stream(n)
	}
	return d, nil
}
