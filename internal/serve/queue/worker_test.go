package queue

import (
	"context"
	"sync"
	"testing"
	"time"
)

// A worker that has a job begins with it, however often it is asked to help.
func TestWorkBeforeHelp(t *testing.T) {
	var w Worker
	var helping, asking sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for range 4 {
		asking.Go(func() {
			for ctx.Err() == nil {
				w.help(ctx, &helping, func(ctx context.Context) { <-ctx.Done() })
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 50000 {
			w.begin()()
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Error("it helps while a job of its own waits")
	}
	cancel()
	asking.Wait()
	helping.Wait()
}
