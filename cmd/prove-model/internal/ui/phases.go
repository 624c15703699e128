// Package ui is what the command shows of long work: the phases with their
// times and progress, warnings and tables.
package ui

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Phase is a finished part of the work.
type Phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	// CPU is processor time on all cores together: on a machine with other
	// work it says more than Seconds.
	CPU float64 `json:"cpu_seconds"`
}

// Phases measures the parts of the work and shows them as they go: as progress
// bars on a terminal, as a line each otherwise, or not at all. Its methods may
// be called from several goroutines; phases do not nest.
type Phases struct {
	mu   sync.Mutex
	w    io.Writer // nil: quiet
	bars bool
	bar  *progressbar.ProgressBar
	done []Phase

	name  string // of the running phase; empty: none
	began time.Time
	cpu   time.Duration // of the process when it began
}

// NewPhases returns Phases that shows itself on w, usually standard error.
func NewPhases(w io.Writer, quiet bool) *Phases {
	if quiet {
		return &Phases{}
	}
	f, ok := w.(*os.File)
	return &Phases{w: w, bars: ok && term.IsTerminal(int(f.Fd()))}
}

// Run runs f as the phase of the given name. f may report how far it is, in
// any unit, as often as it likes. When the context ends first, Run returns its
// error at once and leaves f to itself (see Await).
func (p *Phases) Run(ctx context.Context, name string, f func(step func(done, total int)) error) error {
	p.Start(name)
	err := Await(ctx, func() error { return f(p.Step) })
	p.Stop(err == nil)
	return err
}

// Await returns f's error, or the context's as soon as that ends: long
// computations need not look at the context themselves. f then runs on, so
// it must be without effect but on variables that the caller no longer uses.
func Await(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Start ends the running phase, if any, and begins another.
func (p *Phases) Start(name string) {
	p.Stop(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.name, p.began, p.cpu = name, time.Now(), processorTime()
	if !p.bars {
		return
	}
	p.bar = progressbar.NewOptions(-1,
		progressbar.OptionSetWriter(p.w),
		progressbar.OptionSetDescription(fmt.Sprintf("%-14s", name)),
		progressbar.OptionSetWidth(30),
		progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(false))
}

// Step says how much of the running phase is done, in any unit.
func (p *Phases) Step(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar == nil || total < 1 {
		return
	}
	if p.bar.GetMax() != total {
		p.bar.ChangeMax(total)
	}
	// Reaching the maximum would finish the bar before the phase ends.
	p.bar.Set(min(done, total-1))
}

// Stop ends the running phase, if any; one that failed is not listed.
func (p *Phases) Stop(ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Finish() // clears it and ends its spinner
		p.bar = nil
	}
	ph := Phase{p.name, time.Since(p.began).Seconds(), (processorTime() - p.cpu).Seconds()}
	p.name = ""
	if !ok || ph.Name == "" {
		return
	}
	p.done = append(p.done, ph)
	if p.w != nil {
		fmt.Fprintf(p.w, "%-14s %8.3f s\n", ph.Name, ph.Seconds)
	}
}

// All returns the phases that finished without error, in order.
func (p *Phases) All() []Phase {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Phase(nil), p.done...)
}

// Printf writes a line between phases.
func (p *Phases) Printf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w != nil {
		fmt.Fprintf(p.w, format+"\n", args...)
	}
}
