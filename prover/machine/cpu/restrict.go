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

// restrict binds axes of a dense integer tensor in one pass over it, without a padded
// copy. A table of eq weights over all indexes of several axes is made only for bound axes at
// the end of the shape. The result is in the arena's memory.
func restrict(a *arena.Arena, shape []int, data ints.Ints, r backend.Restriction) []field.QM31 {
	return arrange(a, restrictDense(a, shape, data, r.Bound), shape, slices.Sorted(slices.Values(r.Keep)), r.Keep)
}

// restrictColumns is the most columns that a task works on, so that their sums stay in the first-level cache.
const restrictColumns = 1024

// restrictTasks is the fewest tasks into which a large restriction is divided.
const restrictTasks = 8

// restrictDense returns the restriction as a dense table over the kept axes, in the order of the shape and not padded.
func restrictDense(a *arena.Arena, shape []int, data ints.Ints, bound [][]field.QM31) []field.QM31 {
	// The last axes that are all kept, or all bound, form a run of adjacent entries.
	split := len(shape)
	for split > 0 && (bound[split-1] == nil) == (bound[len(shape)-1] == nil) {
		split--
	}
	lead := splitLead(shape, bound, split)
	run := model.Size(shape[split:])
	if len(shape) == 0 || bound[len(shape)-1] != nil {
		return lead.boundRuns(a, data, run, poly.OuterEq(shape[split:], bound[split:]))
	}
	return lead.keptRuns(a, data, run)
}

// boundRuns returns the restriction if runs are bound, with the weights w: an entry for each index of the kept axes, all of which lead.
func (l *leading) boundRuns(a *arena.Arena, data ints.Ints, run int, w []field.QM31) []field.QM31 {
	out := arena.Make[field.QM31](a, len(l.kept))
	parallel.For(len(out), max(1, (1<<14)/(run*len(l.bound))), func(lo, hi int) {
		var buf []int32
		for i := lo; i < hi; i++ {
			sum := field.Zero
			for j, off := range l.bound {
				sum = sum.Add(l.weight[j].Mul(dot(data, l.kept[i]+off, w, &buf)))
			}
			out[i] = sum
		}
	})
	return out
}

// keptRuns returns the restriction if runs are kept: a run of entries for each index of the leading kept axes, which is a weighted sum of
// runs of the tensor.
func (l *leading) keptRuns(a *arena.Arena, data ints.Ints, run int) []field.QM31 {
	out := arena.Make[field.QM31](a, len(l.kept)*run)
	pieces := (run + restrictColumns - 1) / restrictColumns
	tasks := len(l.kept) * pieces
	// add sets a task's part of a table, a piece of the columns, to its sums over the bound indexes [from, to).
	add := func(table []field.QM31, task, from, to int, buf *[]int32) {
		i, c := task/pieces, task%pieces*restrictColumns
		sums := table[i*run+c:][:min(restrictColumns, run-c)]
		clear(sums)
		for j := from; j < to; j++ {
			at := l.kept[i] + l.bound[j] + c
			field.MulAccInt32Vec(sums, ints.Part(data, at, at+len(sums), buf), l.weight[j])
		}
	}
	grain := max(1, (1<<14)/(min(run, restrictColumns)*len(l.bound)))
	if tasks >= restrictTasks || grain > 1 {
		parallel.For(tasks, grain, func(lo, hi int) {
			var buf []int32
			for t := lo; t < hi; t++ {
				add(out, t, 0, len(l.bound), &buf)
			}
		})
		return out
	}
	// Few columns and many bound indexes: divide the bound indexes into groups, each with a table of its own, and add up the tables.
	groups := min((restrictTasks+tasks-1)/tasks, len(l.bound))
	tables := make([]field.QM31, groups*len(out))
	parallel.For(tasks*groups, 1, func(lo, hi int) {
		var buf []int32
		for t := lo; t < hi; t++ {
			g := t / tasks
			add(tables[g*len(out):][:len(out)], t%tasks, g*len(l.bound)/groups, (g+1)*len(l.bound)/groups, &buf)
		}
	})
	copy(out, tables)
	for g := 1; g < groups; g++ {
		field.AddQM31Vec(out, out, tables[g*len(out):(g+1)*len(out)])
	}
	return out
}

// dot returns Σ data[at+i]·w[i], reading narrow data a part at a time.
func dot(data ints.Ints, at int, w []field.QM31, buf *[]int32) field.QM31 {
	sum := field.Zero
	for len(w) > 0 {
		n := min(len(w), 4*restrictColumns)
		sum = sum.Add(field.DotInt32(ints.Part(data, at, at+n, buf), w[:n]))
		at, w = at+n, w[n:]
	}
	return sum
}

// leading lists the offsets in the tensor of all indexes of the leading kept axes, and of all
// indexes of the leading bound axes, the latter with their eq weights.
type leading struct {
	kept, bound []int
	weight      []field.QM31 // by index in bound
}

// splitLead returns the leading axes, those before axis split.
func splitLead(shape []int, bound [][]field.QM31, split int) leading {
	l := leading{kept: []int{0}, bound: []int{0}, weight: []field.QM31{field.One}}
	for a := range split {
		stride := model.Size(shape[a+1:])
		if bound[a] == nil {
			l.kept = extend(l.kept, shape[a], stride)
			continue
		}
		l.bound = extend(l.bound, shape[a], stride)
		l.weight = poly.Outer(l.weight, poly.EqTable(bound[a])[:shape[a]])
	}
	return l
}

// extend returns the offsets with one more axis: each offset plus i·stride, for all i below dim.
func extend(offsets []int, dim, stride int) []int {
	next := make([]int, 0, len(offsets)*dim)
	for _, o := range offsets {
		for i := range dim {
			next = append(next, o+i*stride)
		}
	}
	return next
}

// arrange returns table t with every kept axis padded to a power of two, and with the axes, which
// are in ascending order (kept), put into the order want. It frees t unless t is already the result.
func arrange(a *arena.Arena, t []field.QM31, shape, kept, want []int) []field.QM31 {
	// Bit position of each axis in the padded result.
	shift, vars := map[int]int{}, 0
	for _, axis := range slices.Backward(want) {
		shift[axis] = vars
		vars += model.Log2Ceil(shape[axis])
	}
	same := slices.Equal(kept, want)
	if same && len(t) == 1<<vars {
		return t
	}
	defer arena.Free(a, t)
	out := arena.Zeros[field.QM31](a, 1<<vars)
	if same {
		dims := make([]int, len(kept))
		for i, axis := range kept {
			dims[i] = shape[axis]
		}
		poly.PadInto(out, t, dims)
		return out
	}
	for i, v := range t {
		at, rest := 0, i
		for j := len(kept) - 1; j >= 0; j-- {
			d := shape[kept[j]]
			at |= rest % d << shift[kept[j]]
			rest /= d
		}
		out[at] = v
	}
	return out
}
