package prover

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/reduce"
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

// alteredMaxima returns what verifying says of a proof of a circuit's first maximum step with
// another maximum, or others of what its look-ups give, and the keys and counts that go with
// these. own are the look-ups beside its two that have the keys of the first of them.
func alteredMaxima(t *testing.T, b *builder, x []int32, own ...int) func(change func(m, z []int32, w *forward.Witness)) error {
	t.Helper()
	ctx := context.Background()
	key, tree, err := Commit(ctx, b.g.Template(), b.w, proof.Security{TargetBits: 60, GrindBits: 4}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	step := slices.IndexFunc(b.g.Steps, func(s model.Step) bool { return s.Kind == model.StepMax })
	return func(change func(m, z []int32, w *forward.Witness)) error {
		w, err := forward.Run(ctx, &b.g, b.w, [][]int32{slices.Clone(x)})
		if err != nil {
			t.Fatal(err)
		}
		of := w.Tensor(b.g.Steps[step].Den)
		m, z := w.Values[b.g.Steps[step].Out], w.Values[b.g.Steps[step+1].Out]
		change(m, z, w)
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
		n := len(of) / len(m)
		for i := range m {
			found := int32(-1)
			for j := range n {
				for _, at := range append(own, step+1) {
					recount(at, n*i+j, of[n*i+j]-m[i])
				}
				found += z[n*i+j]
			}
			recount(step+2, i, found)
		}
		p, err := key.Plan(b.g.Instance)
		if err != nil {
			t.Fatal(err)
		}
		r := newRun(ctx, key, p, tree, honestGraph{w, &b.g}, Options{})
		defer r.close()
		r.role = reduce.NewUncheckedProver
		var file bytes.Buffer
		if err := r.prove(&file); errors.Is(err, proof.ErrPublic) {
			return fmt.Errorf("%w: %w", verifier.ErrInvalid, err) // no file says so
		} else if err != nil {
			t.Fatal(err)
		}
		_, err = verifier.Verify(key, &file)
		return err
	}
}

// TestDishonestLoweredScores gives masked scores a weight, or makes one of them the maximum, where
// what is masked is only far below the rest.
func TestDishonestLoweredScores(t *testing.T) {
	const n, gap = 5, 600
	b := &builder{}
	x := b.input(n, n)
	mask := b.formula(model.Formula{Kind: model.AtLeast}, n, n)
	raised := b.virtual([]int{n, n}, model.Linear{Coef: 1, Src: x}, model.Linear{Coef: gap, Src: mask})
	first := b.greatest("greatest", raised, 11)
	weights := b.witness("weights", n, n)
	b.add(model.Step{Kind: model.StepLookup, Name: "weights", Shape: []int{n, n}, Acc: b.g.Steps[1].Acc, Lo: model.None, Out: weights,
		Table: b.table(model.Table{Name: "weight", Kind: model.TablePiecewise, Bits: 11, Min: 1 - 1<<11, Pieces: []model.Piece{{End: 1<<11 - 300}, {End: 1 << 11, Slope: 1, Offset: 300 - 1<<11 + 1}}})})
	b.g.Outputs = []model.TensorID{first, weights}
	b.g.Finish(0)
	scores := []int32{5, 100, 120, 90, 127 /**/, 3, -7, 80, 127, 1 /**/, 9, 9, 9, 100, 100 /**/, -128, -100, 4, 4, 127 /**/, 1, 2, 3, 4, 5}
	try := alteredMaxima(t, b, scores, 3)
	if err := try(func(m, z []int32, w *forward.Witness) {
		for e, v := range w.Values[weights] {
			if masked := e%n > e/n; masked && v != 0 || e%n == e/n && v == 0 && e < 3*n {
				t.Errorf("entry %d has weight %d", e, v)
			}
		}
	}); err != nil {
		t.Fatalf("the honest control: %v", err)
	}
	// as makes an entry of a row its maximum.
	as := func(i, j int, value int32) func(m, z []int32, w *forward.Witness) {
		return func(m, z []int32, w *forward.Witness) {
			m[i] = value
			for k := range n {
				z[n*i+k] = 0
			}
			z[n*i+j] = 1
		}
	}
	for name, change := range map[string]func(m, z []int32, w *forward.Witness){
		"a masked score is the maximum":          as(0, 4, 127),
		"the same, raised":                       as(0, 4, 127+gap),
		"a masked score is said to be it":        as(1, 3, 3+gap),
		"another that is not masked":             as(3, 1, -100+gap),
		"a masked score has a weight":            func(m, z []int32, w *forward.Witness) { w.Values[weights][4] = 7 },
		"a score has the weight of a masked one": func(m, z []int32, w *forward.Witness) { w.Values[weights][0] = 0 },
	} {
		if err := try(change); !errors.Is(err, verifier.ErrInvalid) && !errors.Is(err, proof.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDishonestMaxima alters a maximum, what says which entry it is, or both, with the
// counts that go with that.
func TestDishonestMaxima(t *testing.T) {
	b := maxima()
	b.g.Finish(0)
	altered := alteredMaxima(t, b, []int32{7, -3, 7, 0, 6 /**/, -128, -127, -120, -121, -122 /**/, 5, 4, 3, 2, 1})
	try := func(change func(m, z []int32)) error {
		return altered(func(m, z []int32, _ *forward.Witness) { change(m, z) })
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
