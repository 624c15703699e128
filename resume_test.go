package provemodel

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestResume stops proofs and asks for them again, in one cache.
func TestResume(t *testing.T) {
	if runtime.GOOS == "js" {
		t.Skip("no locks")
	}
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	left := func() (files []string) {
		_ = filepath.WalkDir(work, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() && d.Name() != "lock" {
				files = append(files, path)
			}
			return nil
		})
		return files
	}
	c, in := commit(t, quick...)
	want, err := Prove(t.Context(), c, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	opts := append(quick[:len(quick):len(quick)], withCache(dir), func(e *every) { e.prove.Resume, e.prove.resumeFrom = true, 1 })
	prove := func(more ...with) *Proof {
		t.Helper()
		p, err := Prove(t.Context(), c, in, proveWith(append(opts, more...)...))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(p.File, want.File) {
			t.Error("another proof")
		}
		return p
	}
	stop := func(phase Phase) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if _, err := Prove(ctx, c, in, proveWith(append(opts, withObserve(&recorder{t: t, at: phase, do: cancel}))...)); err == nil {
			t.Fatalf("not stopped at %s", phase)
		}
	}
	if p := prove(); p.Resumed != 0 || len(left()) != 0 {
		t.Errorf("%d parts from nowhere, left %v", p.Resumed, left())
	}
	stop(phaseCheck)
	all := left()
	if len(all) < 2 {
		t.Fatalf("left %v", all)
	}
	// Another input has nothing to do with it.
	other := Input{append([]float64(nil), in[0]...)}
	other[0][10]++
	if p, err := Prove(t.Context(), c, other, proveWith(opts...)); err != nil || p.Resumed != 0 {
		t.Errorf("another input: %v", err)
	}
	if p := prove(); p.Resumed != len(all) || len(left()) != 0 {
		t.Errorf("%d of %d parts taken, left %v", p.Resumed, len(all), left())
	}
	// What is damaged is made again.
	stop(phaseCheck)
	for _, path := range left() {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)/2] ^= 1
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := &recorder{t: t}
	p := prove(withObserve(r))
	warned := slices.DeleteFunc(r.log, func(line string) bool { return !strings.HasPrefix(line, "warning: ") })
	if p.Resumed != 0 || len(warned) != len(all) {
		t.Errorf("%d damaged parts taken, said %q", p.Resumed, warned)
	}
	// Without a cache, or for a short proof, nothing is kept.
	stop(phaseCheck)
	if p := prove(func(e *every) { e.prove.resumeFrom = longProof }); p.Resumed != 0 {
		t.Errorf("a short proof took %d parts", p.Resumed)
	}
	if p := prove(func(e *every) { e.prove.Resume = false }); p.Resumed != 0 {
		t.Errorf("without a cache %d parts", p.Resumed)
	}
}
