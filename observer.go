package provemodel

import (
	"context"
	"fmt"
	"sync"
)

// Phase names a part of the work. In the order of a model's way to a proof they are:
//
//	load kernels     OpenGPU
//	hash model       Quantise
//	calibrate        Quantise, unless the cache has the ranges
//	quantise         Quantise
//	commit model     Commit, unless the cache has the commitment
//	run model        Prove, and so all that follow
//	commit witness
//	prove
//	open
//	self-check
//	prove inputs     Committed.ProveEach, in place of those of Prove
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

// An Observer is told how long work goes. Its methods are called one at a time,
// and no more once the function that it was given to has returned.
type Observer interface {
	// Begin says that a phase begins. Phases do not nest.
	Begin(p Phase)
	// Progress says how much of the phase is done, in any unit.
	Progress(done, total int)
	// End says that the phase is over, with its error if it failed.
	End(err error)
	// Warn has a message for people about something that did not end the work.
	Warn(message string)
}

// watch keeps the promises that Observer makes. Work that is abandoned when a context ends still runs
// in other goroutines for a while; its calls are dropped after stop.
type watch struct {
	mu       sync.Mutex
	observer Observer // nil is told nothing
	running  bool     // a phase
	over     bool
}

// newWatch begins a function's use of an observer; the function defers stop.
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

// run runs f as a phase. When the context ends first, run returns its error at
// once (see await).
func (w *watch) run(ctx context.Context, p Phase, f func() error) error {
	w.begin(p)
	err := await(ctx, f)
	w.end(err)
	return err
}

// await returns f's error, or the context's as soon as that ends: long
// computations need not look at the context themselves. f then runs on, so it
// must be without effect but on variables that the caller no longer uses.
func await(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return awaitStarted(ctx, f)
}

// awaitStarted is await, but f is run even if the context has ended.
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
