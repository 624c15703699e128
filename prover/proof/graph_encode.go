package proof

import (
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof/proofpb"
)

// encodeGraph converts a template that has passed Validate. Enumerations of the
// schema have the values of package model.
func encodeGraph(t *model.Template) *proofpb.Graph {
	g := t.Graph
	return &proofpb.Graph{
		Name:    g.Name,
		Tensors: encodeList(g.Tensors, encodeTensor),
		Tables:  encodeList(g.Tables, encodeTable),
		Steps:   encodeList(g.Steps, encodeStep),
		Inputs:  encodeInts[uint32](g.Inputs),
		Outputs: encodeInts[uint32](g.Outputs),
		Free:    encodeList(t.Free, encodeFree),
	}
}

func encodeFree(d *model.FreeDim) *proofpb.Free {
	return &proofpb.Free{Name: d.Name, Bound: uint32(d.Bound)}
}

func encodeTensor(t *model.Tensor) *proofpb.Tensor {
	p := &proofpb.Tensor{
		Name:       t.Name,
		Shape:      encodeInts[uint64](t.Shape),
		Kind:       proofpb.Tensor_Kind(t.Kind),
		Frac:       int32(t.Frac),
		Fracs:      encodeInts[int32](t.Fracs),
		Min:        t.Min,
		Max:        t.Max,
		Definition: encodeList(t.Def, encodeLinear),
		Scales:     encodeInts[uint32](t.Scales),
		Numbers:    proofpb.Tensor_Numbers(t.Numbers),
	}
	if f := t.Formula; f != nil {
		p.Formula = &proofpb.Formula{Kind: proofpb.Formula_Kind(f.Kind), Offset: f.Offset, Step: f.Step}
	}
	return p
}

func encodeLinear(l *model.Linear) *proofpb.Linear {
	p := &proofpb.Linear{Coefficient: l.Coef, Source: uint32(l.Src)}
	if l.View != nil {
		p.View = &proofpb.View{Groups: encodeList(l.View.Groups, encodeGroup), Fill: l.View.Fill}
	}
	return p
}

func encodeGroup(g *model.Group) *proofpb.Group {
	p := &proofpb.Group{
		Out:       encodeInts[uint32](g.Out),
		In:        encodeInts[uint32](g.In),
		Map:       proofpb.Group_Map(g.Map),
		Base:      int64(g.Base),
		Strides:   encodeInts[int64](g.Strides),
		Sums:      encodeList(g.Sum, encodeSum),
		Index:     encodeInts[uint64](g.Index),
		BaseScale: uint32(g.BaseScale),
		Ids:       uint32(g.Ids),
	}
	for i := range p.Index {
		p.Index[i]++
	}
	return p
}

func encodeSum(s *model.SumIndex) *proofpb.Sum {
	return &proofpb.Sum{Dimension: uint64(s.Dim), Stride: int64(s.Stride), Scale: uint32(s.Scale)}
}

func encodeProduct(p *model.Product) *proofpb.Product {
	return &proofpb.Product{
		Coefficient: p.Coef,
		A:           uint32(p.A),
		B:           uint32(p.B),
		LabelsA:     encodeInts[uint32](p.LabelsA),
		LabelsB:     encodeInts[uint32](p.LabelsB),
	}
}

func encodeStep(s *model.Step) *proofpb.Step {
	return &proofpb.Step{
		Kind:  proofpb.Step_Kind(s.Kind),
		Name:  s.Name,
		Shape: encodeInts[uint64](s.Shape),
		Accumulator: &proofpb.Accumulator{
			Constant: s.Acc.Const,
			Linear:   encodeList(s.Acc.Linear, encodeLinear),
			Products: encodeList(s.Acc.Products, encodeProduct),
		},
		Shift:     uint32(s.Shift),
		Remainder: uint32(s.Lo + 1),
		Table:     uint32(s.Table + 1),
		Out:       uint32(s.Out + 1),
		Divisor:   uint32(s.Den + 1),
		Scales:    encodeInts[uint32](s.Scales),
	}
}

func encodeTable(t *model.Table) *proofpb.Table {
	return &proofpb.Table{
		Name:   t.Name,
		Kind:   proofpb.Table_Kind(t.Kind),
		Bits:   uint32(t.Bits),
		Min:    t.Min,
		Pieces: encodeList(t.Pieces, encodePiece),
		Values: uint32(t.Values + 1),

		Saturated: encodeRows(t.Saturated),
		Drop:      uint32(t.Drop),
	}
}

func encodeRows(list []model.Rows) []uint32 {
	var ends []uint32
	for _, r := range list {
		ends = append(ends, uint32(r.From), uint32(r.To))
	}
	return ends
}

func encodePiece(p *model.Piece) *proofpb.Piece {
	return &proofpb.Piece{End: p.End, Slope: p.Slope, Offset: p.Offset}
}

func encodeList[T, P any](list []T, encode func(*T) *P) []*P {
	out := make([]*P, len(list))
	for i := range list {
		out[i] = encode(&list[i])
	}
	return out
}

func encodeInts[To int32 | uint32 | uint64 | int64, From ~int | ~int32 | ~uint32](v []From) []To {
	out := make([]To, len(v))
	for i, x := range v {
		out[i] = To(x)
	}
	return out
}
