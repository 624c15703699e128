package proof

import (
	"math"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof/wire"
)

// This file has the messages of a circuit. Enumerations in the schema have the values of those in package model. Decoding checks
// only that numbers are in the ranges given here, and that every identifier of a tensor or table exists, even in a
// field that the step or tensor does not use. All other conditions are checked by model.Template.At.

// Lists in which identifiers are positions (wire.Number.Below).
const (
	tensorList wire.Counter = 1 + iota
	tableList
)

// The ranges of numbers in circuits.
var (
	// count is a number that is far below 2^31 in every valid key and proof.
	count = wire.Number{Kind: wire.Uint32, Most: math.MaxInt32}
	// dimension is the length of an axis.
	dimension = wire.Number{Kind: wire.Uint64, Most: 1 << model.MaxVars}
	// position is an index on an axis, or −1 where an output index reads no entry. It is written plus 1.
	position = wire.Number{Kind: wire.Uint64, Least: -1, Most: 1<<model.MaxVars - 1, Plus: 1}
	// stride is the stride or the base of an affine index map.
	stride = wire.Number{Kind: wire.Sint64, Least: -1 << model.MaxVars, Most: 1 << model.MaxVars}
	// scale is a model.Scale: the set of free dimensions whose sizes multiply a number.
	scale = wire.Number{Kind: wire.Uint32}
	// exponent is the Frac of a tensor: its integers are in units of 2^(−exponent).
	exponent = wire.Number{Kind: wire.Sint32}
	integer  = wire.Number{Kind: wire.Sint64}
	tableRow = wire.Number{Kind: wire.Uint32}

	tensorID      = wire.Number{Kind: wire.Uint32, Below: tensorList}
	maybeTensorID = wire.Number{Kind: wire.Uint32, Below: tensorList, Plus: 1}
	maybeTableID  = wire.Number{Kind: wire.Uint32, Below: tableList, Plus: 1}
)

var graphMessage = wire.New("Graph", func(t *model.Template) {
	t.Graph = &model.Graph{Tensors: []model.Tensor{}, Tables: []model.Table{}, Steps: []model.Step{}, Inputs: []model.TensorID{}, Outputs: []model.TensorID{}}
	t.Free = []model.FreeDim{}
},
	wire.Text(1, "name", func(t *model.Template) *string { return &t.Graph.Name }),
	wire.Counted(2, "tensors", tensorMessage, func(t *model.Template) *[]model.Tensor { return &t.Graph.Tensors }, tensorList),
	wire.Counted(3, "tables", tableMessage, func(t *model.Template) *[]model.Table { return &t.Graph.Tables }, tableList),
	wire.List(4, "steps", stepMessage, func(t *model.Template) *[]model.Step { return &t.Graph.Steps }),
	wire.Nums(5, "inputs", tensorID, func(t *model.Template) *[]model.TensorID { return &t.Graph.Inputs }),
	wire.Nums(6, "outputs", tensorID, func(t *model.Template) *[]model.TensorID { return &t.Graph.Outputs }),
	wire.List(7, "free", freeMessage, func(t *model.Template) *[]model.FreeDim { return &t.Free }),
	wire.Nums(8, "base", tensorID, func(t *model.Template) *[]model.TensorID { return &t.Graph.Base }),
)

var freeMessage = wire.New("Free", nil,
	wire.Text(1, "name", func(f *model.FreeDim) *string { return &f.Name }),
	wire.Num(2, "bound", count, func(f *model.FreeDim) *int { return &f.Bound }),
)

var tensorMessage = wire.New("Tensor", func(t *model.Tensor) { t.Shape, t.Def = []int{}, []model.Linear{} },
	wire.Text(1, "name", func(t *model.Tensor) *string { return &t.Name }),
	wire.Ints(2, "shape", dimension, func(t *model.Tensor) *[]int { return &t.Shape }),
	wire.Num(3, "kind", wire.EnumOf(6), func(t *model.Tensor) *model.Kind { return &t.Kind }),
	wire.Num(4, "frac", exponent, func(t *model.Tensor) *int { return &t.Frac }),
	wire.Num(5, "min", integer, func(t *model.Tensor) *int64 { return &t.Min }),
	wire.Num(6, "max", integer, func(t *model.Tensor) *int64 { return &t.Max }),
	wire.List(7, "definition", linearMessage, func(t *model.Tensor) *[]model.Linear { return &t.Def }),
	wire.Nums(8, "scales", scale, func(t *model.Tensor) *[]model.Scale { return &t.Scales }),
	wire.Ints(9, "fracs", exponent, func(t *model.Tensor) *[]int { return &t.Fracs }),
	wire.Optional(10, "formula", formulaMessage, func(t *model.Tensor) **model.Formula { return &t.Formula }),
	wire.Num(11, "numbers", wire.EnumOf(3), func(t *model.Tensor) *model.Numbers { return &t.Numbers }),
	wire.Optional(12, "product", productMessage, func(t *model.Tensor) **model.Product { return &t.Product }),
)

var formulaMessage = wire.New("Formula", nil,
	wire.Num(1, "kind", wire.EnumOf(4), func(f *model.Formula) *model.FormulaKind { return &f.Kind }),
	wire.Num(2, "offset", integer, func(f *model.Formula) *int64 { return &f.Offset }),
	wire.Num(3, "step", integer, func(f *model.Formula) *int64 { return &f.Step }),
)

var linearMessage = wire.New("Linear", nil,
	wire.Num(1, "coefficient", integer, func(l *model.Linear) *int64 { return &l.Coef }),
	wire.Num(2, "source", tensorID, func(l *model.Linear) *model.TensorID { return &l.Src }),
	wire.Optional(3, "view", viewMessage, func(l *model.Linear) **model.View { return &l.View }),
)

var viewMessage = wire.New("View", func(v *model.View) { v.Groups = []model.Group{} },
	wire.List(1, "groups", groupMessage, func(v *model.View) *[]model.Group { return &v.Groups }),
	wire.Num(2, "fill", integer, func(v *model.View) *int64 { return &v.Fill }),
)

var groupMessage = wire.New("Group", func(g *model.Group) {
	g.Out, g.In, g.Index, g.Sum = []int{}, []int{}, []int{}, []model.SumIndex{}
},
	wire.Ints(1, "out", count, func(g *model.Group) *[]int { return &g.Out }),
	wire.Ints(2, "in", count, func(g *model.Group) *[]int { return &g.In }),
	wire.Num(3, "map", wire.EnumOf(4), func(g *model.Group) *model.MapKind { return &g.Map }),
	wire.Num(4, "base", stride, func(g *model.Group) *int { return &g.Base }),
	wire.Ints(5, "strides", stride, func(g *model.Group) *[]int { return &g.Strides }),
	wire.List(6, "sums", sumMessage, func(g *model.Group) *[]model.SumIndex { return &g.Sum }),
	wire.Ints(7, "index", position, func(g *model.Group) *[]int { return &g.Index }),
	wire.Num(8, "base_scale", scale, func(g *model.Group) *model.Scale { return &g.BaseScale }),
	wire.Num(9, "ids", tensorID, func(g *model.Group) *model.TensorID { return &g.Ids }),
)

var sumMessage = wire.New("Sum", nil,
	wire.Num(1, "dimension", dimension, func(s *model.SumIndex) *int { return &s.Dim }),
	wire.Num(2, "stride", stride, func(s *model.SumIndex) *int { return &s.Stride }),
	wire.Num(3, "scale", scale, func(s *model.SumIndex) *model.Scale { return &s.Scale }),
)

var productMessage = wire.New("Product", func(p *model.Product) { p.LabelsA, p.LabelsB = []int{}, []int{} },
	wire.Num(1, "coefficient", integer, func(p *model.Product) *int64 { return &p.Coef }),
	wire.Num(2, "a", tensorID, func(p *model.Product) *model.TensorID { return &p.A }),
	wire.Num(3, "b", tensorID, func(p *model.Product) *model.TensorID { return &p.B }),
	wire.Ints(4, "labels_a", count, func(p *model.Product) *[]int { return &p.LabelsA }),
	wire.Ints(5, "labels_b", count, func(p *model.Product) *[]int { return &p.LabelsB }),
)

var accumulatorMessage = wire.New("Accumulator", func(a *model.Acc) { a.Linear, a.Products = []model.Linear{}, []model.Product{} },
	wire.Num(1, "constant", integer, func(a *model.Acc) *int64 { return &a.Const }),
	wire.List(2, "linear", linearMessage, func(a *model.Acc) *[]model.Linear { return &a.Linear }),
	wire.List(3, "products", productMessage, func(a *model.Acc) *[]model.Product { return &a.Products }),
)

var stepMessage = wire.New("Step", func(s *model.Step) {
	s.Shape, s.Lo, s.Table, s.Out, s.Den = []int{}, model.None, model.None, model.None, model.None
},
	wire.Num(1, "kind", wire.EnumOf(5), func(s *model.Step) *model.StepKind { return &s.Kind }),
	wire.Text(2, "name", func(s *model.Step) *string { return &s.Name }),
	wire.Ints(3, "shape", dimension, func(s *model.Step) *[]int { return &s.Shape }),
	wire.Part(4, "accumulator", accumulatorMessage, func(s *model.Step) *model.Acc { return &s.Acc }).Needed(),
	wire.Num(5, "shift", count, func(s *model.Step) *int { return &s.Shift }),
	wire.Num(6, "remainder", maybeTensorID, func(s *model.Step) *model.TensorID { return &s.Lo }),
	wire.Num(7, "table", maybeTableID, func(s *model.Step) *model.TableID { return &s.Table }),
	wire.Num(8, "out", maybeTensorID, func(s *model.Step) *model.TensorID { return &s.Out }),
	wire.Num(9, "divisor", maybeTensorID, func(s *model.Step) *model.TensorID { return &s.Den }),
	wire.Nums(10, "scales", scale, func(s *model.Step) *[]model.Scale { return &s.Scales }),
)

var tableMessage = wire.New("Table", func(t *model.Table) { t.Pieces, t.Values = []model.Piece{}, model.None },
	wire.Text(1, "name", func(t *model.Table) *string { return &t.Name }),
	wire.Num(2, "kind", wire.EnumOf(3), func(t *model.Table) *model.TableKind { return &t.Kind }),
	wire.Num(3, "bits", count, func(t *model.Table) *int { return &t.Bits }),
	wire.Num(4, "min", integer, func(t *model.Table) *int64 { return &t.Min }),
	wire.List(5, "pieces", pieceMessage, func(t *model.Table) *[]model.Piece { return &t.Pieces }),
	wire.Num(6, "values", maybeTensorID, func(t *model.Table) *model.TensorID { return &t.Values }),
	wire.Pairs(7, "saturated", tableRow, func(t *model.Table) *[]model.Rows { return &t.Saturated },
		func(r *model.Rows) (from, to *int64) { return &r.From, &r.To }),
	wire.Num(8, "drop", count, func(t *model.Table) *int { return &t.Drop }),
)

var pieceMessage = wire.New("Piece", nil,
	wire.Num(1, "end", integer, func(p *model.Piece) *int64 { return &p.End }),
	wire.Num(2, "slope", integer, func(p *model.Piece) *int64 { return &p.Slope }),
	wire.Num(3, "offset", integer, func(p *model.Piece) *int64 { return &p.Offset }),
)
