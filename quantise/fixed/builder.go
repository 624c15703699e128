package fixed

import (
	"fmt"
	"math"

	"github.com/prove-model/prove-model/prover/circuit/bounds"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Builder makes a circuit: tensors, tables and steps, each after what it is made of.
type Builder struct {
	Circuit  *model.Graph
	StepName string // of the steps that follow
	Plan     Plan
	// Batch is the size that a free batch has in the circuit; 1 if it is not free.
	Batch int
	// Usual is the number of entries of a shape where that is not what the batch says: of
	// texts, of usual length.
	Usual func(shape []int) int
	// OwnTables says that tensors may be rounded with tables that no other has.
	OwnTables bool
	Draft     bool // the first pass, which nobody executes

	tables       map[string]model.TableID
	columns      *ColumnCache
	replay       *replayContext // of a block that is made again; nil otherwise
	FixedTensors []FixedTensor
	// RowSums bounds the sum of the magnitudes along the last axis of tensors
	// for which that is known to be less than the entries' bounds say.
	RowSums map[model.TensorID]int64
	// RowNorms bounds the Euclidean norm of the rows along the last axis of tensors
	// for which that is known to be less than the entries' bounds say.
	RowNorms map[model.TensorID]float64
	Splits   map[model.TensorID]Split // limbs of wide tensors

	uses   tableUses
	Blocks []Block
	Steps  []StepNeed
	Clamps []Clamp
}

func NewBuilder(name string, columns *ColumnCache) *Builder {
	return &Builder{
		Circuit: &model.Graph{Name: name}, Batch: 1, columns: columns,
		tables: map[string]model.TableID{}, uses: newTableUses(), RowSums: map[model.TensorID]int64{}, RowNorms: map[model.TensorID]float64{},
		Splits: map[model.TensorID]Split{},
	}
}

// Entries is the size of a shape for one element of the batch, and a text of usual
// length: what decides on formats must not depend on the size that a free dimension is
// tried with.
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

// refusal carries the reason why steps cannot be made from where it is found to try.
type refusal struct{ err error }

// Refuse ends the function that try has called, which returns the reason.
func Refuse(format string, args ...any) { panic(refusal{fmt.Errorf(format, args...)}) }

// Try calls a function that makes steps, and returns the reason if it refuses.
func Try(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			why, is := r.(refusal)
			if !is {
				panic(r)
			}
			err = why.err
		}
	}()
	f()
	return nil
}

// StepNeed is a StepReport with the table size the step would need for its
// wanted bits.
type StepNeed struct {
	StepReport
	NeedTable int
}

// Exact makes a tensor of an accumulator as it is.
func (b *Builder) Exact(name string, e *Int) model.TensorID {
	id := b.Witness(name, e.Shape, e.Frac, e.Min, e.Max)
	b.Circuit.Steps = append(b.Circuit.Steps, model.Step{
		Kind: model.StepExact, Name: b.StepName, Shape: e.Shape, Acc: e.Acc, Out: id, Lo: model.None, Table: model.None, Den: model.None,
	})
	return id
}

// log2 of a positive number, rounded down.
func FloorLog2(x float64) int {
	if x <= 0 {
		return math.MinInt32
	}
	_, e := math.Frexp(x)
	return e - 1
}

// Pow2 is 2^e as a real number.
func Pow2(e int) float64 { return math.Ldexp(1, e) }

// PrintableNames makes names of what the float model calls its parts: it may
// call them anything, a key may not (model.MaxName). Names need not differ.
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

// chunks estimates the number of chunks of a pass, of canonical size (model.Finish).
func (b *Builder) chunks() int {
	const entries, few = 1 << 22, 64 // of a chunk, and chunks that are not too many
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

// StepReport is the precision of one rounding look-up.
type StepReport struct {
	Node      string
	Entries   int // of one element of the batch, if that is free
	Bits      int // of the calibrated range, head-room included, sign excluded
	Wanted    int // what Bits would be with tables large enough
	Frac      int // the result is an integer times 2^−Frac
	Shift     int
	TableBits int
}

// Witness adds a committed tensor.
func (b *Builder) Witness(name string, shape []int, frac int, lo, hi int64) model.TensorID {
	return b.Add(model.Tensor{Name: name, Shape: shape, Kind: model.Witness, Frac: frac, Min: lo, Max: hi})
}

func (b *Builder) Add(t model.Tensor) model.TensorID {
	if len(t.Shape) > model.MaxRank {
		Refuse("an intermediate tensor of rank %d is over %d", len(t.Shape), model.MaxRank)
	}
	if t.Min <= -model.Bound || t.Max >= model.Bound {
		Refuse("values up to %d may not be within ±2^30", max(-t.Min, t.Max))
	}
	if lo, hi := t.Finite(); lo > hi && !b.Draft {
		Refuse("a value is at least %d, where its range and its format end at %d: give it a wider range", lo, hi)
	}
	b.Circuit.Tensors = append(b.Circuit.Tensors, t)
	return model.TensorID(len(b.Circuit.Tensors) - 1)
}

// Virtual adds a sum of views, whose bounds follow from its sources'.
func (b *Builder) Virtual(name string, shape []int, def []model.Linear, frac int) model.TensorID {
	var lo, hi int64
	for i := range def {
		least, most := b.LinearBounds(&def[i], shape)
		lo, hi = lo+least, hi+most
	}
	return b.Add(model.Tensor{Name: name, Shape: shape, Kind: model.Virtual, Frac: frac, Min: lo, Max: hi, Def: def})
}

// VirtualOf adds a linear expression as a virtual tensor; it may know tighter
// bounds than its terms do.
func (b *Builder) VirtualOf(name string, e *Int) model.TensorID {
	return b.Add(model.Tensor{Name: name, Shape: e.Shape, Kind: model.Virtual, Frac: e.Frac, Min: e.Min, Max: e.Max, Def: e.Acc.Linear})
}

// LinearBounds bounds one term: a sum has as many entries as its summed
// indexes, and entries wired to nothing are Fill.
func (b *Builder) LinearBounds(t *model.Linear, out []int) (lo, hi int64) {
	src := &b.Circuit.Tensors[t.Src]
	lo, hi = src.Min, src.Max
	if t.View != nil {
		n, partial := int64(1), false
		for i := range t.View.Groups {
			g := &t.View.Groups[i]
			for _, s := range g.Sum {
				n *= int64(s.Dim)
			}
			partial = partial || !bounds.Covers(g, out, src.Shape)
		}
		lo, hi = lo*n, hi*n
		if partial {
			lo, hi = min(lo, t.View.Fill), max(hi, t.View.Fill)
			if n > 1 {
				lo, hi = min(lo, 0), max(hi, 0)
			}
		}
	}
	if lo, hi = lo*t.Coef, hi*t.Coef; t.Coef < 0 {
		lo, hi = hi, lo
	}
	return lo, hi
}

// Magnitude is the largest absolute value of a tensor, at least 1.
func (b *Builder) Magnitude(id model.TensorID) int64 {
	return max(-b.Circuit.Tensors[id].Min, b.Circuit.Tensors[id].Max, 1)
}
