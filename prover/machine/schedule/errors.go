package schedule

import (
	"fmt"
	"strings"
)

// Fault says whose an error of a task is.
type Fault int

const (
	// Fatal is the task's own: it would fail anywhere.
	Fatal Fault = iota
	// Memory was short: the task is run again alone, and then on a host.
	Memory
	// Lost is the device: nothing runs there any more, and its tasks move.
	Lost
)

// TaskError is the error of a task, and where it ended.
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

// DeadlockError says that nothing is running and a task fits nowhere.
type DeadlockError struct {
	ID       string
	Need     int64
	Capacity []Room
	// Last is the error with which the task failed last, nil if it never ran.
	Last error
}

// Room is what a device has for tasks.
type Room struct {
	Device string
	Bytes  int64
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

// Notice says that a task did not end where it began.
type Notice struct {
	Task, Device string
	// Fault is Memory or Lost; a device is reported lost once.
	Fault Fault
	// Alone says that the task is tried again on a device; it goes to a host
	// otherwise, if Fault is Memory.
	Alone bool
	Err   error
}
