// Package ui shows long work to users: phases with their times and progress, warnings
// and tables.
package ui

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	provemodel "github.com/prove-model/prove-model"
)

// Phase is a finished part of the work.
type Phase struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	// CPU is processor time of all cores together. On a machine with other work it says
	// more than Seconds.
	CPU float64 `json:"cpu_seconds"`
	// Peak is the largest resident size, in bytes, that the process had up to the end of
	// the phase; 0 where the system does not say.
	Peak int64 `json:"peak_memory_bytes"`
}

// Phases measures the phases of the work and shows their progress: as progress bars on
// a terminal, as a line for each phase elsewhere, or not at all. It implements
// provemodel.Observer. Several goroutines may use it at once.
type Phases struct {
	mu     sync.Mutex
	w      io.Writer // nil: phases are not shown
	warns  io.Writer // nil: warnings are not shown
	warned map[string]bool
	bars   bool
	events *events // progress for programs, instead of w
	bar    *progressbar.ProgressBar
	done   []Phase

	start time.Time

	name  string // of the running phase; "" if there is none
	began time.Time
	cpu   time.Duration // processor time of the process when the phase began
}

// NewPhases returns Phases that show themselves on w, usually standard error. If quiet
// is set they show warnings only.
func NewPhases(w io.Writer, quiet bool) *Phases {
	if quiet {
		return &Phases{warns: w, start: time.Now()}
	}
	f, ok := w.(*os.File)
	return &Phases{w: w, warns: w, bars: ok && term.IsTerminal(int(f.Fd())), start: time.Now()}
}

// Began returns when the Phases were made, which is when the command started.
func (p *Phases) Began() time.Time { return p.start }

// Begin begins a phase.
func (p *Phases) Begin(name provemodel.Phase) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.name, p.began, p.cpu = string(name), time.Now(), ProcessorTime()
	p.events.progress(p.name, 0, 1)
	if !p.bars {
		return
	}
	p.bar = progressbar.NewOptions(-1,
		progressbar.OptionSetWriter(p.w),
		progressbar.OptionSetDescription(fmt.Sprintf("%-14s", string(name))),
		progressbar.OptionSetWidth(30),
		progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(false))
}

// Progress says that `done` of `total` units of the running phase are done.
func (p *Phases) Progress(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if total < 1 {
		return
	}
	p.events.progress(p.name, done, total)
	if p.bar == nil {
		return
	}
	if p.bar.GetMax() != total {
		p.bar.ChangeMax(total)
	}
	// Reaching the maximum would finish the bar before the phase ends.
	p.bar.Set(min(done, total-1))
}

// End ends the running phase. A phase that failed is not listed by All.
func (p *Phases) End(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Finish() // clears it and ends its spinner
		p.bar = nil
	}
	ph := Phase{p.name, time.Since(p.began).Seconds(), (ProcessorTime() - p.cpu).Seconds(), PeakMemory()}
	p.name = ""
	if err != nil {
		return
	}
	p.done = append(p.done, ph)
	p.events.write(ph)
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

// Warn writes a warning. Equal warnings are written once.
func (p *Phases) Warn(message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.warned[message] {
		return
	}
	if p.warned == nil {
		p.warned = map[string]bool{}
	}
	p.warned[message] = true
	p.events.write(map[string]string{"warning": message})
	if p.warns != nil {
		fmt.Fprintf(p.warns, "warning: %s\n", PrintableLines(message))
	}
}

// Printf writes a line between phases.
func (p *Phases) Printf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w != nil {
		fmt.Fprintf(p.w, format+"\n", args...)
	}
}
