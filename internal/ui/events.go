package ui

import (
	"encoding/json"
	"io"
	"time"
)

// events writes progress for programs, an object a line: a phase with how much of it
// is done, a Phase when it is over, and warnings. A nil *events writes nothing.
type events struct {
	w    io.Writer
	last time.Time // that progress was written
}

// NewEvents returns Phases that writes events on w.
func NewEvents(w io.Writer) *Phases { return &Phases{events: &events{w: w}, start: time.Now()} }

// often is how often progress is worth a line.
const often = 100 * time.Millisecond

// progress writes that a phase begins, or how far it is if that was not said just now.
func (e *events) progress(phase string, done, total int) {
	if e == nil || done > 0 && time.Since(e.last) < often {
		return
	}
	e.last = time.Now()
	e.write(map[string]any{"name": phase, "done": done, "total": total})
}

func (e *events) write(event any) {
	if e == nil {
		return
	}
	if line, err := json.Marshal(event); err == nil {
		e.w.Write(append(escapeJSON(line), '\n'))
	}
}
