package prover

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prove-model/prove-model/prover/machine/schedule"
)

// inTurn runs lists of tasks in order. A list starts as soon as every task of the list before has
// started and fewer than `together` lists are running. So no worker is idle while the last tasks of a list are still
// running. After an error no further list starts.
func (l *Pool) inTurn(ctx context.Context, lists [][]schedule.Task, together int) error {
	var ended []chan error  // by list that has started and has not been waited for, in order: receives the list's error when it has ended
	first := func() error { // waits for the oldest of these lists
		err := <-ended[0]
		ended = ended[1:]
		return err
	}
	var err error
	for _, tasks := range lists {
		for err == nil && len(ended) >= max(together, 1) {
			err = first()
		}
		if err != nil {
			break
		}
		begun, end := make(chan struct{}), make(chan error, 1)
		tasks = whenBegun(tasks, func() { close(begun) })
		ended = append(ended, end)
		go func() {
			end <- l.Schedule.Run(ctx, tasks, l.Warn)
			close(end)
		}()
		select {
		case <-begun:
		case err = <-end:
		}
	}
	for len(ended) > 0 {
		if e := first(); err == nil {
			err = e
		}
	}
	return err
}

// whenBegun wraps the tasks so that all is called once, when each of them has started.
func whenBegun(tasks []schedule.Task, all func()) []schedule.Task {
	tasks = slices.Clone(tasks)
	var left atomic.Int64
	left.Store(int64(len(tasks)))
	for i := range tasks {
		run := tasks[i].Run
		begin := sync.OnceFunc(func() { // a task may be begun again
			if left.Add(-1) == 0 {
				all()
			}
		})
		tasks[i].Run = func(ctx context.Context, on schedule.Worker) error {
			begin()
			return run(ctx, on)
		}
	}
	return tasks
}
