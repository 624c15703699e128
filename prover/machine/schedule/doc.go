// Package schedule runs tasks on devices with limited memory. It does not know what a
// task computes.
//
// A task says how much memory it will take, and is started on a device where that can be
// reserved. Several tasks reserve at most four fifths of a device's memory together, after
// what is pinned there is subtracted, or less if the device's owner says so (Device.Most).
// A task alone on its device may take all of it.
//
// Waiting tasks are sorted: first those whose like took longest the last time (Task.Like),
// then those that need most memory. Every task that fits is started, also past one that
// does not (greedy backfilling). The device with a task's data (its affinity) comes first; a
// device takes tasks of others once it has started all of its own that fit there. A task that
// others have overtaken 16 times gets a device kept free for it, so it does not starve. Memory
// is released when the worker has drained, after an error too.
//
// A task must be able to run again from the start, on any device. If memory was short, it
// is run again alone on a device, and if that fails too on a host. If its device was lost, it
// is run again on another one. Panics become errors. A task that fails otherwise ends its
// call of Run: no more tasks of that call are started, and all errors are reported, in the
// order of the tasks.
//
// A call does not wait for ever: whenever nothing runs and a waiting task fits nowhere, the
// task fails with a DeadlockError (Scheduler.admit).
package schedule
