package kernels

// A Recorder is a Device that can record what is enqueued and enqueue it again with one call, which takes less time than many launches.
type Recorder interface {
	Device
	// Record records what f enqueues, launches and copies on the device, instead of running it. f must not allocate, free, upload,
	// download or wait, and may launch only kernels that have been launched before. Addresses are recorded as they are. Nothing else
	// may use this queue of the device meanwhile.
	Record(f func() error) (Recording, error)
}

// A Recording is recorded work.
type Recording interface {
	// Launch enqueues the work.
	Launch() error
	// Close frees the recording.
	Close() error
}
