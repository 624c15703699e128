package forward

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/arena"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// Witness holds the values of one run.
type Witness struct {
	// Values are the dense, row-major values of inputs and witness by TensorID.
	// Virtual tensors are nil: Tensor computes them. So are fixed ones and those by
	// formula, which are in Weights.
	Values  [][]int32
	Weights model.Weights
	// Keys are the dense keys that each lookup step looked up, by step; nil
	// for other steps. The prover's look-up tree starts from them.
	//
	// Values and Keys are nil for what a machine has computed: Tensor and StepKeys
	// return it.
	Keys [][]int32

	graph *model.Graph // with the indexes of public inputs filled in (model.Graph.WithIds)
	arena *arena.Arena // the memory of Values and Keys that the run has made; nil: garbage-collected memory
	kept  *kept        // the values that a machine keeps; nil if all are in Values and Keys
}

// grain is the number of entries that one goroutine handles in element-wise
// loops.
const grain = 1 << 13

// Run executes the steps of g in order and returns the witness: all input and witness tensors, multiplicities
// included, and the weights. inputs has one dense, row-major slice for each of g.Inputs and then for each of
// g.Unmade(), with entries within the tensor's range. The witness keeps weights and inputs without copying
// them.
//
// g must be valid. An accumulator that leaves ±2^30, a key outside of its
// table or a divisor that is not positive is an error that names the step.
func Run(ctx context.Context, g *model.Graph, weights model.Weights, inputs [][]int32) (*Witness, error) {
	return run(ctx, nil, g, weights, inputs, nil)
}

// RunOn is Run on a machine, if m is not nil and accepts the circuit; otherwise it is
// Run. The results are the same. The caller closes the witness.
func RunOn(ctx context.Context, m Machine, g *model.Graph, weights model.Weights, inputs [][]int32) (*Witness, error) {
	a := arena.ForRun()
	w, err := run(ctx, m, g, weights, inputs, a)
	if err != nil {
		a.Close()
	}
	return w, err
}

// run is RunOn with memory from an arena, or from the garbage collector if that is nil.
func run(ctx context.Context, m Machine, g *model.Graph, weights model.Weights, inputs [][]int32, a *arena.Arena) (*Witness, error) {
	w, err := begin(g, weights, inputs, a)
	if err != nil {
		return nil, err
	}
	if m != nil {
		if done, err := onMachine(ctx, m, w, g, weights, inputs); done != nil || err != nil {
			return done, err
		}
	}
	w.zeroCounts()
	if err := newExecutor(w).all(ctx); err != nil {
		return nil, err
	}
	return w, nil
}

// all executes all steps but those that skip names. Without an arena all results share one block of memory.
func (e *executor) all(ctx context.Context) error {
	if e.arena == nil && e.live == nil && e.into == nil {
		e.room = make([]int32, entries(e.graph))
	}
	for i := range e.graph.Steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.skip != nil && e.skip(i) {
			continue
		}
		if err := e.execute(i); err != nil {
			return err
		}
		if e.live != nil {
			e.drop(i)
		}
	}
	return nil
}

// prepare is begin, and sets all multiplicities to 0.
func prepare(g *model.Graph, weights model.Weights, inputs [][]int32, a *arena.Arena) (*Witness, error) {
	w, err := begin(g, weights, inputs, a)
	if err != nil {
		return nil, err
	}
	w.zeroCounts()
	return w, nil
}

// zeroCounts sets all multiplicities to 0.
func (w *Witness) zeroCounts() {
	for _, m := range w.graph.Mults {
		w.Values[m.Tensor] = arena.Zeros[int32](w.arena, 1<<w.graph.Tables[m.Table].Bits)
	}
}

// begin checks weights and inputs and returns a witness in which no step has been executed.
func begin(g *model.Graph, weights model.Weights, inputs [][]int32, a *arena.Arena) (*Witness, error) {
	for _, id := range g.FixedIDs() {
		if int(id) >= len(weights) || weights[id] == nil || weights[id].Len() != model.Size(g.Tensors[id].Shape) {
			return nil, fmt.Errorf("weights of %q are missing or of the wrong size", g.Tensors[id].Name)
		}
	}
	w := &Witness{Values: make([][]int32, len(g.Tensors)), Weights: g.WithFormulas(weights), Keys: make([][]int32, len(g.Steps)), arena: a}
	ids := slices.Concat(g.Inputs, g.Unmade())
	if len(inputs) != len(ids) {
		return nil, fmt.Errorf("%d inputs given, the model has %d", len(inputs), len(ids))
	}
	for i, id := range ids {
		if err := checkInput(&g.Tensors[id], inputs[i]); err != nil {
			return nil, err
		}
		w.Values[id] = inputs[i]
	}
	w.graph = g.WithIds(inputs)
	return w, nil
}

// checkInput checks the number of a tensor's entries, and that each is in the tensor's range.
func checkInput(t *model.Tensor, v []int32) error {
	if len(v) != model.Size(t.Shape) {
		return fmt.Errorf("input %q has %d entries, want %d", t.Name, len(v), model.Size(t.Shape))
	}
	for i, x := range v {
		if int64(x) < t.Min || int64(x) > t.Max {
			return fmt.Errorf("input %q: entry %d is %d, outside of [%d, %d]", t.Name, i, x, t.Min, t.Max)
		}
	}
	return nil
}

// Tensor returns the values of any tensor. A virtual tensor is computed from its
// definition, and a fixed one may be widened; such a result belongs to the caller.
// Tensor may be called concurrently.
func (w *Witness) Tensor(id model.TensorID) []int32 { return ints.All(w.eval(id, nil)) }

// Fixed returns the values of a fixed tensor, or of one by formula.
func (w *Witness) Fixed(id model.TensorID) ints.Ints { return w.Weights[id] }

// eval returns the values of any tensor, in the integer type in which they are stored or computed. known has virtual
// tensors that have been computed before.
func (w *Witness) eval(id model.TensorID, known map[model.TensorID]ints.Ints) ints.Ints {
	if w.Values[id] != nil {
		return ints.Int32s(w.Values[id])
	}
	switch k := w.graph.Tensors[id].Kind; {
	case k == model.Empty:
		return ints.Int32s{}
	case k.Constant():
		return w.Weights[id]
	}
	if v, ok := known[id]; ok {
		return v
	}
	if w.kept != nil {
		if v := w.kept.tensor(id); v != nil {
			return ints.Int32s(v)
		}
	}
	t := &w.graph.Tensors[id]
	if l := moved(t); l != nil {
		return l.View.Gather(w.eval(l.Src, known), w.graph.Tensors[l.Src].Shape, t.Shape)
	}
	acc := make([]int64, model.Size(t.Shape))
	if p := t.Product; p != nil {
		of := func(id model.TensorID, labels []int) operand {
			return dense(w.eval(id, known), w.graph.Tensors[id].Shape, labels)
		}
		einsum(acc, t.Shape, p.Coef, of(p.A, p.LabelsA), of(p.B, p.LabelsB))
	}
	for i := range t.Def {
		l := &t.Def[i]
		l.View.Accumulate(acc, l.Coef, w.eval(l.Src, known), w.graph.Tensors[l.Src].Shape, t.Shape)
	}
	dst := make([]int32, len(acc))
	narrowed(dst, acc)
	return ints.Int32s(dst)
}

// narrowed copies an accumulator, whose entries must fit in 32 bits, to dst.
func narrowed(dst []int32, acc []int64) {
	parallel.For(len(acc), grain, func(lo, hi int) {
		for i, x := range acc[lo:hi] {
			dst[lo+i] = int32(x)
		}
	})
}

// moved returns the only summand of a virtual tensor whose entries are each an entry of
// another tensor or the fill value. It returns nil for any other tensor.
func moved(t *model.Tensor) *model.Linear {
	if len(t.Def) == 1 && t.Def[0].Coef == 1 && !t.Def[0].View.Sums() {
		return &t.Def[0]
	}
	return nil
}

// executor is the state of a run: the witness so far, and virtual tensors
// that a later step reads again.
type executor struct {
	*Witness
	room    []int32                      // memory for values and keys, if there is no arena
	lastUse map[model.TensorID]int       // by virtual tensor: the last step that reads it
	cache   map[model.TensorID]ints.Ints // virtual tensors that have been computed
	columns map[model.TensorID][]int32   // value columns of tables, as 32-bit integers
	acc     []int64                      // memory for a step's accumulator
	live    *liveness                    // if only a part of the values is kept (RunPart); otherwise nil
	skip    func(step int) bool          // says which steps are not executed; nil: none
	// into, if not nil, returns the memory that the values of tensor id are written to or, if step is not −1, the keys of that step. If it
	// returns nil they get new memory.
	into func(id model.TensorID, step int) []int32
}

func newExecutor(w *Witness) *executor {
	return &executor{
		Witness: w, lastUse: lastUses(w.graph), cache: map[model.TensorID]ints.Ints{}, columns: map[model.TensorID][]int32{},
	}
}

// lastUses returns the last step that needs each virtual tensor: to read it, or to compute another virtual tensor
// from it. A virtual tensor is computed at the first step that reads it, so the sources of a tensor are needed at
// that first step only.
func lastUses(g *model.Graph) map[model.TensorID]int {
	last := map[model.TensorID]int{}
	var reads func(id model.TensorID, i int)
	reads = func(id model.TensorID, i int) {
		if g.Tensors[id].Kind != model.Virtual {
			return
		}
		_, known := last[id]
		last[id] = i
		if known {
			return
		}
		for of := range g.Tensors[id].Sources {
			reads(of, i)
		}
	}
	for i := range g.Steps {
		for id := range g.Steps[i].Sources {
			reads(id, i)
		}
	}
	return last
}

// operand returns a tensor's values. It caches those of a virtual tensor; execute removes them
// once no later step needs them.
func (e *executor) operand(id model.TensorID) ints.Ints {
	v := e.eval(id, e.cache)
	if e.graph.Tensors[id].Kind == model.Virtual {
		e.cache[id] = v
	}
	return v
}

// execute executes step i, and removes virtual tensors from the cache that no later step reads.
func (e *executor) execute(i int) error {
	if err := e.step(i); err != nil {
		return fmt.Errorf("step %d (%s): %w", i, e.graph.Steps[i].Name, err)
	}
	maps.DeleteFunc(e.cache, func(id model.TensorID, _ ints.Ints) bool { return e.lastUse[id] <= i })
	return nil
}

// complete goes through the steps in order and calls take for each. If take returns taken, it has set the step's results, and for a look-up
// step it has returned the keys. complete executes all other steps. At the end it counts the keys that take has returned.
func (w *Witness) complete(ctx context.Context, take func(i int, s *model.Step) (keys []int32, taken bool)) error {
	e := newExecutor(w)
	taken := map[model.TensorID][]int{} // by multiplicity tensor: the look-up steps that take has handled
	for i := range w.graph.Steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := &w.graph.Steps[i]
		keys, ok := take(i, s)
		switch {
		case !ok:
			if err := e.execute(i); err != nil {
				return err
			}
		case s.Kind == model.StepLookup:
			w.Keys[i] = keys
			m := e.mult(s)
			taken[m] = append(taken[m], i)
		}
	}
	w.count(taken)
	return nil
}

// step executes step i.
func (e *executor) step(i int) error {
	s := &e.graph.Steps[i]
	if s.Kind == model.StepZero {
		// A zero step computes nothing. That it holds is not checked here but by Check, and by a proof.
		return nil
	}
	if s.Kind == model.StepMax {
		e.maximum(s)
		return nil
	}
	acc, err := e.accumulate(s)
	if err != nil {
		return err
	}
	switch s.Kind {
	case model.StepLookup:
		return e.lookup(i, acc)
	case model.StepExact:
		out := e.valuesOf(s.Out, len(acc))
		narrowed(out, acc)
		e.Values[s.Out] = out
		return nil
	default:
		return e.divide(s, acc)
	}
}

// make returns memory for n values or keys, not set to zero.
func (e *executor) make(n int) []int32 {
	if n > len(e.room) {
		return arena.Make[int32](e.arena, n)
	}
	v := e.room[:n:n]
	e.room = e.room[n:]
	return v
}

// valuesOf returns memory for n values of a tensor.
func (e *executor) valuesOf(id model.TensorID, n int) []int32 { return e.roomFor(id, -1, n) }

// roomFor returns memory for n values of a tensor or, if step is not −1, for n keys of that step.
func (e *executor) roomFor(id model.TensorID, step, n int) []int32 {
	if e.into != nil {
		if v := e.into(id, step); v != nil {
			return v[:n:n]
		}
	}
	return e.make(n)
}

// divide computes quotient and remainder of a StepDivide.
func (e *executor) divide(s *model.Step, acc []int64) error {
	den := ints.All(e.operand(s.Den))
	out, rem := e.valuesOf(s.Out, len(acc)), e.valuesOf(s.Lo, len(acc))
	for j, x := range acc {
		d := int64(den[j])
		if d <= 0 {
			return fmt.Errorf("entry %d: the divisor is %d, not positive", j, d)
		}
		out[j], rem[j] = divided(x, d)
	}
	e.Values[s.Out], e.Values[s.Lo] = out, rem
	return nil
}

// divided returns ⌊x/d⌋ and the remainder for d > 0.
func divided(x, d int64) (quotient, remainder int32) {
	q := x / d
	if x%d < 0 {
		q--
	}
	return int32(q), int32(x - q*d)
}

// maximum computes the greatest entries of a StepMax.
func (e *executor) maximum(s *model.Step) {
	out := e.valuesOf(s.Out, model.Size(s.Shape))
	greatest(out, ints.All(e.operand(s.Den)))
	e.Values[s.Out] = out
}

// greatest sets out[j] to the greatest entry of row j of x, which has len(out) rows.
func greatest(out, x []int32) {
	row := len(x) / len(out)
	parallel.For(len(out), max(1, grain/row), func(from, to int) {
		for j := from; j < to; j++ {
			out[j] = slices.Max(x[j*row : (j+1)*row])
		}
	})
}

// StepKeys returns the keys of a lookup step.
func (w *Witness) StepKeys(step int) []int32 {
	if w.kept != nil {
		return w.kept.stepKeys(step)
	}
	return w.Keys[step]
}

// lookup computes the keys, Out and Lo of the lookup step i, and counts its keys in the
// multiplicities.
func (e *executor) lookup(i int, acc []int64) error {
	s := &e.graph.Steps[i]
	t := &e.graph.Tables[s.Table]
	keys, out, lo := e.results(i)
	if err := lookUpAll(t, e.column(t), s.Shift, acc, out, lo, keys); err != nil {
		return err
	}
	if keys == nil {
		return nil
	}
	counts := e.Values[e.mult(s)]
	if counts == nil { // a run that does not count (NewRowsAfter)
		return nil
	}
	// Counting in parallel would take a copy of the counts for each goroutine. It is a
	// small part of a step, so it is serial.
	least := int32(t.Min)
	for _, key := range keys {
		counts[key-least]++
	}
	return nil
}

// results returns memory for the keys, Out and Lo of the lookup step i, and puts it into the witness. out and lo are nil if the step does
// not have the tensor. In a run that keeps only a part of the values (live), keys are nil, and so are results that nothing reads.
func (e *executor) results(i int) (keys, out, lo []int32) {
	s := &e.graph.Steps[i]
	n := model.Size(s.Shape)
	if e.live == nil {
		keys = e.roomFor(model.None, i, n)
		e.Keys[i] = keys
	}
	result := func(id model.TensorID) []int32 {
		if id == model.None || e.live != nil && e.live.last[id] <= i {
			return nil
		}
		e.Values[id] = e.valuesOf(id, n)
		return e.Values[id]
	}
	return keys, result(s.Out), result(s.Lo)
}

// column returns the committed value column of a table, nil if it has none.
func (e *executor) column(t *model.Table) []int32 {
	if t.Kind != model.TableFunc {
		return nil
	}
	if e.columns[t.Values] == nil {
		e.columns[t.Values] = ints.All(e.Weights[t.Values])
	}
	return e.columns[t.Values]
}

// mult finds the multiplicity tensor of a lookup step.
func (e *executor) mult(s *model.Step) model.TensorID {
	for _, m := range e.graph.Mults {
		if m.Chunk == s.Chunk && m.Table == s.Table {
			return m.Tensor
		}
	}
	panic("forward: the graph is not valid: a lookup without multiplicities")
}
