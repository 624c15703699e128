package schedule

import (
	"fmt"
	"strings"
)

// Fault is the kind of an error of a task, which decides what happens next.
type Fault int

const (
	// Fatal: the task itself is at fault and would fail anywhere. It is not run again.
	Fatal Fault = iota
	// Memory: memory was short. The task is run again alone, and if that fails too on a host.
	Memory
	// Lost: the device is lost. Nothing more is started there, and its tasks move to others.
	Lost
)

// TaskError is the error of a task, with the device on which it failed.
type TaskError struct {
	ID, Device string
	Err        error
}

func (e *TaskError) Error() string { return fmt.Sprintf("%s on %s: %v", e.ID, e.Device, e.Err) }

// Unwrap returns the task's error.
func (e *TaskError) Unwrap() error { return e.Err }

// PanicError is a task's panic.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// DeadlockError is the error of a task that fits on no device, or on none while nothing
// runs that could make room.
type DeadlockError struct {
	ID       string
	Need     int64
	Capacity []Room
	// Last is the error with which the task failed last, nil if it never ran.
	Last error
}

// Room is the memory that a device has for tasks.
type Room struct {
	Device string
	Bytes  int64 // capacity without what is pinned
	Lost   bool
}

func (e *DeadlockError) Error() string {
	rooms := make([]string, len(e.Capacity))
	for i, r := range e.Capacity {
		rooms[i] = fmt.Sprintf("%s has room for %d", r.Device, r.Bytes)
		if r.Lost {
			rooms[i] = r.Device + " is lost"
		}
	}
	s := fmt.Sprintf("%s needs %d bytes: %s", e.ID, e.Need, strings.Join(rooms, ", "))
	if e.Last != nil {
		s += ": " + e.Last.Error()
	}
	return s
}

// Unwrap returns the error of the last attempt.
func (e *DeadlockError) Unwrap() error { return e.Last }

// Notice says that a task failed on a device and is run again.
type Notice struct {
	Task, Device string
	// Fault is Memory or Lost; a device is reported lost once.
	Fault Fault
	// Alone says, if Fault is Memory, that the task is tried again alone on a device;
	// otherwise it goes to a host.
	Alone bool
	Err   error
}
