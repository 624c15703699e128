package proof

import (
	"fmt"
	"math"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// decodeGraph is the inverse of encodeGraph for bytes that passed checkCanonical. It
// checks that everything fits the types of package model, and that identifiers exist even
// where Validate does not look because the field is unused; the rest is Validate's. It
// reads the wire itself: structures of the schema in between would take longer to make
// than all else of a key.
func decodeGraph(b string) (*model.Template, error) {
	g := &model.Graph{Inputs: []model.TensorID{}, Outputs: []model.TensorID{}}
	var tensors, tables, steps, free []fields
	var inputs, outputs fields
	var d decoder
	for m := fields(b); len(m) > 0; {
		switch num, _, body := m.next(); num {
		case 1:
			g.Name = string(body)
		case 2:
			tensors = append(room(tensors, m, num), body)
		case 3:
			tables = append(room(tables, m, num), body)
		case 4:
			steps = append(room(steps, m, num), body)
		case 5:
			inputs = body
		case 6:
			outputs = body
		case 7:
			free = append(room(free, m, num), body)
		default:
			d.unknown("graph", num)
		}
	}
	d.tensors, d.tables = len(tensors), len(tables)
	g.Inputs, g.Outputs = d.ids(inputs), d.ids(outputs)
	g.Tensors = decodeAll(&d, tensors, (*decoder).tensor)
	g.Tables = decodeAll(&d, tables, (*decoder).table)
	g.Steps = decodeAll(&d, steps, (*decoder).step)
	return &model.Template{Free: decodeAll(&d, free, (*decoder).free), Graph: g}, d.err
}

// decodeGrain is the number of tensors or steps worth a goroutine.
const decodeGrain = 1 << 9

// decodeAll decodes messages beside each other.
func decodeAll[T any](d *decoder, list []fields, decode func(*decoder, fields) T) []T {
	out := make([]T, len(list))
	var mu sync.Mutex
	first := len(list) // that has an error
	parallel.For(len(list), decodeGrain, func(lo, hi int) {
		own := decoder{tensors: d.tensors, tables: d.tables}
		for i := lo; i < hi; i++ {
			out[i] = decode(&own, list[i])
		}
		if own.err != nil {
			mu.Lock()
			defer mu.Unlock()
			if lo < first && (d.err == nil || first < len(list)) {
				d.err, first = own.err, lo
			}
		}
	})
	return out
}

// room returns an empty list with room for a message and those of its number that follow
// it, and another list as it is.
func room[T any](list []T, m fields, num protowire.Number) []T {
	if len(list) > 0 {
		return list
	}
	return make([]T, 0, 1+m.count(num))
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

func (d *decoder) free(m fields) model.FreeDim {
	var f model.FreeDim
	for len(m) > 0 {
		switch num, v, body := m.next(); num {
		case 1:
			f.Name = string(body)
		case 2:
			f.Bound = d.count(v)
		default:
			d.unknown("free dimension", num)
		}
	}
	return f
}

func (d *decoder) tensor(m fields) model.Tensor {
	t := model.Tensor{Shape: []int{}, Def: []model.Linear{}}
	for len(m) > 0 {
		switch num, v, body := m.next(); num {
		case 1:
			t.Name = string(body)
		case 2:
			t.Shape = d.sizes(body)
		case 3:
			t.Kind = model.Kind(v)
		case 4:
			t.Frac = int(signed(v))
		case 5:
			t.Min = signed(v)
		case 6:
			t.Max = signed(v)
		case 7:
			t.Def = append(room(t.Def, m, num), d.linear(body))
		case 8:
			t.Scales = scales(body)
		case 9:
			t.Fracs = make([]int, 0, body.numbers())
			for len(body) > 0 {
				t.Fracs = append(t.Fracs, int(signed(body.varint())))
			}
		case 10:
			t.Formula = d.formula(body)
		case 11:
			t.Numbers = model.Numbers(v)
		default:
			d.unknown("tensor", num)
		}
	}
	return t
}

func (d *decoder) formula(m fields) *model.Formula {
	f := &model.Formula{}
	for len(m) > 0 {
		switch num, v, _ := m.next(); num {
		case 1:
			f.Kind = model.FormulaKind(v)
		case 2:
			f.Offset = signed(v)
		case 3:
			f.Step = signed(v)
		default:
			d.unknown("formula", num)
		}
	}
	return f
}

func scales(m fields) []model.Scale {
	list := make([]model.Scale, 0, m.numbers())
	for len(m) > 0 {
		list = append(list, model.Scale(m.varint()))
	}
	return list
}

func (d *decoder) linear(m fields) model.Linear {
	l := model.Linear{Src: decodeID[model.TensorID](d, 0, d.tensors)}
	for len(m) > 0 {
		switch num, v, body := m.next(); num {
		case 1:
			l.Coef = signed(v)
		case 2:
			l.Src = decodeID[model.TensorID](d, v, d.tensors)
		case 3:
			l.View = d.view(body)
		default:
			d.unknown("linear", num)
		}
	}
	return l
}

func (d *decoder) view(m fields) *model.View {
	v := &model.View{Groups: []model.Group{}}
	for len(m) > 0 {
		switch num, n, body := m.next(); num {
		case 1:
			v.Groups = append(room(v.Groups, m, num), d.group(body))
		case 2:
			v.Fill = signed(n)
		default:
			d.unknown("view", num)
		}
	}
	return v
}

func (d *decoder) group(m fields) model.Group {
	g := model.Group{Out: []int{}, In: []int{}, Index: []int{}, Sum: []model.SumIndex{}, Ids: decodeID[model.TensorID](d, 0, d.tensors)}
	for len(m) > 0 {
		switch num, v, body := m.next(); num {
		case 1:
			g.Out = d.counts(body)
		case 2:
			g.In = d.counts(body)
		case 3:
			g.Map = model.MapKind(v)
		case 4:
			g.Base = d.signed(v)
		case 5:
			g.Strides = d.ints(body.numbers())
			for i := range g.Strides {
				g.Strides[i] = d.signed(body.varint())
			}
		case 6:
			g.Sum = append(room(g.Sum, m, num), d.sum(body))
		case 7:
			g.Index = d.sizes(body)
			for i := range g.Index {
				g.Index[i]--
			}
		case 8:
			g.BaseScale = model.Scale(v)
		case 9:
			g.Ids = decodeID[model.TensorID](d, v, d.tensors)
		default:
			d.unknown("group", num)
		}
	}
	return g
}

func (d *decoder) sum(m fields) model.SumIndex {
	var s model.SumIndex
	for len(m) > 0 {
		switch num, v, _ := m.next(); num {
		case 1:
			s.Dim = d.size(v)
		case 2:
			s.Stride = d.signed(v)
		case 3:
			s.Scale = model.Scale(v)
		default:
			d.unknown("sum", num)
		}
	}
	return s
}

func (d *decoder) product(m fields) model.Product {
	none := decodeID[model.TensorID](d, 0, d.tensors)
	p := model.Product{A: none, B: none, LabelsA: []int{}, LabelsB: []int{}}
	for len(m) > 0 {
		switch num, v, body := m.next(); num {
		case 1:
			p.Coef = signed(v)
		case 2:
			p.A = decodeID[model.TensorID](d, v, d.tensors)
		case 3:
			p.B = decodeID[model.TensorID](d, v, d.tensors)
		case 4:
			p.LabelsA = d.counts(body)
		case 5:
			p.LabelsB = d.counts(body)
		default:
			d.unknown("product", num)
		}
	}
	return p
}

func (d *decoder) step(m fields) model.Step {
	s := model.Step{Shape: []int{}, Lo: model.None, Table: model.None, Out: model.None, Den: model.None}
	acc := false
	for len(m) > 0 {
		switch num, v, body := m.next(); num {
		case 1:
			s.Kind = model.StepKind(v)
		case 2:
			s.Name = string(body)
		case 3:
			s.Shape = d.sizes(body)
		case 4:
			s.Acc, acc = d.accumulator(body), true
		case 5:
			s.Shift = d.count(v)
		case 6:
			s.Lo = decodeOptional[model.TensorID](d, v, d.tensors)
		case 7:
			s.Table = decodeOptional[model.TableID](d, v, d.tables)
		case 8:
			s.Out = decodeOptional[model.TensorID](d, v, d.tensors)
		case 9:
			s.Den = decodeOptional[model.TensorID](d, v, d.tensors)
		case 10:
			s.Scales = scales(body)
		default:
			d.unknown("step", num)
		}
	}
	if !acc {
		d.fail("a step without accumulator")
	}
	return s
}

func (d *decoder) accumulator(m fields) model.Acc {
	a := model.Acc{Linear: []model.Linear{}, Products: []model.Product{}}
	for len(m) > 0 {
		switch num, v, body := m.next(); num {
		case 1:
			a.Const = signed(v)
		case 2:
			a.Linear = append(room(a.Linear, m, num), d.linear(body))
		case 3:
			a.Products = append(room(a.Products, m, num), d.product(body))
		default:
			d.unknown("accumulator", num)
		}
	}
	return a
}

func (d *decoder) table(m fields) model.Table {
	t := model.Table{Pieces: []model.Piece{}, Values: model.None}
	for len(m) > 0 {
		switch num, v, body := m.next(); num {
		case 1:
			t.Name = string(body)
		case 2:
			t.Kind = model.TableKind(v)
		case 3:
			t.Bits = d.count(v)
		case 4:
			t.Min = signed(v)
		case 5:
			t.Pieces = append(room(t.Pieces, m, num), d.piece(body))
		case 6:
			t.Values = decodeOptional[model.TensorID](d, v, d.tensors)
		case 7:
			t.Saturated = d.rows(body)
		case 8:
			t.Drop = d.count(v)
		default:
			d.unknown("table", num)
		}
	}
	return t
}

// rows decodes intervals: the first row and the end of each.
func (d *decoder) rows(m fields) []model.Rows {
	n := m.numbers()
	if n%2 != 0 {
		d.fail("an interval of rows without an end")
		return nil
	}
	list := make([]model.Rows, n/2)
	for i := range list {
		list[i].From = int64(m.varint())
		list[i].To = int64(m.varint())
	}
	return list
}

func (d *decoder) piece(m fields) model.Piece {
	var p model.Piece
	for len(m) > 0 {
		switch num, v, _ := m.next(); num {
		case 1:
			p.End = signed(v)
		case 2:
			p.Slope = signed(v)
		case 3:
			p.Offset = signed(v)
		default:
			d.unknown("piece", num)
		}
	}
	return p
}

// unknown fails on a field that the schema has and the decoder does not.
func (d *decoder) unknown(what string, num protowire.Number) {
	d.fail("%s: field %d is not read", what, num)
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}

// count converts a number that is far below 2^31 in every valid key and proof.
func (d *decoder) count(v uint64) int {
	if v > math.MaxInt32 {
		d.fail("%d is too large", v)
		return 0
	}
	return int(v)
}

func (d *decoder) counts(m fields) []int {
	out := d.ints(m.numbers())
	for i := range out {
		out[i] = d.count(m.varint())
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

func (d *decoder) sizes(m fields) []int {
	out := d.ints(m.numbers())
	for i := range out {
		out[i] = d.size(m.varint())
	}
	return out
}

// signed converts a stride or a base.
func (d *decoder) signed(v uint64) int {
	n := signed(v)
	if n < -1<<model.MaxVars || n > 1<<model.MaxVars {
		d.fail("%d is too large", n)
		return 0
	}
	return int(n)
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
func decodeOptional[ID ~int32](d *decoder, v uint64, n int) ID {
	if v == 0 {
		return model.None
	}
	return decodeID[ID](d, v-1, n)
}

// ids converts a list of tensors.
func (d *decoder) ids(m fields) []model.TensorID {
	out := make([]model.TensorID, m.numbers())
	for i := range out {
		out[i] = decodeID[model.TensorID](d, m.varint(), d.tensors)
	}
	return out
}
