package provemodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The proofs of a list are those of its inputs, in their order.
func TestProveEach(t *testing.T) {
	m, _, samples := open(t)
	circuit, err := Quantise(t.Context(), m, samples, quantiseWith(quick...))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Commit(t.Context(), circuit, commitWith(quick...))
	if err != nil {
		t.Fatal(err)
	}
	samples = samples[:5]
	r := &recorder{t: t}
	proofs, err := c.ProveEach(t.Context(), samples, nil, proveWith(append(quick, withObserve(r))...))
	if err != nil {
		t.Fatal(err)
	}
	for i, in := range samples {
		alone, err := Prove(t.Context(), c, in, proveWith(quick...))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(proofs[i].File, alone.File) {
			t.Errorf("proof %d is not that of its input", i)
		}
	}
	if !slices.ContainsFunc(r.log, func(s string) bool { return strings.Contains(s, string(phaseEach)) }) {
		t.Errorf("the observer was told %q", r.log)
	}

	// One that is too far off ends the list, and is named.
	float, err := m.Run(t.Context(), samples[0])
	if err != nil {
		t.Fatal(err)
	}
	far := Tensor{Name: float[0].Name, Shape: float[0].Shape, Values: make([]float64, len(float[0].Values))}
	far.Values[0] = 1e6
	floats := make([][]Tensor, len(samples))
	for i, in := range samples {
		if floats[i], err = m.Run(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	floats[2] = []Tensor{far}
	_, err = c.ProveEach(t.Context(), samples, floats, &ProveOptions{MaxError: 0.1})
	var off *AccuracyError
	if !errors.As(err, &off) || !strings.HasPrefix(err.Error(), "input 3: ") {
		t.Errorf("an output that is off: %v", err)
	}
	if _, err = c.ProveEach(t.Context(), append(slices.Clone(samples[:1]), Input{{1}}), nil, proveWith(quick...)); err == nil || !strings.HasPrefix(err.Error(), "input 2: ") {
		t.Errorf("an input of the wrong size: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = c.ProveEach(ctx, samples, nil, proveWith(quick...)); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// Calls begin in their order, one after the other; as many prove at once as may, and the
// next begins while they do.
func TestOverlap(t *testing.T) {
	for _, provers := range []int{1, 2, 3} {
		synctest.Test(t, func(t *testing.T) { testOverlap(t, provers) })
	}
}

func testOverlap(t *testing.T, provers int) {
	const n = 12
	var begun, running, proving, mostProving, under atomic.Int32
	var done []int
	err := overlap(t.Context(), n, provers, func(_ context.Context, i int, prove func(func() error) error) error {
		if at := begun.Add(1) - 1; int(at) != i {
			t.Errorf("call %d begins as number %d", i, at)
		}
		if running.Add(1) > 1 {
			t.Errorf("call %d begins beside another", i)
		}
		if proving.Load() > 0 {
			under.Add(1)
		}
		time.Sleep(time.Second)
		running.Add(-1)
		return prove(func() error {
			now := proving.Add(1)
			defer proving.Add(-1)
			for most := mostProving.Load(); now > most && !mostProving.CompareAndSwap(most, now); most = mostProving.Load() {
			}
			time.Sleep(4 * time.Second)
			return nil
		})
	}, func(n int) { done = append(done, n) })
	if err != nil || len(done) != n || !slices.IsSorted(done) {
		t.Errorf("%d provers: %v, done %v", provers, err, done)
	}
	if m := int(mostProving.Load()); m > provers || m < 1 {
		t.Errorf("%d prove at once, and %d may", m, provers)
	}
	if under.Load() == 0 {
		t.Errorf("%d provers: no call begins under another's proof", provers)
	}
	fault := errors.New("fault")
	var after atomic.Int32
	err = overlap(t.Context(), n, provers, func(ctx context.Context, i int, prove func(func() error) error) error {
		if i == 4 {
			return fmt.Errorf("of its own: %w", fault)
		}
		after.Add(int32(i / 10))
		return prove(func() error { return ctx.Err() })
	}, func(int) {})
	if !errors.Is(err, fault) || !strings.HasPrefix(err.Error(), "input 5: ") || after.Load() > 0 {
		t.Errorf("%d provers: %v, %d calls long after", provers, err, after.Load())
	}
}
