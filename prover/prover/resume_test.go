package prover

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// kept are results in memory.
type kept struct {
	mu    sync.Mutex
	trees map[int][][]hash.Digest
	forks map[int][]byte
}

func (k *kept) Tree(i int) [][]hash.Digest { k.mu.Lock(); defer k.mu.Unlock(); return k.trees[i] }
func (k *kept) Fork(i int) []byte          { k.mu.Lock(); defer k.mu.Unlock(); return k.forks[i] }
func (k *kept) KeepTree(i int, l [][]hash.Digest) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.trees[i] = l
}
func (k *kept) KeepFork(i int, b []byte) { k.mu.Lock(); defer k.mu.Unlock(); k.forks[i] = b }

// TestResume stops a proof of several chunks after every step, goes on with what it
// left, and with results that are damaged, of other proofs, or not all there.
func TestResume(t *testing.T) {
	f := free(t, 20, 4, proof.Security{TargetBits: 30, GrindBits: 2})
	in := model.Instance{Sizes: []int{7}, ChunkEntries: 60}
	g, err := f.circuit.At(in)
	if err != nil {
		t.Fatal(err)
	}
	prove := func(x []int32, r Results, stopAfter int) ([]byte, *Stats, error) {
		t.Helper()
		wit, err := forward.Run(t.Context(), g, f.weights, [][]int32{x})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		opts := Options{Results: r, Progress: func(Phase, int, int) {
			if stopAfter--; stopAfter == 0 {
				stop()
			}
		}}
		var file bytes.Buffer
		stats, err := Prove(ctx, f.key, g.Instance, f.tree, wit, &file, opts)
		return file.Bytes(), stats, err
	}
	rng := rand.New(rand.NewPCG(50, 51))
	x, other := make([]int32, 12*7), make([]int32, 12*7)
	for i := range x {
		x[i], other[i] = rng.Int32N(256)-128, rng.Int32N(256)-128
	}
	fresh := func() *kept { return &kept{trees: map[int][][]hash.Digest{}, forks: map[int][]byte{}} }
	want, stats, err := prove(x, nil, -1)
	if err != nil || stats.Resumed != 0 {
		t.Fatal(err, stats)
	}
	p, err := f.key.Plan(in)
	if err != nil {
		t.Fatal(err)
	}
	parts, most := keptParts(p), 0
	if len(p.Forks) < 3 {
		t.Fatalf("%d forks", len(p.Forks))
	}
	for steps := 1; ; steps++ {
		r := fresh()
		if _, _, err := prove(x, r, steps); err == nil {
			break
		} else if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		left := len(r.trees) + len(r.forks)
		most = max(most, left)
		got, stats, err := prove(x, r, -1)
		if err != nil || !bytes.Equal(got, want) || stats.Resumed != left {
			t.Errorf("after %d steps: %v, %d of %d parts taken, the same bytes: %t", steps, err, stats.Resumed, left, bytes.Equal(got, want))
		}
		if len(r.trees)+len(r.forks) != parts {
			t.Errorf("after %d steps: %d of %d parts kept", steps, len(r.trees)+len(r.forks), parts)
		}
	}
	if most != parts {
		t.Errorf("at most %d of %d parts were left", most, parts)
	}
	whole, foreign := fresh(), fresh()
	for r, input := range map[*kept][]int32{whole: x, foreign: other} {
		if _, _, err := prove(input, r, -1); err != nil {
			t.Fatal(err)
		}
	}
	for name, change := range map[string]func(r *kept){
		"a limb":           func(r *kept) { r.forks[1][5] ^= 1 },
		"the last byte":    func(r *kept) { b := r.forks[0]; b[len(b)-1] ^= 1 },
		"short":            func(r *kept) { r.forks[1] = r.forks[1][:len(r.forks[1])-4] },
		"empty":            func(r *kept) { r.forks[1] = []byte{} },
		"long":             func(r *kept) { r.forks[1] = append(r.forks[1], 0, 0, 0, 0) },
		"no limbs":         func(r *kept) { copy(r.forks[1], bytes.Repeat([]byte{255}, 64)) },
		"exchanged":        func(r *kept) { r.forks[0], r.forks[1] = r.forks[1], r.forks[0] },
		"of another input": func(r *kept) { r.forks[1] = foreign.forks[1] },
		"no tree":          func(r *kept) { clear(r.trees) },
		"half a tree": func(r *kept) {
			for i := range r.trees {
				r.trees[i] = r.trees[i][1:]
			}
		},
	} {
		r := &kept{trees: maps.Clone(whole.trees), forks: map[int][]byte{}}
		for i, b := range whole.forks {
			r.forks[i] = slices.Clone(b)
		}
		change(r)
		got, stats, err := prove(x, r, -1)
		if err != nil || !bytes.Equal(got, want) || stats.Resumed >= parts || stats.Resumed < parts-2 {
			t.Errorf("%s: %v, the same bytes: %t, %+v", name, err, bytes.Equal(got, want), stats)
		}
	}
}

// keptParts is how many parts of a proof's work Results can keep.
func keptParts(p *plan.Plan) int {
	n := len(p.Forks)
	for i := range p.Trees {
		if !p.Trees[i].Fixed {
			n++
		}
	}
	return n
}
