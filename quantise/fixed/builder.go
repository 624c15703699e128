// Package fixed makes circuits of integers with a power-of-two scale per tensor: sums and
// products in accumulators with static bounds, rounding and clamping by look-ups, digits of wide
// integers, and what is made of these: division, comparison, maximum, mean, norm, logarithm and
// Softmax.
//
// It knows neither float models nor proofs. A certificate replays blocks of steps with it
// (Block.Replay).
package fixed

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/prover/circuit/bounds"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Builder makes a circuit. It appends tensors, tables and steps, each after the ones that it
// reads, and remembers what is known of tensors besides their intervals: limbs, sums and norms of
// rows.
type Builder struct {
	Circuit  *model.Graph
	StepName string // the name of the steps that are added next: the model's node that they compute
	Plan     Plan
	// Batch is the size that a free batch has in the circuit; 1 if it is not free.
	Batch int
	// Usual returns the number of entries that a tensor of a shape has in a text of usual length;
	// nil if the circuit has no free length.
	Usual func(shape []int) int
	// OwnTables allows to round a tensor with a table that no other tensor uses.
	OwnTables bool
	// Draft says that nobody will run the circuit: it only shows which tables are wanted. So
	// values out of bounds are not refused.
	Draft bool

	tables       map[string]model.TableID // by a name that tells a table's rows from others
	columns      *Recall[*Column]
	replay       *replayContext // nil unless the builder works for Block.Replay
	FixedTensors []FixedTensor
	// RowSums bounds the sum of the magnitudes along the last axis of tensors
	// for which that is known to be less than the entries' bounds say.
	RowSums map[model.TensorID]int64
	// RowNorms bounds the Euclidean norm of the rows along the last axis of tensors
	// for which that is known to be less than the entries' bounds say.
	RowNorms map[model.TensorID]float64
	Splits   map[model.TensorID]Split // the two limbs of wide tensors that have been split

	uses   tableUses // so far, for the plan of the next pass
	Blocks []Block
	Steps  []StepReport // one for each rounding
	Clamps []Clamp
}

// NewBuilder returns a builder of an empty circuit. It keeps the columns of function tables in
// columns, which several builders may share.
func NewBuilder(name string, columns *Recall[*Column]) *Builder {
	return &Builder{
		Circuit: &model.Graph{Name: name}, Batch: 1, columns: columns,
		tables: map[string]model.TableID{}, uses: tableUses{}, RowSums: map[model.TensorID]int64{}, RowNorms: map[model.TensorID]float64{},
		Splits: map[model.TensorID]Split{},
	}
}

// Entries is the number of entries of a shape for one element of the batch, or in a text of usual
// length if the length is free. Decisions about formats and tables go by this number: they must
// not depend on the size that a free dimension has while the circuit is made.
func (b *Builder) Entries(shape []int) int {
	if b.Usual != nil {
		return b.Usual(shape)
	}
	n := model.Size(shape)
	if n%b.Batch == 0 {
		n /= b.Batch
	}
	return n
}

// TensorOf makes a tensor that equals an accumulator, without rounding: a virtual tensor if the
// accumulator is a sum of views, otherwise a committed one (Exact).
func (b *Builder) TensorOf(name string, e *Int) model.TensorID {
	if e.Views() {
		return b.VirtualOf(name, e)
	}
	return b.Exact(name, e)
}

// Exact adds a step that makes a committed tensor equal to an accumulator, without rounding.
func (b *Builder) Exact(name string, e *Int) model.TensorID {
	step := b.step(model.StepExact, e.Shape, e.Acc)
	step.Out = b.Witness(name, e.Shape, e.Frac, e.Min, e.Max)
	b.addStep(step)
	return step.Out
}

// step returns a step of the present node (StepName) that has no tensors and no table yet.
func (b *Builder) step(kind model.StepKind, shape []int, acc model.Acc) model.Step {
	return model.Step{
		Kind: kind, Name: b.StepName, Shape: shape, Acc: acc,
		Lo: model.None, Table: model.None, Out: model.None, Den: model.None,
	}
}

func (b *Builder) addStep(s model.Step) { b.Circuit.Steps = append(b.Circuit.Steps, s) }

// FloorLog2 is ⌊log2 x⌋ for x > 0. For other x it is math.MinInt32, below the result for any
// positive number.
func FloorLog2(x float64) int {
	if x <= 0 {
		return math.MinInt32
	}
	if e := int(math.Float64bits(x) >> mantissa); e > 0 && e <= 2*bias { // neither subnormal nor infinite: quicker than Frexp
		return e - bias
	}
	_, e := math.Frexp(x)
	return e - 1
}

// Pow2 is 2^e as a real number.
func Pow2(e int) float64 {
	if e > -bias && e <= bias {
		return math.Float64frombits(uint64(e+bias) << mantissa) // quicker than Ldexp
	}
	return math.Ldexp(1, e)
}

// In the bits of a float64, the exponent plus the bias stands above the 52 bits of the mantissa.
const mantissa, bias = 52, 1023

// PrintableNames makes all names of a circuit printable (model.PrintableName): a model's file may
// have any bytes in them. Different names may become equal, which does no harm.
func PrintableNames(g *model.Graph) {
	g.Name = model.PrintableName(g.Name)
	for i := range g.Tensors {
		g.Tensors[i].Name = model.PrintableName(g.Tensors[i].Name)
	}
	for i := range g.Tables {
		g.Tables[i].Name = model.PrintableName(g.Tables[i].Name)
	}
	for i := range g.Steps {
		g.Steps[i].Name = model.PrintableName(g.Steps[i].Name)
	}
}

// chunks estimates into how many chunks the circuit is cut (Graph.Finish in package model): one for
// each 2^22 entries that are looked up; while these are more than 64, chunks are twice as large.
func (b *Builder) chunks() int {
	const entries, few = 1 << 22, 64 // entries of a chunk, and the most chunks
	n := 0
	for i := range b.Circuit.Steps {
		if s := &b.Circuit.Steps[i]; s.Kind == model.StepLookup {
			n += b.Entries(s.Shape)
		}
	}
	n = 1 + n/entries
	for n > few {
		n /= 2
	}
	return n
}

// StepReport says how precise the result of one rounding look-up is.
type StepReport struct {
	Node      string
	Entries   int // of one element of the batch, if that is free
	Bits      int // of the calibrated range, head-room included, sign excluded
	Wanted    int // what Bits would be with tables large enough
	Frac      int // the result is an integer times 2^−Frac
	Shift     int
	TableBits int
	NeedTable int // the size of the table, in bits, with which Bits would be Wanted
}

// Witness adds a committed tensor.
func (b *Builder) Witness(name string, shape []int, frac int, lo, hi int64) model.TensorID {
	return b.Add(model.Tensor{Name: name, Shape: shape, Kind: model.Witness, Frac: frac, Min: lo, Max: hi})
}

// Add adds a tensor. It refuses one whose rank or whose values are beyond the limits of circuits.
func (b *Builder) Add(t model.Tensor) model.TensorID {
	if len(t.Shape) > model.MaxRank {
		refuse.With("an intermediate tensor of rank %d is over %d", len(t.Shape), model.MaxRank)
	}
	if t.Min <= -model.Bound || t.Max >= model.Bound {
		refuse.With("values up to %d may not be within ±2^30", max(-t.Min, t.Max))
	}
	if lo, hi := t.Finite(); lo > hi && !b.Draft {
		refuse.With("a value is at least %d, where its range and its format end at %d: give it a wider range", lo, hi)
	}
	b.Circuit.Tensors = append(b.Circuit.Tensors, t)
	return model.TensorID(len(b.Circuit.Tensors) - 1)
}

// Virtual adds a virtual tensor, the sum of views def. Its bounds follow from those of its sources.
func (b *Builder) Virtual(name string, shape []int, def []model.Linear, frac int) model.TensorID {
	var all bounds.Interval
	for i := range def {
		all = all.Add(b.Term(&def[i], shape))
	}
	return b.Add(model.Tensor{Name: name, Shape: shape, Kind: model.Virtual, Frac: frac, Min: all.Min, Max: all.Max, Def: def})
}

// Viewed adds a virtual tensor of the given shape: a view of another tensor.
func (b *Builder) Viewed(name string, id model.TensorID, v *model.View, shape []int) model.TensorID {
	return b.Virtual(name, shape, []model.Linear{{Coef: 1, Src: id, View: v}}, b.Circuit.Tensors[id].Frac)
}

// Reshaped is a tensor with the same entries, row-major, in a shape.
func (b *Builder) Reshaped(name string, id model.TensorID, shape []int) model.TensorID {
	have := b.Circuit.Tensors[id].Shape
	if slices.Equal(have, shape) {
		return id
	}
	return b.Viewed(name, id, ReshapeView(have, shape), shape)
}

// VirtualOf adds a sum of views (Int.Views) as a virtual tensor. The tensor gets the bounds of e,
// which may be tighter than those that follow from e's terms.
func (b *Builder) VirtualOf(name string, e *Int) model.TensorID {
	return b.Add(model.Tensor{Name: name, Shape: e.Shape, Kind: model.Virtual, Frac: e.Frac, Min: e.Min, Max: e.Max, Def: e.Acc.Linear})
}

// Term is the interval of the entries of one term of a sum that has the given shape.
func (b *Builder) Term(t *model.Linear, shape []int) bounds.Interval {
	src := &b.Circuit.Tensors[t.Src]
	return bounds.Through(t.View, within(src), shape, src.Shape).Scale(t.Coef)
}

// within is the interval of a tensor's entries.
func within(t *model.Tensor) bounds.Interval { return bounds.Interval{Min: t.Min, Max: t.Max} }

// Magnitude is the largest absolute value of a tensor, at least 1.
func (b *Builder) Magnitude(id model.TensorID) int64 {
	return max(-b.Circuit.Tensors[id].Min, b.Circuit.Tensors[id].Max, 1)
}
