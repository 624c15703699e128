package proof

import (
	"fmt"
	"math"

	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/proof/proofpb"
)

// decodeGraph is the inverse of encodeGraph for bytes that passed
// checkCanonical. It checks that everything fits the types of package model,
// and that identifiers exist even where Validate does not look because the
// field is unused; the rest is Validate's.
func decodeGraph(p *proofpb.Graph) (*model.Template, error) {
	d := decoder{tensors: len(p.Tensors), tables: len(p.Tables)}
	g := &model.Graph{
		Name:    p.Name,
		Tensors: decodeList(p.Tensors, d.tensor),
		Tables:  decodeList(p.Tables, d.table),
		Steps:   decodeList(p.Steps, d.step),
		Inputs:  decodeIDs[model.TensorID](&d, p.Inputs, d.tensors),
		Outputs: decodeIDs[model.TensorID](&d, p.Outputs, d.tensors),
	}
	return &model.Template{Free: decodeList(p.Free, d.free), Graph: g}, d.err
}

// decoder remembers the first error, so that conversions read like the
// structures they build.
type decoder struct {
	tensors, tables int
	err             error
	room            []int // for short lists
}

// ints returns n integers, many lists of one piece of memory. An empty list is not nil.
func (d *decoder) ints(n int) []int {
	if n == 0 {
		return []int{}
	}
	if n > len(d.room) {
		d.room = make([]int, max(n, 256))
	}
	list := d.room[:n:n]
	d.room = d.room[n:]
	return list
}

func (d *decoder) free(p *proofpb.Free) model.FreeDim {
	return model.FreeDim{Name: p.Name, Bound: d.small(p.Bound)}
}

func (d *decoder) tensor(p *proofpb.Tensor) model.Tensor {
	t := model.Tensor{
		Name:   p.Name,
		Shape:  d.sizes(p.Shape),
		Scales: scales(p.Scales),
		Kind:   model.Kind(p.Kind),
		Frac:   int(p.Frac),
		Fracs:  fracs(p.Fracs),
		Min:    p.Min,
		Max:    p.Max,
		Def:    decodeList(p.Definition, d.linear),
	}
	if f := p.Formula; f != nil {
		t.Formula = &model.Formula{Kind: model.FormulaKind(f.Kind), Offset: f.Offset, Step: f.Step}
	}
	return t
}

// fracs keeps an absent list nil.
func fracs(v []int32) []int {
	var out []int
	for _, f := range v {
		out = append(out, int(f))
	}
	return out
}

// scales keeps an absent list nil.
func scales(v []uint32) []model.Scale {
	var out []model.Scale
	for _, s := range v {
		out = append(out, model.Scale(s))
	}
	return out
}

func (d *decoder) linear(p *proofpb.Linear) model.Linear {
	l := model.Linear{Coef: p.Coefficient, Src: decodeID[model.TensorID](d, uint64(p.Source), d.tensors)}
	if p.View != nil {
		l.View = &model.View{Groups: decodeList(p.View.Groups, d.group), Fill: p.View.Fill}
	}
	return l
}

func (d *decoder) group(p *proofpb.Group) model.Group {
	g := model.Group{
		Out:       d.smalls(p.Out),
		In:        d.smalls(p.In),
		Map:       model.MapKind(p.Map),
		Base:      d.signed(p.Base),
		BaseScale: model.Scale(p.BaseScale),
		Sum:       decodeList(p.Sums, d.sum),
		Ids:       decodeID[model.TensorID](d, uint64(p.Ids), d.tensors),
	}
	for _, s := range p.Strides {
		g.Strides = append(g.Strides, d.signed(s))
	}
	g.Index = d.sizes(p.Index)
	for i := range g.Index {
		g.Index[i]--
	}
	return g
}

func (d *decoder) sum(p *proofpb.Sum) model.SumIndex {
	return model.SumIndex{Dim: d.size(p.Dimension), Stride: d.signed(p.Stride), Scale: model.Scale(p.Scale)}
}

func (d *decoder) product(p *proofpb.Product) model.Product {
	return model.Product{
		Coef:    p.Coefficient,
		A:       decodeID[model.TensorID](d, uint64(p.A), d.tensors),
		B:       decodeID[model.TensorID](d, uint64(p.B), d.tensors),
		LabelsA: d.smalls(p.LabelsA),
		LabelsB: d.smalls(p.LabelsB),
	}
}

func (d *decoder) step(p *proofpb.Step) model.Step {
	s := model.Step{
		Kind:   model.StepKind(p.Kind),
		Name:   p.Name,
		Shape:  d.sizes(p.Shape),
		Scales: scales(p.Scales),
		Shift:  d.small(p.Shift),
		Lo:     decodeOptional[model.TensorID](d, p.Remainder, d.tensors),
		Table:  decodeOptional[model.TableID](d, p.Table, d.tables),
		Out:    decodeOptional[model.TensorID](d, p.Out, d.tensors),
		Den:    decodeOptional[model.TensorID](d, p.Divisor, d.tensors),
	}
	if p.Accumulator == nil {
		d.fail("a step without accumulator")
		return s
	}
	s.Acc = model.Acc{
		Const:    p.Accumulator.Constant,
		Linear:   decodeList(p.Accumulator.Linear, d.linear),
		Products: decodeList(p.Accumulator.Products, d.product),
	}
	return s
}

func (d *decoder) table(p *proofpb.Table) model.Table {
	return model.Table{
		Name:   p.Name,
		Kind:   model.TableKind(p.Kind),
		Bits:   d.small(p.Bits),
		Min:    p.Min,
		Pieces: decodeList(p.Pieces, d.piece),
		Values: decodeOptional[model.TensorID](d, p.Values, d.tensors),

		Saturated: d.rows(p.Saturated),
	}
}

// rows keeps an absent list nil.
func (d *decoder) rows(ends []uint32) []model.Rows {
	if len(ends)%2 != 0 {
		d.fail("an interval of rows without an end")
		return nil
	}
	var list []model.Rows
	for i := 0; i < len(ends); i += 2 {
		list = append(list, model.Rows{From: int64(ends[i]), To: int64(ends[i+1])})
	}
	return list
}

func (d *decoder) piece(p *proofpb.Piece) model.Piece {
	return model.Piece{End: p.End, Slope: p.Slope, Offset: p.Offset}
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}

// small converts a number that is far below 2^31 in every valid graph.
func (d *decoder) small(v uint32) int {
	if v > math.MaxInt32 {
		d.fail("%d is too large", v)
		return 0
	}
	return int(v)
}

func (d *decoder) smalls(v []uint32) []int {
	out := d.ints(len(v))
	for i, x := range v {
		out[i] = d.small(x)
	}
	return out
}

// size converts a dimension or an index + 1.
func (d *decoder) size(v uint64) int {
	if v > 1<<model.MaxVars {
		d.fail("%d is too large", v)
		return 0
	}
	return int(v)
}

func (d *decoder) sizes(v []uint64) []int {
	out := d.ints(len(v))
	for i, x := range v {
		out[i] = d.size(x)
	}
	return out
}

// signed converts a stride or a base.
func (d *decoder) signed(v int64) int {
	if v < -1<<model.MaxVars || v > 1<<model.MaxVars {
		d.fail("%d is too large", v)
		return 0
	}
	return int(v)
}

// decodeID converts an identifier that must be below n.
func decodeID[ID ~int32](d *decoder, v uint64, n int) ID {
	if v >= uint64(n) {
		d.fail("identifier %d of %d", v, n)
		return 0
	}
	return ID(v)
}

// decodeOptional converts an identifier + 1, 0 for none.
func decodeOptional[ID ~int32](d *decoder, v uint32, n int) ID {
	if v == 0 {
		return model.None
	}
	return decodeID[ID](d, uint64(v)-1, n)
}

func decodeIDs[ID ~int32](d *decoder, v []uint32, n int) []ID {
	out := make([]ID, len(v))
	for i, x := range v {
		out[i] = decodeID[ID](d, uint64(x), n)
	}
	return out
}

func decodeList[P, T any](list []*P, decode func(*P) T) []T {
	out := make([]T, len(list))
	for i, p := range list {
		out[i] = decode(p)
	}
	return out
}
