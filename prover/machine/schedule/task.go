package schedule

import "context"

// Task is a piece of work that can be done by itself, and again from the start.
type Task struct {
	// ID names it in errors and warnings.
	ID string
	// Need and HostNeed are the bytes that it takes at most, on a device and on a host.
	Need, HostNeed int64
	// Affinity is the number of the device that has the task's data.
	Affinity int
	// Like, if set, is comparable, and that of tasks that take about as long: of those that have run
	// with it the scheduler knows how long.
	Like any
	// Run does the work. It returns when nothing of it goes on but what the worker's
	// Drain waits for.
	Run func(ctx context.Context, on Worker) error
}

// Worker is one of the places of a device where tasks run one after the other.
type Worker struct{ Device, Number int }

// need returns what the task takes on a device.
func (t *Task) need(d *device) int64 {
	if d.Host {
		return t.HostNeed
	}
	return t.Need
}
