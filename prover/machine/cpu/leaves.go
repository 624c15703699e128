package cpu

import (
	"math/bits"
	"slices"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/arena"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// leaves builds the numerators and denominators of a LogUp tree.
func (b *Backend) leaves(l backend.Leaves) (num []field.M31, den []field.QM31) {
	num = arena.Make[field.M31](b.a, l.Size)
	den = arena.Make[field.QM31](b.a, l.Size)
	beta := l.Beta.Neg()
	base := func(t model.TableID) field.QM31 { return l.Alpha.Sub(l.Beta.Square().MulM31(backend.Tag(t))) }
	steps := &stepLeaves{b: b, beta: beta, num: num, den: den}
	for i := range l.Steps {
		steps.add(&l.Steps[i], base(l.Steps[i].Table))
	}
	steps.fill()
	parallel.For(len(l.Tables), 1, func(lo, hi int) {
		for i := range l.Tables[lo:hi] {
			t := &l.Tables[lo+i]
			at, n := t.Block.Offset, 1<<t.Block.Bits
			b.tableLeaves(t, base(t.Table), beta, num[at:at+n], den[at:at+n])
		}
	})
	return num, den
}

const (
	leafGrain = 1 << 12
	// leafBatch is how many leaves of steps are made at once, at least: a step may have few rows,
	// which leave cores idle.
	leafBatch = 1 << 20
)

// stepLeaves are look-up steps whose leaves are made at once.
type stepLeaves struct {
	b     *Backend
	beta  field.QM31
	num   []field.M31
	den   []field.QM31
	steps []leafSource
	size  int // leaves
}

// leafSource is what the leaves of a step are made of.
type leafSource struct {
	rows      *leafRows
	keys, out []int32 // out is nil if it is not looked up
	base      field.QM31
	end       int // leaves of the steps up to this one
}

// add adds a step.
func (l *stepLeaves) add(s *backend.LeafStep, base field.QM31) {
	st := &l.b.g.Steps[s.Step]
	x := leafSource{rows: newLeafRows(s, st.Shape), keys: l.b.w.StepKeys(s.Step), base: base}
	if st.Out != model.None {
		x.out = l.b.w.Tensor(st.Out)
	}
	l.size += len(x.keys)
	x.end = l.size
	if l.steps = append(l.steps, x); l.size >= leafBatch {
		l.fill()
	}
}

// fill fills the blocks of the steps, and forgets these.
func (l *stepLeaves) fill() {
	parallel.For(l.size, leafGrain, func(lo, hi int) {
		first, _ := slices.BinarySearchFunc(l.steps, lo+1, func(x leafSource, at int) int { return x.end - at })
		for i := first; i < len(l.steps); i++ {
			x := &l.steps[i]
			from := x.end - len(x.keys)
			if from >= hi {
				break
			}
			// A row is made where it begins.
			w := x.rows.width
			for r := (max(lo-from, 0) + w - 1) / w; r < x.rows.count && from+r*w < hi; r++ {
				x.row(r, l.num, l.den, l.beta)
			}
		}
	})
	clear(l.steps)
	l.steps, l.size = l.steps[:0], 0
}

// row makes the leaves of a row of the step. Where it meets a part of the last axis, entries
// lie next to each other in the step and in the tree.
func (x *leafSource) row(r int, num []field.M31, den []field.QM31, beta field.QM31) {
	x.rows.each(r, func(src, dst, n int) {
		row(num[dst:dst+n], den[dst:dst+n], x.keys[src:src+n], x.base)
		if x.out != nil {
			field.MulAccInt32Vec(den[dst:dst+n], x.out[src:src+n], beta)
		}
	})
}

// row makes the fractions 1/(base − key).
func row(num []field.M31, den []field.QM31, keys []int32, base field.QM31) {
	for n := 0; n < len(num); {
		n += copy(num[n:], ones[:])
	}
	field.SubInt32Vec(den, keys, base)
}

// ones are numerators.
var ones = func() (v [256]field.M31) {
	for i := range v {
		v[i] = 1
	}
	return v
}()

// leafRows says where the rows of a step's index space, along its last axis, are in
// the tree.
type leafRows struct {
	step         *backend.LeafStep
	lead         []int // the axes but the last
	count, width int
	last         []model.Part
}

func newLeafRows(s *backend.LeafStep, shape []int) *leafRows {
	if len(shape) == 0 {
		return &leafRows{step: s, count: 1, width: 1, last: []model.Part{{}}}
	}
	n := len(shape) - 1
	r := &leafRows{step: s, lead: shape[:n], count: model.Size(shape[:n]), width: shape[n]}
	for _, parts := range model.Cut(shape[n:]) {
		r.last = append(r.last, parts[0])
	}
	return r
}

// each calls f for the runs of row r: n entries from src on, in the step, are the
// leaves from dst on.
func (r *leafRows) each(row int, f func(src, dst, n int)) {
	// The blocks that the row crosses are next to each other in their order.
	first, stride := 0, len(r.last)
	index := make([]int, len(r.lead))
	rest := row
	for a := len(r.lead) - 1; a >= 0; a-- {
		index[a] = rest % r.lead[a]
		rest /= r.lead[a]
		part, parts := partOf(r.lead[a], index[a])
		first += part * stride
		stride *= parts
	}
	for p, last := range r.last {
		b := &r.step.Blocks[first+p]
		dst, shift := b.Offset, last.Bits
		for a := len(r.lead) - 1; a >= 0; a-- {
			dst += (index[a] - b.Parts[a].Start) << shift
			shift += b.Parts[a].Bits
		}
		f(row*r.width+last.Start, dst, 1<<last.Bits)
	}
}

// partOf returns the number of the part of [0, d) that index i is in, and the number
// of parts.
func partOf(d, i int) (part, parts int) {
	// The part of a bit of d begins where the bits above it end; i is in that of the
	// highest bit at which i and d differ.
	high := bits.Len(uint(i ^ d)) // which is one in d, since i < d
	return bits.OnesCount(uint(d >> high)), bits.OnesCount(uint(d))
}

// tableLeaves fills the block of a table.
func (b *Backend) tableLeaves(lt *backend.LeafTable, base, beta field.QM31, num []field.M31, den []field.QM31) {
	t := &b.g.Tables[lt.Table]
	mult := b.w.Tensor(lt.Mult)
	var values []int32
	if t.Kind == model.TableFunc {
		values = ints.All(b.w.Fixed(t.Values))
	}
	parallel.For(len(num), leafGrain, func(lo, hi int) {
		column := make([]field.M31, hi-lo)
		for i := lo; i < hi; i++ {
			k := t.Min + int64(i)
			num[i] = field.FromInt32(-mult[i])
			den[i] = base.AddM31(field.FromInt64(-k))
			column[i-lo] = field.FromInt64(t.Value(k, values))
		}
		if t.Kind != model.TableRange {
			field.MulAccVec(den[lo:hi], column, beta)
		}
	})
}
