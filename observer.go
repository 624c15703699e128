package provemodel

import (
	"context"
	"fmt"
	"sync"
)

// Phase names a part of the work. These are the phases in the order in which they occur
// on the way from a model to a proof, with the function that reports them:
//
//	load kernels     OpenGPU
//	hash model       Quantise
//	calibrate        Quantise, unless the cache has the ranges
//	quantise         Quantise
//	commit model     Commit, unless the cache has the commitment
//	run model        Prove
//	commit witness   Prove
//	prove            Prove
//	open             Prove
//	self-check       Prove
//	prove inputs     Committed.ProveEach, instead of the phases of Prove
//	prove link       Committed.Link
type Phase string

const (
	phaseLoad        Phase = "load kernels"
	phaseHash        Phase = "hash model"
	phaseCalibrate   Phase = "calibrate"
	phaseQuantise    Phase = "quantise"
	phaseCommitModel Phase = "commit model"
	phaseRun         Phase = "run model"
	phaseCheck       Phase = "self-check"
	phaseEach        Phase = "prove inputs"
	phaseLink        Phase = "prove link"
)

// An Observer is told how far long work has got. Its methods are called one at a time,
// and never after the function that it was given to has returned.
type Observer interface {
	// Begin says that a phase begins. Phases do not nest.
	Begin(p Phase)
	// Progress says that `done` of `total` units of the phase are done.
	Progress(done, total int)
	// End says that the phase is over. err is its error, nil if it succeeded.
	End(err error)
	// Warn receives a message for people about a problem that did not end the work.
	Warn(message string)
}

// watch calls an Observer as that interface promises: one call at a time, and none after stop. Work
// that was abandoned when a context ended runs on in other goroutines for a while; its calls are
// dropped.
type watch struct {
	mu       sync.Mutex
	observer Observer // nil: all calls are dropped
	running  bool     // whether a phase has begun and not ended
	over     bool     // whether stop was called
}

// newWatch begins the use of an observer by one function, which defers stop.
func newWatch(observer Observer) *watch { return &watch{observer: observer} }

func (w *watch) do(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over && w.observer != nil {
		f()
	}
}

func (w *watch) stop() { w.do(func() { w.over = true }) }

// begin ends the running phase, if any, and begins another.
func (w *watch) begin(p Phase) {
	w.end(nil)
	w.do(func() {
		w.running = true
		w.observer.Begin(p)
	})
}

func (w *watch) progress(done, total int) { w.do(func() { w.observer.Progress(done, total) }) }

func (w *watch) end(err error) {
	w.do(func() {
		if w.running {
			w.running = false
			w.observer.End(err)
		}
	})
}

func (w *watch) warn(format string, args ...any) {
	w.do(func() { w.observer.Warn(fmt.Sprintf(format, args...)) })
}

// run runs f as a phase. If the context ends first, run returns the context's error at
// once, while f runs on (await).
func (w *watch) run(ctx context.Context, p Phase, f func() error) error {
	w.begin(p)
	err := await(ctx, f)
	w.end(err)
	return err
}

// await runs f and returns its error; if the context ends first, it returns the
// context's error at once. So long computations need not look at the context. In that
// case f runs on in its goroutine, so it may write only to variables that the caller
// does not use after an error.
func await(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return awaitStarted(ctx, f)
}

// awaitStarted is await, except that it runs f even if the context has ended already.
func awaitStarted(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
