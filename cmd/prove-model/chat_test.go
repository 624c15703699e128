package main

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A proof goes on when the model has written, and not before, unless all is over.
func TestProofsWait(t *testing.T) {
	p := newProofs(nil, nil, nil)
	observer := &patient{proofs: p, ctx: t.Context()}
	observer.Progress(1, 2) // nothing is written
	p.pause()
	went := make(chan struct{})
	go func() {
		observer.Begin("prove")
		close(went)
	}()
	select {
	case <-went:
		t.Error("a proof goes on while the model writes")
	case <-time.After(20 * time.Millisecond):
	}
	p.resume()
	<-went
	p.pause()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	(&patient{proofs: p, ctx: over}).Progress(1, 2)
}

// An interrupt ends what has not begun, and asks what has to stop where it is; a request to terminate ends both.
func TestInterruptedTurn(t *testing.T) {
	for name, x := range map[string]struct {
		signal   os.Signal
		begun    bool
		canceled bool
		err      error
	}{
		"before the first token": {os.Interrupt, false, true, context.Canceled},
		"while it writes":        {os.Interrupt, true, false, nil},
		"terminated":             {syscall.SIGTERM, true, true, errTerminated},
		"left alone":             {nil, true, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			signals := make(chan os.Signal, 1)
			c := &conversation{signals: signals}
			err := c.interruptible(t.Context(), func() bool { return !x.begun }, func(ctx context.Context, asked *atomic.Bool) error {
				if x.signal == nil {
					return ctx.Err()
				}
				signals <- x.signal
				for until := time.Now().Add(10 * time.Second); !asked.Load() || x.canceled && ctx.Err() == nil; {
					if time.Now().After(until) {
						t.Fatal("nobody has said so")
					}
					time.Sleep(time.Millisecond)
				}
				return ctx.Err()
			})
			if !errors.Is(err, x.err) || x.err == nil && err != nil {
				t.Errorf("%v, want %v", err, x.err)
			}
		})
	}
}
