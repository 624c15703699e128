package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// Programs get a line when a phase begins and when it ends, and warnings, each an
// object; progress in between is not written more often than they can use.
func TestEvents(t *testing.T) {
	var b bytes.Buffer
	p := NewEvents(&b)
	p.Begin("commit model")
	for i := range 1000 {
		p.Progress(i, 1000)
	}
	p.End(nil)
	p.Warn("it is late\x1b[2K\nreally")
	p.Begin("prove")
	p.End(errors.New("lost"))
	var names []string
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		var e struct {
			Name    string   `json:"name"`
			Done    *int     `json:"done"`
			Total   int      `json:"total"`
			Seconds *float64 `json:"seconds"`
			Warning string   `json:"warning"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || Printable(line) != line {
			t.Fatalf("%q: %v", line, err)
		}
		what := e.Name + e.Warning
		switch {
		case e.Seconds != nil:
			what += " ends"
		case e.Done != nil && *e.Done == 0 && e.Total == 1:
			what += " begins"
		case e.Done != nil:
			continue
		}
		names = append(names, what)
	}
	want := []string{"commit model begins", "commit model ends", "it is late\x1b[2K\nreally", "prove begins"}
	if strings.Join(names, "|") != strings.Join(want, "|") {
		t.Errorf("%q, want %q", names, want)
	}
	if lines := strings.Count(b.String(), "\n"); lines > 10 {
		t.Errorf("%d lines", lines)
	}
}
