package fixed

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/prove-model/prove-model/internal/refuse"
	static "github.com/prove-model/prove-model/prover/circuit/bounds"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Columns has the known values of fixed tensors, and a cache of the function columns that replays
// make: many blocks need the same ones.
type Columns struct {
	values map[model.TensorID][]int32
	made   Recall[*Column]
}

// NewColumns returns Columns with these values of fixed tensors.
func NewColumns(values map[model.TensorID][]int32) *Columns {
	return &Columns{values: values}
}

// ErrOtherSteps is wrapped by the error of a Replay that gives other steps than the
// circuit has.
var ErrOtherSteps = errors.New("the steps are not those of the block")

// Replay makes the steps of a block once more and compares them with those of the circuit. If they
// are the same, the bounds that this package knows for its own steps hold for the circuit's steps,
// whoever made the circuit: they are the Argument a. Of the ranges that the circuit states for
// computed tensors, Replay relies only on that of the block's operand, which the caller has to check
// (Argument.Given). Fixed tensors that the steps read must have the values that Replay gives them;
// it compares these with columns, and used lists the tensors that it compared.
//
// batch is the size of a free batch in this instance of the circuit, at least 2; 1 if the batch
// is not free. Elements of a batch are computed independently, so bounds do not depend on it.
//
// The error wraps ErrOtherSteps. A block and a circuit may come from anybody, so parameters that
// make no sense give this error, too.
func (b *Block) Replay(g *model.Graph, batch int, columns *Columns) (a *static.Argument, used []model.TensorID, err error) {
	if err := b.check(g); err != nil || batch < 1 {
		return nil, nil, fmt.Errorf("%w: %w", ErrOtherSteps, cmp.Or(err, errBlocks))
	}
	l := NewBuilder("", &columns.made)
	l.Plan, l.Batch = Plan{TableBits: b.TableBits, Bits: b.ActBits}, batch
	l.replay = &replayContext{tables: g.Tables[:b.Tables], columns: columns, of: g, from: b.Steps}
	l.Circuit.Tensors, l.Circuit.Tables = slices.Clone(g.Tensors[:b.Tensors]), slices.Clone(g.Tables[:b.Tables])
	type intervals = map[model.TensorID]static.Interval
	a = &static.Argument{Given: intervals{}, Results: intervals{}, RowSums: map[model.TensorID]int64{}}
	of := &l.Circuit.Tensors[b.Of]
	a.Given[b.Of] = static.Interval{Min: of.Min, Max: of.Max}
	// Parameters that make no sense may be refused in the middle of making the steps.
	var other error
	if err := refuse.Caught(func() { other = b.lower(l, a) }); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrOtherSteps, err)
	} else if other != nil {
		return nil, nil, other
	}
	a.From, a.To = b.Steps, b.Steps+len(l.Circuit.Steps)
	if err := b.compare(g, l.Circuit); err != nil {
		return nil, nil, err
	}
	for i := b.Tensors; i < len(l.Circuit.Tensors); i++ {
		if t := &l.Circuit.Tensors[i]; t.Kind != model.Fixed {
			a.Results[model.TensorID(i)] = static.Interval{Min: t.Min, Max: t.Max}
		}
	}
	used = l.replay.used
	for _, f := range l.FixedTensors {
		t := &l.Circuit.Tensors[f.ID]
		a.Given[f.ID] = static.Interval{Min: t.Min, Max: t.Max}
		if t.Min == t.Max {
			continue // all values are equal, so that the range alone forces them
		}
		values := make([]int32, model.Size(t.Shape))
		f.Fill(values, 0)
		if !slices.Equal(values, columns.values[f.ID]) {
			return nil, nil, fmt.Errorf("%w: other values of %q", ErrOtherSteps, g.Tensors[f.ID].Name)
		}
		used = append(used, f.ID)
	}
	return a, used, nil
}

// mostFrac bounds the scale of a block's operand: between 2^−400 and 2^400. That is more than float32
// numbers need, and the square of such a scale is a float64.
const mostFrac = 400

// check refuses a block whose parameters no steps of the circuit can have. Neither is to be trusted:
// a block comes from whoever made the certificate, and the circuit from whoever made the key.
func (b *Block) check(g *model.Graph) error {
	if err := b.checkNumbers(g); err != nil {
		return err
	}
	of := &g.Tensors[b.Of]
	if len(of.Shape) == 0 || model.Size(of.Shape) == 0 || max(of.Frac, -of.Frac) > mostFrac {
		return fmt.Errorf("it is of a tensor of shape %v on a scale of 2^%d", of.Shape, -of.Frac)
	}
	if !axesOf(b.Axes, len(of.Shape)) {
		return fmt.Errorf("rows along axes %v", b.Axes)
	}
	if b.ofSoftmax() {
		return b.checkSoftmax(g)
	}
	if n := RowsOf(of.Shape, b.Axes).Count; n > MaxNorm {
		return fmt.Errorf("rows of %d elements", n)
	}
	return nil
}

// checkNumbers checks that each number of a block is within its limits.
func (b *Block) checkNumbers(g *model.Graph) error {
	switch {
	case min(b.Tensors, b.Tables, b.Steps, b.Times, b.Summed, b.Bits, b.Width, b.Entries) < 0:
		return errors.New("a negative number")
	case b.Tensors > len(g.Tensors) || b.Tables > len(g.Tables) || b.Steps > len(g.Steps):
		return errors.New("it begins after the circuit's end")
	case b.TableBits < 10 || b.TableBits > model.MaxTableBits || b.ActBits < 1 || b.ActBits > b.TableBits:
		return fmt.Errorf("tables of 2^%d rows for %d bits", b.TableBits, b.ActBits)
	case !(b.Epsilon >= 0 && b.Epsilon <= math.MaxFloat32):
		return fmt.Errorf("an epsilon of %g", b.Epsilon)
	case b.Of < 0 || int(b.Of) >= b.Tensors || b.Mask < model.None || int(b.Mask) >= b.Tensors:
		return errors.New("what it is of comes after it")
	}
	return nil
}

// checkSoftmax checks the parameters that only a Softmax has.
func (b *Block) checkSoftmax(g *model.Graph) error {
	if b.Summed < 1 || b.Summed > FineShareBits+1 || b.Bits > FormatBits {
		return fmt.Errorf("a Softmax of %d bits, %d of what is summed", b.Bits, b.Summed)
	}
	if b.Mask == model.None {
		return nil
	}
	of, mask := g.Tensors[b.Of].Shape, g.Tensors[b.Mask].Shape
	ok := len(b.Labels) == len(mask) && axesOf(b.Labels, len(of))
	for i := range mask {
		ok = ok && of[b.Labels[i]] == mask[i]
	}
	if !ok {
		return fmt.Errorf("axes %v of a mask of shape %v", b.Labels, mask)
	}
	return nil
}

// axesOf reports whether these are axes of a tensor of that rank, in order.
func axesOf(axes []int, rank int) bool {
	for i, axis := range axes {
		if axis < 0 || axis >= rank || i > 0 && axis <= axes[i-1] {
			return false
		}
	}
	return true
}

// lower makes the steps of a block in l, and adds to a what is known of them besides the bounds of
// tensors: the bounds of a norm's sum of products, and of the sums of a Softmax's rows.
func (b *Block) lower(l *Builder, a *static.Argument) error {
	shape := l.Circuit.Tensors[b.Of].Shape
	switch b.Kind {
	case NormBlock:
		e := l.Normalised(RowsOf(shape, b.Axes), b.Of, b.Sum, b.Epsilon, b.Times)
		if e.Min > 0 || e.Max < 0 || e.Max > 2*model.Bound || e.Min < -2*model.Bound {
			return ErrOtherSteps // of numbers that make no sense
		}
		a.Products, a.Sum = e.Acc.Products, static.Interval{Min: e.Min, Max: e.Max}
	case CentredBlock:
		r := RowsOf(shape, b.Axes)
		l.Centred(r, b.Of, r.Count)
	case LogPowerBlock:
		if !slices.Equal(b.Axes, []int{len(shape) - 1}) {
			return ErrOtherSteps
		}
		l.LogPower(RowsOf(shape, b.Axes), b.Of, b.Epsilon)
	case SoftmaxBlock, TextSoftmaxBlock, LoweredSoftmaxBlock:
		// The steps are made for rows of Width entries: their bounds hold for shorter rows, too.
		if b.Width > 0 && (b.Width < shape[len(shape)-1] || b.Width > LongestText) {
			return ErrOtherSteps
		}
		if b.Mask != model.None {
			given := static.Interval{Max: 1}
			if b.Mask == b.Of { // then it has to be in both ranges
				given = static.Interval{Min: max(0, a.Given[b.Of].Min), Max: min(1, a.Given[b.Of].Max)}
			}
			a.Given[b.Mask] = given
		}
		m := l.Scores(b)
		if b.Bits == 0 {
			l.Shares(m, b.Summed)
			break
		}
		id := l.SharesOf(m, "", b.Summed, b.Bits)
		if a.RowSums[id] = l.RowSums[id]; a.RowSums[id] < 1<<b.Bits || a.RowSums[id] > 1<<40 {
			return ErrOtherSteps
		}
	default:
		return fmt.Errorf("%w: unknown kind %d", ErrOtherSteps, b.Kind)
	}
	return nil
}

// compare checks that the circuit g has, from the block's beginning on, the tensors, tables and steps
// of the circuit that has been made. Names, scales and ranges do not matter.
func (b *Block) compare(g, made *model.Graph) error {
	if len(made.Tensors) > len(g.Tensors) || len(made.Tables) > len(g.Tables) || b.Steps+len(made.Steps) > len(g.Steps) {
		return ErrOtherSteps
	}
	for i := b.Tensors; i < len(made.Tensors); i++ {
		if !made.Tensors[i].SameValues(&g.Tensors[i]) {
			return fmt.Errorf("%w: tensor %d", ErrOtherSteps, i)
		}
	}
	for i := b.Tables; i < len(made.Tables); i++ {
		if !made.Tables[i].SameRows(&g.Tables[i]) {
			return fmt.Errorf("%w: table %d", ErrOtherSteps, i)
		}
	}
	for i := range made.Steps {
		if !made.Steps[i].Same(&g.Steps[b.Steps+i]) {
			return fmt.Errorf("%w: step %d", ErrOtherSteps, b.Steps+i)
		}
	}
	return nil
}

// replayContext is what a Replay looks up in the circuit whose block it replays.
type replayContext struct {
	tables  []model.Table    // those before the block
	columns *Columns         // the known values of fixed tensors
	used    []model.TensorID // fixed tensors of tables that function found by their values
	of      *model.Graph     // the circuit
	from    int              // the block's first step
}

// oneRange reports whether a step of the block, counted from its first one, is a look-up in a range
// table of so many bits.
func (p *replayContext) oneRange(step, bits int) bool {
	if step += p.from; step >= len(p.of.Steps) {
		return false
	}
	s := &p.of.Steps[step]
	if s.Kind != model.StepLookup || s.Table < 0 || int(s.Table) >= len(p.of.Tables) {
		return false
	}
	t := &p.of.Tables[s.Table]
	return t.Kind == model.TableRange && t.Bits == bits && s.Shift == 0
}

// named reports whether a table before the block that has no committed column has that name.
func (p *replayContext) named(name string) bool {
	return p != nil && slices.ContainsFunc(p.tables, func(o model.Table) bool { return o.Kind != model.TableFunc && o.Name == name })
}

// table finds a table before the block that has no committed column, by its name and rows.
func (p *replayContext) table(t *model.Table) (model.TableID, bool) {
	if p == nil || t.Kind == model.TableFunc {
		return 0, false
	}
	i := slices.IndexFunc(p.tables, func(o model.Table) bool { return o.Name == t.Name && o.SameRows(t) })
	return model.TableID(i), i >= 0
}

// function finds a function table before the block by its size, first key and column.
func (p *replayContext) function(bits int, first int64, column []int32) (model.TableID, bool) {
	if p == nil {
		return 0, false
	}
	for i := range p.tables {
		t := &p.tables[i]
		if t.Kind == model.TableFunc && t.Bits == bits && t.Min == first && slices.Equal(p.columns.values[t.Values], column) {
			p.used = append(p.used, t.Values)
			return model.TableID(i), true
		}
	}
	return 0, false
}
