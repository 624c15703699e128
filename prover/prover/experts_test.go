package prover

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/circuit/bounds"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/quantise"
)

// Of a layer of experts: rows, experts, those that a row uses, and what each reads, makes within and gives.
const (
	rowsOfExperts = 3
	allExperts    = 5
	usedExperts   = 2
	expertInputs  = 6
	expertInner   = 4
)

// experts is a layer of gated experts, of which each of three rows uses two of five, as a Softmax or their scores weigh them.
func experts(t *testing.T, softmax bool) *forger {
	t.Helper()
	return expertsTied(t, softmax, false)
}

// expertsTied is experts whose scores are equal in pairs, if so asked.
func expertsTied(t *testing.T, softmax, tied bool) *forger {
	t.Helper()
	rng := rand.New(rand.NewPCG(23, 22))
	b := graph.NewBuilder("experts")
	constant := func(name string, shape ...int) graph.Value {
		v := make([]float32, graph.Size(shape))
		for i := range v {
			v[i] = float32(rng.NormFloat64())
		}
		return b.Constant(name, &graph.Tensor{Shape: shape, DType: graph.Float, F32: v})
	}
	x := b.Input("x", graph.Float, []int{rowsOfExperts, expertInputs})
	router := constant("router", allExperts, expertInputs)
	if w := b.Tensor(router).F32; tied {
		copy(w[expertInputs:2*expertInputs], w[4*expertInputs:]) // experts 1 and 4
		copy(w[2*expertInputs:3*expertInputs], w[3*expertInputs:4*expertInputs])
		copy(w[:expertInputs], w[4*expertInputs:]) // and 0
	}
	scores := b.Gemm(graph.Gemm{TransB: true, Alpha: 1, Beta: 1}, x, router)
	slots := b.Slots(scores, usedExperts)
	gate := b.Apply(graph.Relu, b.Experts(x, constant("gate", allExperts, expertInner, expertInputs), slots))
	y := b.Experts(b.Mul(gate, b.Experts(x, constant("up", allExperts, expertInner, expertInputs), slots)), constant("down", allExperts, expertInputs, expertInner), slots)
	weights := b.InSlots(scores, slots)
	if softmax {
		weights = b.Softmax(weights, 1)
	}
	b.Output("y", b.MixSlots(y, weights))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	in := make([]float64, rowsOfExperts*expertInputs)
	for i := range in {
		in[i] = rng.NormFloat64()
	}
	return newForger(t, g, [][]float64{in}, quantise.Options{Mode: "w8a8"}, 0)
}

// slots returns the tensor that says which experts are used, and the step that makes it.
func (f *forger) slots(t *testing.T) (id model.TensorID, step int) {
	t.Helper()
	for i := range f.m.Graph.Steps {
		if hot, _, ok := bounds.OneHot(f.m.Graph, &f.m.Graph.Steps[i]); ok {
			return hot, slices.IndexFunc(f.m.Graph.Steps, func(s model.Step) bool { return s.Out == hot })
		}
	}
	t.Fatal("no step says that slots are one expert each")
	return 0, 0
}

// A prover that uses other experts than the router's is refused, whatever it makes of its slots, with all that follows from them
// computed as it must.
func TestDishonestExperts(t *testing.T) {
	f := experts(t, true)
	if err := f.prove(t, f.honest); err != nil {
		t.Fatalf("the honest control is rejected: %v", err)
	}
	id, step := f.slots(t)
	honest := f.honest.Values[id]
	at := func(row, slot, expert int) int { return (row*usedExperts+slot)*allExperts + expert }
	of := func(row, slot int) int { return slices.Index(honest[at(row, slot, 0):][:allExperts], 1) }
	unused := 0
	for unused == of(0, 0) || unused == of(0, 1) {
		unused++
	}
	swapped := map[int]int64{} // all slots of two rows
	for slot := range usedExperts {
		for e := range allExperts {
			swapped[at(0, slot, e)], swapped[at(1, slot, e)] = int64(honest[at(1, slot, e)]), int64(honest[at(0, slot, e)])
		}
	}
	for _, c := range []struct {
		name string
		set  map[int]int64
	}{
		{"an expert skipped", map[int]int64{at(0, 0, of(0, 0)): 0}},
		{"another expert", map[int]int64{at(0, 0, of(0, 0)): 0, at(0, 0, unused): 1}},
		{"one expert twice", map[int]int64{at(0, 1, of(0, 1)): 0, at(0, 1, of(0, 0)): 1}},
		{"two experts in a slot", map[int]int64{at(0, 0, unused): 1}},
		{"half of an expert", map[int]int64{at(0, 0, of(0, 0)): 1 << 30}}, // 1/2 modulo p
		{"twice one less another", map[int]int64{at(0, 0, of(0, 0)): 2, at(0, 0, unused): -1}},
		{"two slots of a row exchanged", map[int]int64{at(0, 0, of(0, 0)): 0, at(0, 0, of(0, 1)): 1, at(0, 1, of(0, 1)): 0, at(0, 1, of(0, 0)): 1}},
		{"the slots of two rows exchanged", swapped},
	} {
		w := f.forge(forgery{c.name, step, map[model.TensorID]map[int]int64{id: c.set}})
		if slices.Equal(w.Values[id], honest) {
			t.Fatalf("%s: nothing is altered", c.name)
		}
		f.rejected(t, c.name, w)
		// What is committed to says the router's experts, and all that follows, and every message on products with
		// slots, is of the others.
		lie := *w
		lie.Values = slices.Clone(w.Values)
		lie.Values[id] = honest
		f.proving(t, c.name+", with the slots that are right", &lie, func(b backend.Backend) backend.Backend {
			return otherProducts{b, cpu.New(f.m.Graph, honestGraph{w, f.m.Graph})}
		})
	}
}

// byName returns the nth step whose result has such a name, and that tensor.
func (f *forger) byName(t *testing.T, name string, nth int) (step int, id model.TensorID) {
	t.Helper()
	g := f.m.Graph
	for i := range g.Steps {
		if out := g.Steps[i].Out; out != model.None && strings.HasSuffix(g.Tensors[out].Name, name) {
			if nth--; nth < 0 {
				return i, out
			}
		}
	}
	t.Fatalf("no step makes %q", name)
	return 0, 0
}

// Of equal scores the first is chosen, and slots are in the order of scores. A prover who has it otherwise, and all that follows, is
// refused: the greatest score is another one, a tie is not one or goes to the later, what is chosen stays among the rest.
func TestDishonestRouting(t *testing.T) {
	f := expertsTied(t, true, true)
	if err := f.prove(t, f.honest); err != nil {
		t.Fatalf("the honest control is rejected: %v", err)
	}
	greatest, top := f.byName(t, "maximum", 0)
	equals, is := f.byName(t, "is the maximum", 0)
	picks, chosen := f.byName(t, "chosen", 0)
	slots, step := f.slots(t)
	z, first := f.honest.Values[is][:allExperts], f.honest.Values[chosen][:allExperts]
	a := slices.Index(first, 1)
	b := slices.Index(z[a+1:], 1)
	if a < 0 || b < 0 || slices.Index(z, 1) != a {
		t.Fatalf("row 0 has no tie: %v, %v", z, first)
	}
	b += a + 1
	other := 0 // an expert with a smaller score
	for z[other] != 0 {
		other++
	}
	of := f.m.Graph.Steps[greatest].Den // of which the greatest is found
	scores := f.honest.Tensor(of)[:allExperts]
	set := func(pairs ...int64) map[int]int64 {
		m := map[int]int64{}
		for i := 0; i < len(pairs); i += 2 {
			m[int(pairs[i])] = pairs[i+1]
		}
		return m
	}
	swap := set(int64(a), 0, int64(b), 1)
	for _, c := range []struct {
		name string
		list []forgery
	}{
		{"a tie for the later expert", []forgery{
			{"", picks, map[model.TensorID]map[int]int64{chosen: swap}},
			{"", step, map[model.TensorID]map[int]int64{slots: swap}},
		}},
		{"a tie that is said to be none", []forgery{{"", equals, map[model.TensorID]map[int]int64{is: set(int64(a), 0)}}}},
		{"an expert with a smaller score that is said to equal the greatest", []forgery{{"", equals, map[model.TensorID]map[int]int64{is: set(int64(other), 1)}}}},
		{"a smaller score as the greatest", []forgery{
			{"", greatest, map[model.TensorID]map[int]int64{top: set(0, int64(scores[other]))}},
			{"", equals, map[model.TensorID]map[int]int64{is: set(int64(a), 0, int64(b), 0, int64(other), 1)}},
		}},
		{"a greatest score that no expert has", []forgery{{"", greatest, map[model.TensorID]map[int]int64{top: set(0, int64(scores[a])+1)}}}},
		{"the chosen one among the rest", []forgery{{"", picks, map[model.TensorID]map[int]int64{chosen: set(int64(a), 0)}}}},
		{"two that are left out of the rest", []forgery{{"", picks, map[model.TensorID]map[int]int64{chosen: set(int64(b), 1)}}}},
	} {
		w := f.forge(c.list...)
		if slices.Equal(w.Values[slots], f.honest.Values[slots]) && slices.Equal(w.Values[is], f.honest.Values[is]) &&
			slices.Equal(w.Values[chosen], f.honest.Values[chosen]) && slices.Equal(w.Values[top], f.honest.Values[top]) {
			t.Fatalf("%s: nothing is altered", c.name)
		}
		f.rejected(t, c.name, w)
	}
}

// otherProducts has tensors that products define of another witness.
type otherProducts struct {
	backend.Backend
	other backend.Backend
}

func (o otherProducts) Restrict(ctx context.Context, list []backend.Restriction) ([]backend.Table, error) {
	tables := make([]backend.Table, len(list))
	for i := range list {
		on := o.Backend
		if o.isProduct(list[i]) {
			on = o.other
		}
		got, err := on.Restrict(ctx, list[i:i+1])
		if err != nil {
			return nil, err
		}
		tables[i] = got[0]
	}
	return tables, nil
}

func (o otherProducts) isProduct(r backend.Restriction) bool { return len(r.Bound) == 4 }

// TestExpertsAreForced tries to change what provers of a layer of experts commit to, and its weights.
func TestExpertsAreForced(t *testing.T) {
	f := experts(t, true)
	f.run(t, rand.New(rand.NewPCG(5, 6)), forcedIn(6))
	for i := range f.m.Graph.Tensors {
		if x := &f.m.Graph.Tensors[i]; x.Kind == model.Fixed && len(x.Shape) == 3 {
			v := slices.Clone(f.m.Weights)
			b := &builder{g: *f.m.Graph, w: v}
			all := b.edit(model.TensorID(i))
			each := len(all) / allExperts
			used := slices.Index(f.honest.Values[first(f.slots(t))][:allExperts], 1)
			other := (used + 1) % allExperts
			for k := range each { // the weights of another expert
				all[used*each+k], all[other*each+k] = all[other*each+k], all[used*each+k]
			}
			w, err := forward.Run(context.Background(), f.m.Graph, b.w, f.in)
			if err != nil {
				t.Fatal(err)
			}
			f.rejected(t, fmt.Sprintf("%s of another expert", x.Name), w)
		}
	}
}

func first[A, B any](a A, _ B) A { return a }

// Bounds of products with slots are those of one expert, as a step says that a slot is one, and not without it.
func TestBoundsOfExperts(t *testing.T) {
	f := experts(t, false)
	g := f.m.Graph
	if err := bounds.Check(g, bounds.Measure(g, f.m.Weights)); err != nil {
		t.Fatal(err)
	}
	for i := range g.Steps {
		for _, p := range g.Steps[i].Acc.Products {
			if !g.IsProduct(p.A) {
				continue
			}
			// The bound is that of one expert's channel, not of all of them together.
			w := g.Tensors[p.B].Shape
			sum, _ := bounds.SumOf(p.B, p.LabelsB, len(g.Steps[i].Shape), p.LabelsB[0])
			if !slices.Contains(bounds.Sums(g), sum) || sum.Axes != 1<<(len(w)-1) {
				t.Errorf("step %d: sums of axes %b of %v", i, sum.Axes, w)
			}
		}
	}
	without := *g
	without.Steps = slices.DeleteFunc(slices.Clone(g.Steps), func(s model.Step) bool { _, _, ok := bounds.OneHot(g, &s); return ok })
	for _, s := range bounds.Sums(&without) {
		if w := g.Tensors[s.Tensor].Shape; len(w) == 3 && s.Axes != 1<<2|1 {
			t.Errorf("without the step that says that a slot is one expert, sums of axes %b of %v are enough", s.Axes, w)
		}
	}
	// Nor with entries that may be something else than 0 and 1.
	other := *g
	other.Tables = slices.Clone(g.Tables)
	for i := range other.Tables {
		if x := &other.Tables[i]; x.Kind == model.TablePiecewise && len(x.Pieces) == 3 {
			x.Pieces = slices.Clone(x.Pieces)
			x.Pieces[1].Offset = 1 << 20
		}
	}
	if err := bounds.Check(&other, bounds.Measure(g, f.m.Weights)); err == nil {
		t.Error("slots of 0 and 2^20 have the bounds of one expert")
	}
}

// Every field of a key of experts is held against a proof, those of products that define tensors among them.
func TestDeadFieldsOfExperts(t *testing.T) {
	t.Parallel()
	f := expertsTied(t, false, true) // else an entry that is the greatest is the one that is chosen
	var buf bytes.Buffer
	if _, err := Prove(context.Background(), f.key, f.m.Graph.Instance, f.tree, f.honest, &buf, Options{}); err != nil {
		t.Fatal(err)
	}
	deadFields(t, proved{key: f.key, proof: buf.Bytes()}, 600, 150, deadNames, deadFrac, deadRange)
}
