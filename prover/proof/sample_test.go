package proof

import (
	"crypto/sha256"
	"fmt"

	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// sampleGraph returns a valid graph that uses every kind of tensor, view,
// product, step and table. a, b ≥ 1 and bits ≥ 1 vary the sizes, coef the
// coefficients.
func sampleGraph(a, b, bits int, coef int64, name string) *model.Graph {
	g := &model.Graph{Name: name}
	tensor := func(t model.Tensor) model.TensorID {
		t.Name = model.PrintableName(fmt.Sprintf("%s/%d", name, len(g.Tensors)))
		g.Tensors = append(g.Tensors, t)
		return model.TensorID(len(g.Tensors) - 1)
	}
	reverse := make([]int, b)
	for i := range reverse {
		reverse[i] = b - 1 - i
	}
	reverse[0] = -1
	shape := []int{a, b}
	in := tensor(model.Tensor{Shape: shape, Kind: model.Input, Frac: 7, Min: -99, Max: 99})
	if b > 1 { // a scale for each index of the last axis
		t := &g.Tensors[in]
		t.Frac, t.Fracs = 0, make([]int, b)
		for i := range t.Fracs {
			t.Fracs[i] = i - 7
		}
	}
	weights := tensor(model.Tensor{Shape: []int{b, b}, Kind: model.Fixed, Frac: -3, Min: -128, Max: 127})
	column := tensor(model.Tensor{Shape: []int{1 << bits}, Kind: model.Fixed, Min: -5, Max: 5})
	scalar := tensor(model.Tensor{Kind: model.Fixed, Min: 1, Max: 1})
	view := tensor(model.Tensor{Shape: shape, Kind: model.Virtual, Min: -999, Max: 999, Def: []model.Linear{
		{Coef: coef, Src: in},
		{Coef: 1, Src: in, View: &model.View{Fill: -4, Groups: []model.Group{
			{Out: []int{0}, In: []int{0}, Base: -1, Strides: []int{2}},
			{Out: []int{1}, In: []int{1}, Map: model.MapIndex, Index: reverse},
		}}},
		{Coef: -1, Src: in, View: &model.View{Groups: []model.Group{
			{Out: []int{1, 0}, In: []int{0, 1}, Map: model.MapReshape},
		}}},
		{Coef: 3, Src: scalar, View: &model.View{Groups: []model.Group{
			{Out: []int{0, 1}, Strides: []int{0, 0}},
		}}},
		{Coef: 2, Src: in, View: &model.View{Groups: []model.Group{
			{Out: []int{0}, In: []int{0}, Strides: []int{1}},
			{Out: []int{1}, In: []int{1}, Strides: []int{0}, Sum: []model.SumIndex{{Dim: b, Stride: 1}}},
		}}},
	}})
	witness := func(max int64) model.TensorID {
		return tensor(model.Tensor{Shape: shape, Kind: model.Witness, Max: max})
	}
	lo, relu, exact, quot, rem, fn := witness(7), witness(50), witness(9), witness(5), witness(5), witness(5)
	g.Tables = []model.Table{
		{Name: "range", Bits: bits, Values: model.None},
		{Name: "relu", Kind: model.TablePiecewise, Bits: bits, Min: -1 << (bits - 1), Values: model.None,
			Pieces: []model.Piece{{End: 1 << (bits - 1)}, {End: 1 << bits, Slope: 1, Offset: coef}}},
		{Name: "fn", Kind: model.TableFunc, Bits: bits, Min: -3, Values: column},
	}
	one := func(id model.TensorID) model.Acc {
		return model.Acc{Const: -coef, Linear: []model.Linear{{Coef: 1, Src: id}}}
	}
	none := model.TensorID(model.None)
	g.Steps = []model.Step{
		{Name: "product", Shape: shape, Shift: bits, Lo: lo, Table: 1, Out: relu, Den: none, Acc: model.Acc{
			Linear: []model.Linear{{Coef: 1, Src: view}},
			Products: []model.Product{{Coef: coef, A: view, B: weights,
				LabelsA: []int{0, 2}, LabelsB: []int{2, 1}}},
		}},
		{Name: "range", Shape: shape, Acc: model.Acc{Linear: []model.Linear{{Coef: 1, Src: lo}}}, Lo: none, Table: 0, Out: none, Den: none},
		{Kind: model.StepExact, Shape: shape, Acc: one(relu), Lo: none, Table: model.None, Out: exact, Den: none},
		{Kind: model.StepDivide, Shape: shape, Acc: one(relu), Lo: rem, Table: model.None, Out: quot, Den: exact},
		{Kind: model.StepZero, Shape: shape, Lo: none, Table: model.None, Out: none, Den: none},
		{Shape: shape, Acc: model.Acc{Linear: []model.Linear{{Coef: 1, Src: rem}}}, Lo: none, Table: 0, Out: none, Den: none},
		{Shape: shape, Lo: none, Table: 0, Out: none, Den: none},
		{Name: "fn", Shape: shape, Acc: one(quot), Lo: none, Table: 2, Out: fn, Den: none},
	}
	d := g.Division(&g.Steps[3])
	g.Steps[4].Acc, g.Steps[6].Acc = d.Equation, d.Below
	g.Inputs = []model.TensorID{in}
	g.Outputs = []model.TensorID{fn, view}
	if err := g.Finish(a * b); err != nil {
		panic(err)
	}
	return g
}

func sampleKey() *Key {
	k := &Key{
		Circuit:  sampleGraph(3, 5, 3, -77, "sample").Template(),
		Trees:    []Tree{{RowVars: 12}},
		Security: Security{TargetBits: 100, GrindBits: 16, Mode: Johnson, Hash: hash.Poseidon2},
	}
	for i := range k.Trees[0].Root {
		k.Trees[0].Root[i] = uint32(1000 * i)
	}
	k.Trees[0].Root[7] = field.P - 1
	return k
}

func genHeader() *rapid.Generator[Header] {
	return rapid.Custom(func(t *rapid.T) (h Header) {
		copy(h.Key[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "key"))
		h.Sizes = rapid.SliceOfN(rapid.IntRange(0, 1<<31-1), 0, 4).Draw(t, "sizes")
		h.ChunkEntries = rapid.IntRange(0, 1<<27).Draw(t, "chunk")
		h.RowVars = rapid.IntRange(0, 40).Draw(t, "row")
		h.Hash = rapid.SampledFrom(hash.All()).Draw(t, "suite")
		small := rapid.IntRange(0, 1<<20)
		for range rapid.IntRange(0, 3).Draw(t, "levels") {
			h.Levels = append(h.Levels, soundness.Level{
				FoldVars: small.Draw(t, "fold"), RowVars: small.Draw(t, "row"), LogBlowup: small.Draw(t, "blowup"),
				Multiplicity: small.Draw(t, "m"), Queries: small.Draw(t, "queries"), OutOfDomain: small.Draw(t, "samples"),
				QueryGrind: small.Draw(t, "grind"), FoldGrind: small.Draw(t, "fold grind"),
			})
		}
		return h
	})
}

func sampleHeader() Header {
	return Header{
		Key: sha256.Sum256([]byte("key")), Sizes: []int{540, 7}, ChunkEntries: 100, RowVars: 12, Hash: hash.Poseidon2,
		Levels: []soundness.Level{
			{FoldVars: 3, RowVars: 12, LogBlowup: 2, Queries: 124, QueryGrind: 16, FoldGrind: 1},
			{FoldVars: 4, RowVars: 8, LogBlowup: 5, Multiplicity: 6, Queries: 40, OutOfDomain: 1, QueryGrind: 16, FoldGrind: 9},
		},
	}
}

func genKey() *rapid.Generator[*Key] {
	return rapid.Custom(func(t *rapid.T) *Key {
		k := &Key{
			Circuit: sampleGraph(rapid.IntRange(1, 9).Draw(t, "a"), rapid.IntRange(1, 300).Draw(t, "b"),
				rapid.IntRange(1, 10).Draw(t, "bits"),
				rapid.Int64Range(1-model.Bound, model.Bound-1).Draw(t, "coef"),
				model.PrintableName(rapid.String().Draw(t, "name"))).Template(),
			Security: Security{
				rapid.IntRange(1, 120).Draw(t, "target"), rapid.IntRange(0, 24).Draw(t, "grind"),
				Mode(rapid.IntRange(0, 1).Draw(t, "mode")), rapid.SampledFrom(hash.All()).Draw(t, "suite"),
			},
		}
		if n := int64(1) << k.Circuit.Graph.Tables[2].Bits; rapid.Bool().Draw(t, "marked") {
			// Some rows of the table with a committed column.
			var rows []model.Rows
			for end := int64(0); end < n-1; {
				from := rapid.Int64Range(end, n-1).Draw(t, "from")
				end = rapid.Int64Range(from+1, n).Draw(t, "to")
				rows = append(rows, model.Rows{From: from, To: end})
				end++
			}
			k.Circuit.Graph.Tables[2].Saturated = rows[:min(len(rows), model.MaxSaturated)]
		}
		if table := &k.Circuit.Graph.Tables[1]; table.Bits > 1 && rapid.Bool().Draw(t, "stretched") {
			table.Min, table.Drop = 0, rapid.IntRange(1, table.Bits-1).Draw(t, "drop")
			table.Pieces = []model.Piece{{End: 1 << (table.Bits - table.Drop), Slope: 1}}
		}
		if rapid.Bool().Draw(t, "formula") {
			f := &model.Formula{Kind: model.FormulaKind(rapid.IntRange(0, 3).Draw(t, "formula kind")), Offset: rapid.Int64Range(-99, 99).Draw(t, "offset")}
			shape := []int{rapid.IntRange(1, 9).Draw(t, "rows"), rapid.IntRange(1, 9).Draw(t, "columns")}
			if f.Kind == model.Progression {
				f.Step, shape = rapid.Int64Range(-99, 99).Draw(t, "step"), shape[:1]
			}
			k.Circuit.Graph.Tensors = append(k.Circuit.Graph.Tensors, model.Tensor{Shape: shape, Kind: model.ByFormula, Min: -1000, Max: 1000, Formula: f})
		}
		if of := &k.Circuit.Graph.Tensors[0]; rapid.Bool().Draw(t, "product") {
			p := &model.Product{Coef: 1, LabelsA: []int{}, LabelsB: []int{}}
			for a := range of.Shape {
				p.LabelsA, p.LabelsB = append(p.LabelsA, a), append(p.LabelsB, a)
			}
			k.Circuit.Graph.Tensors = append(k.Circuit.Graph.Tensors, model.Tensor{Shape: of.Shape, Kind: model.Virtual, Max: 9, Def: []model.Linear{}, Product: p})
		}
		tree := Tree{RowVars: rapid.IntRange(1, soundness.MaxLogDomain).Draw(t, "row")}
		if rapid.Bool().Draw(t, "source") {
			k.Source = genSource().Draw(t, "made from")
		}
		limb := rapid.Uint32Range(0, field.P-1)
		if !k.Security.Hash.ElementDigests() {
			limb = rapid.Uint32()
		}
		for i := range tree.Root {
			tree.Root[i] = limb.Draw(t, "limb")
		}
		k.Trees = []Tree{tree}
		return k
	})
}

// sampleSource is a source of two files and two values.
func sampleSource() *Source {
	return &Source{
		Files: [][32]byte{{1, 2, 3}, {0xff}}, Quantiser: 7, W8A8: true, WeightBits: 8, ActBits: 9, TableBits: 20,
		Headroom: 1.1, Ranges: []uint32{0, 1<<RangeCodeBits - 1, 5, 1 << 27, 6, 0}, Formats: []uint32{15, 1<<FormatCodeBits - 1},
	}
}

func genSource() *rapid.Generator[*Source] {
	return rapid.Custom(func(t *rapid.T) *Source {
		s := &Source{
			Files: make([][32]byte, rapid.IntRange(1, 5).Draw(t, "files")), Quantiser: rapid.IntRange(1, 1<<31-1).Draw(t, "quantiser"),
			W8A8: rapid.Bool().Draw(t, "w8a8"), WeightBits: rapid.IntRange(1, 64).Draw(t, "weights"),
			ActBits: rapid.IntRange(1, 64).Draw(t, "activations"), TableBits: rapid.IntRange(1, 64).Draw(t, "tables"),
			Headroom: rapid.Float64Min(1).Draw(t, "headroom"),
		}
		for i := range s.Files {
			copy(s.Files[i][:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "file"))
		}
		n := 3 * rapid.IntRange(0, 5).Draw(t, "values")
		s.Ranges = rapid.SliceOfN(rapid.Uint32Range(0, 1<<RangeCodeBits-1), n, n).Draw(t, "ranges")
		if n > 0 && rapid.Bool().Draw(t, "formats") {
			s.Formats = rapid.SliceOfN(rapid.Uint32Range(0, 1<<FormatCodeBits-1), n/3, n/3).Draw(t, "formats")
			s.Formats[0] |= 1
		}
		return s
	})
}

// sampleFrames are transcript bytes for a proof of two chunks.
func sampleFrames() (frames []frameBytes) {
	body := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i * 7)
		}
		return limbs(b)
	}
	return []frameBytes{
		{plan.Frame{Kind: plan.Commitments}, body(64)},
		{plan.Frame{Kind: plan.Chunk}, body(300)}, {plan.Frame{Kind: plan.Chunk, Index: 1}, body(200)},
		{plan.Frame{Kind: plan.IO}, nil}, {plan.Frame{Kind: plan.Opening}, body(500)},
	}
}

// limbs makes b, without what is left after its last four bytes, a stream: a sequence of
// limbs below 2^31.
func limbs(b []byte) []byte {
	b = b[:len(b)/4*4]
	for i := 3; i < len(b); i += 4 {
		b[i] &= 0x7f
	}
	return b
}

// frameBytes is a frame with its stream.
type frameBytes struct {
	frame plan.Frame
	body  []byte
}
