package prover

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/verifier"
)

// builder writes small graphs by hand.
type builder struct {
	g model.Graph
	w model.Weights
}

func (b *builder) tensor(t model.Tensor) model.TensorID {
	if t.Min == 0 && t.Max == 0 {
		t.Min, t.Max = -1<<15, 1<<15-1
	}
	b.g.Tensors = append(b.g.Tensors, t)
	b.w = append(b.w, nil)
	return model.TensorID(len(b.g.Tensors) - 1)
}

func (b *builder) input(shape ...int) model.TensorID {
	id := b.tensor(model.Tensor{Name: "input", Shape: shape, Kind: model.Input, Min: -128, Max: 127})
	b.g.Inputs = append(b.g.Inputs, id)
	return id
}

func (b *builder) fixed(rng *rand.Rand, span int32, shape ...int) model.TensorID {
	id := b.tensor(model.Tensor{Name: "weights", Shape: shape, Kind: model.Fixed, Min: -128, Max: 127})
	v := make([]int32, model.Size(shape))
	for i := range v {
		v[i] = rng.Int32N(2*span+1) - span
	}
	b.w[id] = ints.Of(v)
	return id
}

func (b *builder) witness(name string, shape ...int) model.TensorID {
	return b.tensor(model.Tensor{Name: name, Shape: shape, Kind: model.Witness})
}

func (b *builder) virtual(shape []int, def ...model.Linear) model.TensorID {
	return b.tensor(model.Tensor{Name: "virtual", Shape: shape, Kind: model.Virtual, Def: def})
}

func (b *builder) formula(f model.Formula, shape ...int) model.TensorID {
	return b.tensor(model.Tensor{Name: "formula", Shape: shape, Kind: model.ByFormula, Formula: &f})
}

func (b *builder) table(t model.Table) model.TableID {
	for i := range b.g.Tables {
		if b.g.Tables[i].Name == t.Name {
			return model.TableID(i)
		}
	}
	if t.Kind != model.TableFunc {
		t.Values = model.None
	}
	b.g.Tables = append(b.g.Tables, t)
	return model.TableID(len(b.g.Tables) - 1)
}

// add adds a step whose divisor and table are not set where its kind has none.
func (b *builder) add(s model.Step) {
	if s.Kind != model.StepDivide && s.Kind != model.StepMax {
		s.Den = model.None
	}
	if s.Kind != model.StepLookup {
		s.Table = model.None
	}
	b.g.Steps = append(b.g.Steps, s)
}

func (b *builder) rangeTable(bits int) model.TableID {
	return b.table(model.Table{Name: "range" + string(rune('a'+bits)), Kind: model.TableRange, Bits: bits})
}

func (b *builder) relu() model.TableID {
	return b.table(model.Table{Name: "relu", Kind: model.TablePiecewise, Bits: 12, Min: -1 << 11,
		Pieces:    []model.Piece{{End: 1 << 11}, {End: 1<<11 + 100, Slope: 1}, {End: 1 << 12, Offset: 99}},
		Saturated: []model.Rows{{From: 1<<11 + 100, To: 1 << 12}}})
}

// square is a table with a committed column.
func (b *builder) square() model.TableID {
	id := b.tensor(model.Tensor{Name: "squares", Shape: []int{256}, Kind: model.Fixed, Min: 0, Max: 1 << 14})
	column := make(ints.Int16s, 256)
	for i := range column {
		column[i] = int16((i - 128) * (i - 128) / 2)
	}
	b.w[id] = column
	return b.table(model.Table{Name: "square", Kind: model.TableFunc, Bits: 8, Min: -128, Values: id})
}

func (b *builder) inRange(name string, id model.TensorID, bits int) {
	b.add(model.Step{Kind: model.StepLookup, Name: name, Shape: b.g.Tensors[id].Shape,
		Acc: model.Acc{Linear: []model.Linear{{Coef: 1, Src: id}}}, Lo: model.None, Out: model.None, Table: b.rangeTable(bits)})
}

// requantise adds out = table((acc + half) >> shift).
func (b *builder) requantise(name string, shape []int, acc model.Acc, shift int, table model.TableID) model.TensorID {
	out, lo := b.witness(name, shape...), model.TensorID(model.None)
	if shift > 0 {
		acc.Const += 1 << (shift - 1)
		lo = b.witness(name+" remainder", shape...)
	}
	b.add(model.Step{Kind: model.StepLookup, Name: name, Shape: shape, Acc: acc,
		Shift: shift, Lo: lo, Out: out, Table: table})
	if shift > 0 {
		b.inRange(name+" range", lo, shift)
	}
	return out
}

// limbs adds the limbs of (acc + half) >> shift, the lower one of k bits: what is left
// beside the upper one is looked up in a high-bits table, which has the lower one and
// keeps the rest in its range.
func (b *builder) limbs(name string, shape []int, acc model.Acc, shift, k int, table model.TableID) (high, low model.TensorID) {
	high, low = b.witness(name+" high", shape...), b.witness(name+" low", shape...)
	rest := b.witness(name+" rest", shape...)
	acc.Const += 1 << (shift - 1)
	b.add(model.Step{Kind: model.StepLookup, Name: name + " high", Shape: shape, Acc: acc, Shift: shift + k, Lo: rest, Out: high, Table: table})
	b.add(model.Step{Kind: model.StepLookup, Name: name + " low", Shape: shape, Acc: model.Acc{Linear: []model.Linear{{Coef: 1, Src: rest}}},
		Lo: model.None, Out: low, Table: b.table(model.Table{
			Name: name, Kind: model.TablePiecewise, Bits: shift + k, Drop: shift, Pieces: []model.Piece{{End: 1 << k, Slope: 1}}})})
	return high, low
}

// divide adds q = ⌊acc/den⌋ with the remainder r and all that constrains them
// but a look-up of q. den and r have so many bits.
func (b *builder) divide(name string, acc model.Acc, den, q, r model.TensorID, bits int) {
	shape := b.g.Tensors[q].Shape
	step := model.Step{Kind: model.StepDivide, Name: name, Shape: shape, Acc: acc, Out: q, Lo: r, Den: den}
	d := b.g.Division(&step)
	b.add(step)
	b.add(model.Step{Kind: model.StepZero, Name: name, Shape: shape, Lo: model.None, Out: model.None, Acc: d.Equation})
	b.inRange(name+" remainder", r, bits)
	b.add(model.Step{Kind: model.StepLookup, Name: name + " remainder below divisor", Shape: shape, Lo: model.None, Out: model.None,
		Acc: d.Below, Table: b.rangeTable(bits)})
}

func axis(o, i int) model.Group { return model.Group{Out: []int{o}, In: []int{i}, Strides: []int{1}} }

// everything is a graph with every kind of site: a convolution by im2col with
// padding, a matrix product, a batched product, an element-wise one, look-ups
// with closed-form, high-bits, committed and key-only tables, an exact step, a division
// with its zero step, and views of every kind.
func everything(rng *rand.Rand) *builder {
	b := &builder{}
	x := b.input(3, 5, 6)
	// Convolution 3x3, stride (1,2), pad 1, 4 channels out: [4,5,3].
	window := func(o, k, i, stride int) model.Group {
		return model.Group{Out: []int{o, k}, In: []int{i}, Strides: []int{stride, 1}, Base: -1}
	}
	col := b.virtual([]int{3, 3, 3, 5, 3}, model.Linear{Coef: 1, Src: x, View: &model.View{Groups: []model.Group{
		axis(0, 0), window(3, 1, 1, 1), window(4, 2, 2, 2)}}})
	w := b.fixed(rng, 20, 4, 3, 3, 3)
	bias := b.fixed(rng, 100, 4)
	conv := b.requantise("conv", []int{4, 5, 3}, model.Acc{
		Linear: []model.Linear{{Coef: 1, Src: bias, View: &model.View{Groups: []model.Group{
			axis(0, 0), {Out: []int{1}, Strides: []int{0}}, {Out: []int{2}, Strides: []int{0}}}}}},
		Products: []model.Product{{Coef: 1, A: w, B: col, LabelsA: []int{0, 10, 11, 12}, LabelsB: []int{10, 11, 12, 1, 2}}},
	}, 6, b.relu())
	// Flatten to [60] and a matrix product to [10], no rounding.
	flat := b.virtual([]int{60}, model.Linear{Coef: 1, Src: conv, View: &model.View{Groups: []model.Group{
		{Out: []int{0}, In: []int{0, 1, 2}, Map: model.MapReshape}}}})
	w2 := b.fixed(rng, 3, 10, 60)
	fc := b.witness("fc", 10)
	b.g.Tensors[fc].Min, b.g.Tensors[fc].Max = -1<<20, 1<<20
	b.add(model.Step{Kind: model.StepExact, Name: "fc", Shape: []int{10}, Lo: model.None, Out: fc,
		Acc: model.Acc{Const: 7, Products: []model.Product{{Coef: 2, A: w2, B: flat, LabelsA: []int{0, 20}, LabelsB: []int{20}}}}})
	// Batched product over the channels with itself: [4,5,5].
	gram := b.requantise("gram", []int{4, 5, 5}, model.Acc{Products: []model.Product{
		{Coef: 1, A: conv, B: conv, LabelsA: []int{0, 1, 9}, LabelsB: []int{0, 2, 9}}}}, 8, b.relu())
	// Element-wise square, then the committed table on its low part.
	sq := b.requantise("square", []int{4, 5, 3}, model.Acc{Products: []model.Product{
		{Coef: 1, A: conv, B: conv, LabelsA: []int{0, 1, 2}, LabelsB: []int{0, 1, 2}}}}, 7, b.square())
	// Division by a positive tensor: q = ⌊fc² … keep it small: fc/den.
	den := b.requantise("den", []int{10}, model.Acc{Const: 3, Linear: []model.Linear{{Coef: 1, Src: sq, View: &model.View{
		Groups: []model.Group{{Out: []int{0}, In: []int{0}, Map: model.MapIndex, Index: []int{0, 3, 2, 1, 0, 0, 1, 2, 3, 3}},
			{In: []int{1}, Sum: []model.SumIndex{{Dim: 5, Stride: 1}}}, {In: []int{2}, Sum: []model.SumIndex{{Dim: 3, Stride: 1}}}}}}}}, 7, b.table(model.Table{
		Name: "positive", Kind: model.TablePiecewise, Bits: 11, Pieces: []model.Piece{{End: 4, Offset: 4}, {End: 2048, Slope: 1}}}))
	q, r := b.witness("quotient", 10), b.witness("remainder", 10)
	b.g.Tensors[q].Min, b.g.Tensors[q].Max = -1<<11, 1<<11-1
	acc := model.Acc{Linear: []model.Linear{{Coef: 1, Src: fc}}}
	b.divide("div", acc, den, q, r, 12)
	b.add(model.Step{Kind: model.StepLookup, Name: "quotient range", Shape: []int{10}, Lo: model.None, Out: model.None,
		Acc: model.Acc{Const: 1 << 11, Linear: []model.Linear{{Coef: 1, Src: q}}}, Table: b.rangeTable(12)})
	// Half of the Gram matrices and a diagonal of fours, with every second of numbers from
	// 20 down added to their rows, below the diagonal of the second but one.
	below := b.formula(model.Formula{Kind: model.AtLeast, Offset: 1}, 5, 5)
	repeat := model.Group{Out: []int{0}, Strides: []int{0}}
	b.requantise("masked", []int{4, 5, 5}, model.Acc{
		Linear: []model.Linear{
			{Coef: 4, Src: b.formula(model.Formula{Kind: model.Equal}, 5, 5), View: &model.View{Groups: []model.Group{repeat, axis(1, 0), axis(2, 1)}}},
			{Coef: 1, Src: b.formula(model.Formula{Kind: model.Progression, Offset: 20, Step: -3}, 9), View: &model.View{Groups: []model.Group{
				repeat, {Out: []int{1}, Strides: []int{0}}, {Out: []int{2}, In: []int{0}, Strides: []int{2}}}}},
		},
		Products: []model.Product{
			{Coef: 1, A: gram, B: b.formula(model.Formula{Kind: model.AtMost}, 5, 5), LabelsA: []int{0, 1, 2}, LabelsB: []int{1, 2}},
			{Coef: 2, A: below, B: gram, LabelsA: []int{1, 9}, LabelsB: []int{0, 9, 2}},
		},
	}, 3, b.relu())
	// Squares once more, rounded to two limbs.
	high, low := b.limbs("limbs", []int{4, 5, 3}, model.Acc{Products: []model.Product{
		{Coef: 1, A: conv, B: conv, LabelsA: []int{0, 1, 2}, LabelsB: []int{0, 1, 2}}}}, 3, 6, b.relu())
	// Outputs: the quotient next to a slice of gram, padded with −5 (concat), and conv itself.
	out := b.virtual([]int{16},
		model.Linear{Coef: 1, Src: q, View: &model.View{Groups: []model.Group{axis(0, 0)}}},
		model.Linear{Coef: 3, Src: gram, View: &model.View{Groups: []model.Group{
			{In: []int{0}, Base: 2}, {In: []int{1}, Base: 1}, {Out: []int{0}, In: []int{2}, Base: -11, Strides: []int{1}}}}})
	padded := b.virtual([]int{19}, model.Linear{Coef: 1, Src: out, View: &model.View{Fill: -5, Groups: []model.Group{
		{Out: []int{0}, In: []int{0}, Base: -2, Strides: []int{1}}}}})
	b.g.Tensors[padded].Min, b.g.Tensors[padded].Max = -1<<20, 1<<20
	joined := b.virtual([]int{4, 5, 3}, model.Linear{Coef: 1 << 6, Src: high}, model.Linear{Coef: 1, Src: low})
	b.g.Outputs = []model.TensorID{padded, conv, joined}
	return b
}

// eachSuite runs a test for every hash suite.
func eachSuite(t *testing.T, test func(t *testing.T, suite hash.Suite)) {
	for _, suite := range hash.All() {
		t.Run(suite.String(), func(t *testing.T) { test(t, suite) })
	}
}

// proved is a finished proof with all that went into it.
type proved struct {
	b     *builder
	key   *proof.Key
	proof []byte
}

func (b *builder) run(t testing.TB, rng *rand.Rand) *forward.Witness {
	t.Helper()
	if err := b.g.Validate(); err != nil {
		t.Fatal(err)
	}
	in := make([][]int32, len(b.g.Inputs))
	for i, id := range b.g.Inputs {
		in[i] = make([]int32, model.Size(b.g.Tensors[id].Shape))
		for j := range in[i] {
			in[i][j] = rng.Int32N(int32(b.g.Tensors[id].Max-b.g.Tensors[id].Min)+1) + int32(b.g.Tensors[id].Min)
		}
	}
	wit, err := forward.Run(context.Background(), &b.g, b.w, in)
	if err != nil {
		t.Fatal(err)
	}
	return wit
}

func (b *builder) prove(t testing.TB, rng *rand.Rand, sec proof.Security) proved {
	t.Helper()
	wit := b.run(t, rng)
	key, tree, err := Commit(context.Background(), b.g.Template(), b.w, sec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if _, err := Prove(context.Background(), key, b.g.Instance, tree, wit, &buf, Options{}); err != nil {
		t.Fatal(err)
	}
	return proved{b, key, buf.Bytes()}
}

func (p proved) verify() error {
	_, err := verifier.Verify(p.key, bytes.NewReader(p.proof))
	return err
}

// TestJohnson uses the Johnson bound in the tail of the opening.
func TestJohnson(t *testing.T) { eachSuite(t, johnson) }

func johnson(t *testing.T, suite hash.Suite) {
	rng := rand.New(rand.NewPCG(1, 1))
	b := everything(rng)
	b.g.Finish(0)
	sec := proof.DefaultSecurity
	sec.Mode, sec.Hash = proof.Johnson, suite
	p := b.prove(t, rng, sec)
	if err := p.verify(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(p.proof))
}

func TestEverySiteProves(t *testing.T) { eachSuite(t, everySiteProves) }

func everySiteProves(t *testing.T, suite hash.Suite) {
	sec := proof.DefaultSecurity
	sec.Hash = suite
	for _, chunk := range []int{0, 100} {
		for seed := range uint64(3) {
			rng := rand.New(rand.NewPCG(seed, 1))
			b := everything(rng)
			b.g.Finish(chunk)
			p := b.prove(t, rng, sec)
			if err := p.verify(); err != nil {
				t.Fatalf("chunks %d, seed %d: %v", b.g.Chunks, seed, err)
			}
			t.Logf("%d chunks: %d bytes", b.g.Chunks, len(p.proof))
		}
	}
}

// greatest adds the greatest entries along the last axis of a tensor of a spread below
// 2^bits, and all that constrains them.
func (b *builder) greatest(name string, x model.TensorID, bits int) model.TensorID {
	shape := b.g.Tensors[x].Shape
	rows := shape[:len(shape)-1]
	m, z := b.witness(name, rows...), b.witness(name+", is it", shape...)
	step := model.Step{Kind: model.StepMax, Name: name, Shape: rows, Den: x, Out: m, Lo: model.None}
	c := b.g.Maximum(&step, z)
	b.add(step)
	b.add(model.Step{Kind: model.StepLookup, Name: name, Shape: shape, Acc: c.Below, Lo: model.None, Out: z, Table: b.table(model.TopTable("top", bits))})
	b.add(model.Step{Kind: model.StepLookup, Name: name, Shape: rows, Acc: c.Found, Lo: model.None, Out: model.None, Table: b.rangeTable(6)})
	return m
}

// maxima are the greatest entries of rows, of what a look-up makes of them and of the
// maxima themselves.
func maxima() *builder {
	b := &builder{}
	x := b.input(3, 5)
	first := b.greatest("first", x, 8)
	y := b.requantise("relu", []int{3, 5}, model.Acc{Const: 3, Linear: []model.Linear{{Coef: 2, Src: x}}}, 0, b.relu())
	second := b.greatest("second", y, 8)
	b.g.Outputs = []model.TensorID{first, second, b.greatest("of both", b.virtual([]int{3},
		model.Linear{Coef: 1, Src: first}, model.Linear{Coef: -1, Src: second}), 9)}
	return b
}
