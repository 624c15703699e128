package prover

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/forward"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/sites"
	"github.com/prove-model/prove-model/prover/verifier"
)

// TestMaximaProve proves maxima of rows, in one chunk and in several, with ties among
// them.
func TestMaximaProve(t *testing.T) {
	for _, chunk := range []int{0, 20} {
		rng := rand.New(rand.NewPCG(90, 91))
		b := maxima()
		b.g.Finish(chunk)
		p := b.prove(t, rng, proof.Security{TargetBits: 60, GrindBits: 4})
		r, err := verifier.Verify(p.key, bytes.NewReader(p.proof))
		if err != nil {
			t.Fatal(err)
		}
		most := int32(-1 << 20)
		for i, first := range r.Outputs[0] {
			row := r.Inputs[0][5*i : 5*i+5]
			second := min(max(2*slices.Max(row)+3, 0), 99)
			if first != slices.Max(row) || r.Outputs[1][i] != second {
				t.Errorf("the greatest of %v is %d, and then %d", row, first, r.Outputs[1][i])
			}
			most = max(most, first-second)
		}
		if r.Outputs[2][0] != most {
			t.Errorf("%d is the greatest difference, not %d", most, r.Outputs[2][0])
		}
	}
}

// TestDeadFieldsOfMaxima is TestDeadFields for maxima.
func TestDeadFieldsOfMaxima(t *testing.T) {
	rng := rand.New(rand.NewPCG(92, 93))
	b := maxima()
	b.g.Finish(20)
	p := b.prove(t, rng, proof.Security{TargetBits: 30, GrindBits: 2})
	deadFields(t, p, 900, 60, deadNames, deadFrac, deadRange)
}

// TestDishonestMaxima alters a maximum, what says which entry it is, or both, with the
// counts that go with that.
func TestDishonestMaxima(t *testing.T) {
	ctx := context.Background()
	b := maxima()
	b.g.Finish(0)
	key, tree, err := Commit(ctx, b.g.Template(), b.w, proof.Security{TargetBits: 60, GrindBits: 4}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := []int32{7, -3, 7, 0, 6 /**/, -128, -127, -120, -121, -122 /**/, 5, 4, 3, 2, 1}
	try := func(change func(m, z []int32)) error {
		w, err := forward.Run(ctx, &b.g, b.w, [][]int32{slices.Clone(x)})
		if err != nil {
			t.Fatal(err)
		}
		step := slices.IndexFunc(b.g.Steps, func(s model.Step) bool { return s.Kind == model.StepMax })
		m, z := w.Values[b.g.Steps[step].Out], w.Values[b.g.Steps[step+1].Out]
		change(m, z)
		// Keys and counts that are as good as these values have.
		recount := func(step, row int, key int32) {
			s := &b.g.Steps[step]
			table := &b.g.Tables[s.Table]
			for _, c := range b.g.Mults {
				if c.Table != s.Table || c.Chunk != s.Chunk {
					continue
				}
				counts := w.Values[c.Tensor]
				counts[int64(w.Keys[step][row])-table.Min]--
				if table.Contains(int64(key)) {
					counts[int64(key)-table.Min]++
				}
			}
			w.Keys[step][row] = key
		}
		for i := range m {
			found := int32(-1)
			for j := range 5 {
				recount(step+1, 5*i+j, x[5*i+j]-m[i])
				found += z[5*i+j]
			}
			recount(step+2, i, found)
		}
		p, err := key.Plan(b.g.Instance)
		if err != nil {
			t.Fatal(err)
		}
		r := newRun(ctx, key, p, tree, honestGraph{w, &b.g}, Options{})
		defer r.close()
		r.party = sites.NewUncheckedProver
		var file bytes.Buffer
		if err := r.prove(&file); errors.Is(err, proof.ErrPublic) {
			return fmt.Errorf("%w: %w", verifier.ErrInvalid, err) // no file says so
		} else if err != nil {
			t.Fatal(err)
		}
		_, err = verifier.Verify(key, &file)
		return err
	}
	if err := try(func(m, z []int32) {}); err != nil {
		t.Fatalf("the honest control: %v", err)
	}
	// is sets a maximum, and which entries are it.
	is := func(i int, value int32, at ...int) func(m, z []int32) {
		return func(m, z []int32) {
			m[i] = value
			for j := range 5 {
				z[5*i+j] = 0
				if slices.Contains(at, j) {
					z[5*i+j] = 1
				}
			}
		}
	}
	for name, change := range map[string]func(m, z []int32){
		"too large":                          is(0, 8),
		"too large, and said to be an entry": is(0, 8, 0),
		"too small":                          is(0, 6, 4),
		"too small, of all entries":          is(0, 6, 0, 2, 4),
		"an entry that is not the greatest":  is(2, 1, 4),
		"of another row":                     is(1, 5),
		"of another row, said to be here":    is(1, 5, 0),
		"one of two that are":                is(0, 7, 0),
		"one that is not, beside":            is(0, 7, 0, 2, 4),
		"none":                               is(2, 5),
		"twice one":                          func(m, z []int32) { z[10] = 2 },
		"one modulo p":                       func(m, z []int32) { z[11], z[10] = -1, 2 },
		"far off":                            is(2, 1<<30),
	} {
		if err := try(change); !errors.Is(err, verifier.ErrInvalid) && !errors.Is(err, proof.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
