package ui

import (
	"io"
	"time"
)

// events writes progress for programs, as one JSON object a line: progress of a phase,
// a Phase when it is over, and warnings. A nil *events writes nothing.
type events struct {
	w    io.Writer
	last time.Time // when progress was last written
}

// NewEvents returns Phases that write JSON objects to w.
func NewEvents(w io.Writer) *Phases { return &Phases{events: &events{w: w}, start: time.Now()} }

// often is the least time between two lines of progress.
const often = 100 * time.Millisecond

// progress writes the progress of a phase. It skips progress less than `often` after the last line, but never the
// beginning of a phase (done = 0).
func (e *events) progress(phase string, done, total int) {
	if e == nil || done > 0 && time.Since(e.last) < often {
		return
	}
	e.last = time.Now()
	e.write(map[string]any{"name": phase, "done": done, "total": total})
}

// write writes a value as one line of JSON.
func (e *events) write(event any) {
	if e == nil {
		return
	}
	_ = JSONLine(e.w, event)
}
