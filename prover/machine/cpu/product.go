package cpu

import (
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/arena"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// factor is an operand of a product that defines a tensor.
type factor struct {
	data   ints.Ints
	shape  []int
	labels []int // by axis of the operand: the axis of the tensor
}

// restrictProduct is restrict for a tensor of that shape which is defined as a product, Z[…] = by[…]·x[…]. It goes through the
// entries of by that are not 0. Such an entry fixes the indexes of by's axes. It adds the entries of x at these indexes, times
// itself and the eq weights of all bound axes, to the entries of the table at these indexes. Entries of by that are 0 take no
// time. The result is in the arena's memory.
func restrictProduct(a *arena.Arena, shape []int, by, x factor, r backend.Restriction) []field.QM31 {
	var kept []int
	size := 1
	for i, d := range shape {
		if r.Bound[i] == nil {
			kept, size = append(kept, i), size*d
		}
	}
	to := map[int]int{} // stride of a kept axis in the dense table
	for i, n := len(kept)-1, 1; i >= 0; i-- {
		to[kept[i]], n = n, n*shape[kept[i]]
	}
	eq := func(axis int) []field.QM31 {
		if r.Bound[axis] == nil {
			return nil
		}
		return poly.EqTable(r.Bound[axis])
	}
	own := ownAxes(by, x, to, eq)
	dense := arena.Zeros[field.QM31](a, size)
	list := picksOf(by, x, to, eq)
	// No two tasks write to the same entry of the table: a task is the picks of one place, and one part of the run that x has there.
	parallel.For(len(list)*own.parts(), max(1, (1<<12)/own.work()), func(lo, hi int) {
		var buf []int32
		for t := lo; t < hi; t++ {
			own.add(dense, x.data, list[t/own.parts()], t%own.parts(), &buf)
		}
	})
	return arrange(a, dense, shape, kept, r.Keep)
}

// pick is an entry of by that is not 0.
type pick struct {
	at     int        // offset in x of the entries that it multiplies
	weight field.QM31 // the entry times the eq weights of by's bound axes
}

// placed is the picks that add to the same entries of the table, from offset to on.
type placed struct {
	to    int
	picks []pick
}

// picksOf lists the entries of by that are not 0, grouped by where they add in the table. to has the strides of kept axes in the
// table, and eq returns the weights of a bound axis, nil for a kept one.
func picksOf(by, x factor, to map[int]int, eq func(axis int) []field.QM31) []placed {
	tables := make([][]field.QM31, len(by.labels))
	strides := make([]int, len(by.labels)) // in x
	for i, l := range by.labels {
		tables[i] = eq(l)
		if at := slices.Index(x.labels, l); at >= 0 {
			strides[i] = model.Size(x.shape[at+1:])
		}
	}
	found := map[int]int{} // by offset in the table: index in list
	var list []placed
	index := make([]int, len(by.shape))
	for _, v := range ints.All(by.data) {
		if v != 0 {
			p, place := pick{weight: field.FromM31(field.FromInt64(int64(v)))}, 0
			for i, at := range index {
				p.at += at * strides[i]
				if tables[i] != nil {
					p.weight = p.weight.Mul(tables[i][at])
				} else {
					place += at * to[by.labels[i]]
				}
			}
			k, ok := found[place]
			if !ok {
				k = len(list)
				found[place] = k
				list = append(list, placed{to: place})
			}
			list[k].picks = append(list[k].picks, p)
		}
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < by.shape[i] {
				break
			}
			index[i] = 0
		}
	}
	return list
}

// own describes the axes that x has and by has not. For each index of them it lists the offset in x (at), the offset in the table
// (to), and the eq weight. If the last axis of x is kept and is the last axis of the table, it is not listed: it is a run of
// adjacent entries in both.
type own struct {
	at, to []int
	weight []field.QM31
	run    int // length of the run, 1 if there is none
}

// ownColumns is the most entries of a run that one task adds to.
const ownColumns = restrictColumns

// ownAxes returns the axes that x has and by has not; to and eq are as in picksOf.
func ownAxes(by, x factor, to map[int]int, eq func(axis int) []field.QM31) *own {
	o := &own{at: []int{0}, to: []int{0}, weight: []field.QM31{field.One}, run: 1}
	last := len(x.labels) - 1
	runs := last >= 0 && !slices.Contains(by.labels, x.labels[last]) && eq(x.labels[last]) == nil && to[x.labels[last]] == 1
	if runs {
		o.run = x.shape[last]
	}
	for i, l := range x.labels {
		if slices.Contains(by.labels, l) || i == last && runs {
			continue
		}
		weights, stride := eq(l), model.Size(x.shape[i+1:])
		var at, places []int
		var product []field.QM31
		for j := range o.at {
			for k := range x.shape[i] {
				w, place := o.weight[j], o.to[j]
				if weights != nil {
					w = w.Mul(weights[k])
				} else {
					place += k * to[l]
				}
				at, places, product = append(at, o.at[j]+k*stride), append(places, place), append(product, w)
			}
		}
		o.at, o.to, o.weight = at, places, product
	}
	return o
}

// parts is the number of parts into which a run is divided; work is about how many products one part takes for a pick.
func (o *own) parts() int { return (o.run + ownColumns - 1) / ownColumns }
func (o *own) work() int  { return min(o.run, ownColumns) * len(o.at) }

// add adds the products of the picks with one part of the runs of x to the dense table.
func (o *own) add(dense []field.QM31, x ints.Ints, p placed, part int, buf *[]int32) {
	from := part * ownColumns
	n := min(ownColumns, o.run-from)
	for _, k := range p.picks {
		for j, at := range o.at {
			w := k.weight
			if o.weight[j] != field.One {
				w = w.Mul(o.weight[j])
			}
			first := k.at + at + from
			field.MulAccInt32Vec(dense[p.to+o.to[j]+from:][:n], ints.Part(x, first, first+n, buf), w)
		}
	}
}
