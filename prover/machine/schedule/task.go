package schedule

import "context"

// Task is a piece of work that can be done by itself, and again from the start.
type Task struct {
	// ID names the task in errors and warnings.
	ID string
	// Need and HostNeed are the most bytes that the task takes, on a device and on a host.
	Need, HostNeed int64
	// Affinity is the number of the device that has the task's data; a number that no device has, such as −1, means none.
	Affinity int
	// Like, if set, is a comparable value that tasks which take about the same time share. The
	// scheduler remembers how long the last task with the same Like took, and starts long ones first.
	Like any
	// Run does the work on a worker. When it returns, nothing of the task goes on but work that the
	// device's Drain waits for.
	Run func(ctx context.Context, on Worker) error
}

// Worker is one of the workers of a device, by their numbers. A worker runs one task at a time, and is a stream on a GPU.
type Worker struct{ Device, Number int }

// need returns the bytes that the task takes on d.
func (t *Task) need(d *device) int64 {
	if d.Host {
		return t.HostNeed
	}
	return t.Need
}
