// Package ui is what the command shows of long work: the phases with their
// times and progress, warnings and tables.
package ui

import (
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
// any unit, as often as it likes.
func (p *Phases) Run(name string, f func(step func(done, total int)) error) error {
	p.begin(name)
	start := time.Now()
	err := f(p.step)
	p.end(Phase{name, time.Since(start).Seconds()}, err == nil)
	return err
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

func (p *Phases) begin(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.bars {
		return
	}
	p.bar = progressbar.NewOptions(-1,
		progressbar.OptionSetWriter(p.w),
		progressbar.OptionSetDescription(fmt.Sprintf("%-12s", name)),
		progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(false))
}

func (p *Phases) step(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar == nil {
		return
	}
	if p.bar.GetMax() != total {
		p.bar.ChangeMax(total)
	}
	// Reaching the maximum would finish the bar before the phase ends.
	p.bar.Set(min(done, total-1))
}

func (p *Phases) end(ph Phase, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Clear()
		p.bar = nil
	}
	if !ok {
		return
	}
	p.done = append(p.done, ph)
	if p.w != nil {
		fmt.Fprintf(p.w, "%-12s %8.3f s\n", ph.Name, ph.Seconds)
	}
}
