package prover

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
)

// shared is Together in memory: begin helps, and claim says who proves a part.
type shared struct {
	mu       sync.Mutex
	begin    func(roots []byte, order []int, accept func(int, []byte) error)
	others   map[int]bool // parts that the prover is not to prove at first
	accepted map[int]bool
	waited   chan struct{} // closed when what the helpers do is done
	late     bool          // Left does not wait for that
	given    []int
	gate     sync.Mutex // of what is accepted, until it has ended
	ended    bool
}

func (s *shared) Begin(roots []byte, order []int, accept func(int, []byte) error) {
	s.begin(slices.Clone(roots), order, func(i int, b []byte) error {
		s.gate.Lock()
		defer s.gate.Unlock()
		if s.ended {
			return nil
		}
		err := accept(i, b)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.accepted[i] = s.accepted[i] || err == nil
		return err
	})
}
func (s *shared) Claim(i int) bool { s.mu.Lock(); defer s.mu.Unlock(); return !s.others[i] }
func (s *shared) Left() (left []int) {
	if !s.late {
		<-s.waited
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.others {
		if !s.accepted[i] {
			left = append(left, i)
		}
	}
	s.given = left
	return left
}
func (s *shared) End() { s.gate.Lock(); defer s.gate.Unlock(); s.ended = true }

// TestTogether has other processes prove parts of a proof: well, not at all, wrongly, twice and late. The proof has the same bytes.
func TestTogether(t *testing.T) {
	f := free(t, 20, 4, proof.Security{TargetBits: 30, GrindBits: 2})
	in := model.Instance{Sizes: []int{7}, ChunkEntries: 60}
	g, err := f.circuit.At(in)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(60, 61))
	x, other := make([]int32, 12*7), make([]int32, 12*7)
	for i := range x {
		x[i], other[i] = rng.Int32N(256)-128, rng.Int32N(256)-128
	}
	witness := func(x []int32) *forward.Witness {
		wit, err := forward.Run(t.Context(), g, f.weights, [][]int32{x})
		if err != nil {
			t.Fatal(err)
		}
		return wit
	}
	prove := func(s Together) []byte {
		t.Helper()
		var file bytes.Buffer
		if _, err := Prove(t.Context(), f.key, g.Instance, f.tree, witness(x), &file, Options{Together: s}); err != nil {
			t.Fatal(err)
		}
		return file.Bytes()
	}
	want := prove(nil)
	p, err := f.key.Plan(in)
	if err != nil {
		t.Fatal(err)
	}
	n := len(p.Forks)
	if n < 3 {
		t.Fatalf("%d forks", n)
	}
	// help proves the listed parts of a run on x, and hands each to left.
	help := func(x []int32, roots []byte, list []int, left func(int, []byte)) error {
		return Help(t.Context(), f.key, g.Instance, roots, witness(x), Options{}, func(_ context.Context, part int, b []byte) (int, error) {
			if part >= 0 {
				left(part, b)
			}
			if len(list) == 0 {
				return -1, nil
			}
			next := list[0]
			list = list[1:]
			return next, nil
		})
	}
	every := func(order []int) []int { return slices.Clone(order) }
	for name, c := range map[string]struct {
		claimed func(order []int) []int // by the helper
		input   []int32
		alter   func(i int, b []byte) (int, []byte)
		refused bool
		late    bool
	}{
		"late":             {claimed: every, input: x, late: true},
		"all":              {claimed: every, input: x},
		"some":             {claimed: func(order []int) []int { return order[:1] }, input: x},
		"twice":            {claimed: func(order []int) []int { return append(slices.Clone(order), order...) }, input: x},
		"none of them":     {claimed: every},
		"of another input": {claimed: every, input: other, refused: true},
		"altered":          {claimed: every, input: x, refused: true, alter: func(i int, b []byte) (int, []byte) { b = slices.Clone(b); b[3] ^= 1; return i, b }},
		"short":            {claimed: every, input: x, refused: true, alter: func(i int, b []byte) (int, []byte) { return i, b[:len(b)-4] }},
		"exchanged":        {claimed: every, input: x, refused: true, alter: func(i int, b []byte) (int, []byte) { return (i + 1) % n, b }},
		"no part":          {claimed: every, input: x, refused: true, alter: func(i int, b []byte) (int, []byte) { return i + n, b }},
	} {
		s := &shared{others: map[int]bool{}, accepted: map[int]bool{}, waited: make(chan struct{}), late: c.late}
		s.begin = func(roots []byte, order []int, accept func(int, []byte) error) {
			if len(order) != n {
				t.Errorf("%s: the parts %v of %d", name, order, n)
			}
			list := c.claimed(order)
			for _, i := range list {
				s.others[i] = true
			}
			go func() {
				defer close(s.waited)
				if c.input == nil {
					return
				}
				err := help(c.input, roots, list, func(i int, b []byte) {
					if c.alter != nil {
						i, b = c.alter(i, b)
					}
					if err := accept(i, b); (err != nil) != c.refused {
						t.Errorf("%s: part %d: %v", name, i, err)
					}
				})
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}()
		}
		if got := prove(s); !bytes.Equal(got, want) || !s.ended {
			t.Errorf("%s: the same bytes: %t, ended: %t", name, bytes.Equal(got, want), s.ended)
		}
		<-s.waited
		if left := len(s.given); !c.late && (left > 0) != (c.refused || c.input == nil) {
			t.Errorf("%s: the prover has proved %v after all", name, s.given)
		}
	}
	// What no process should be told, or have told it.
	if err := help(x, []byte{1, 2, 3, 4}, nil, nil); err == nil || !strings.Contains(err.Error(), "the roots of the witness") {
		t.Errorf("roots that are none: %v", err)
	}
	var roots []byte
	s := &shared{others: map[int]bool{}, accepted: map[int]bool{}, waited: make(chan struct{}), begin: func(r []byte, _ []int, _ func(int, []byte) error) { roots = r }}
	close(s.waited)
	prove(s)
	if err := help(x, roots, []int{n}, nil); err == nil || !strings.Contains(err.Error(), "there is no part") {
		t.Errorf("a part that there is not: %v", err)
	}
	stopped := errors.New("stopped")
	err = Help(t.Context(), f.key, g.Instance, roots, witness(x), Options{}, func(context.Context, int, []byte) (int, error) { return 0, stopped })
	if !errors.Is(err, stopped) {
		t.Errorf("%v", err)
	}
	// A proof that is stopped while it waits for others ends.
	ctx, stop := context.WithCancel(t.Context())
	s = &shared{others: map[int]bool{0: true}, accepted: map[int]bool{}, waited: make(chan struct{}), begin: func([]byte, []int, func(int, []byte) error) {
		stop()
	}}
	close(s.waited)
	if _, err := Prove(ctx, f.key, g.Instance, f.tree, witness(x), &bytes.Buffer{}, Options{Together: s}); !errors.Is(err, context.Canceled) || !s.ended {
		t.Errorf("%v", err)
	}
}
