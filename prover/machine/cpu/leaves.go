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

// leaves builds the numerators and denominators of a LogUp tree. A look-up has the fraction 1/(α − β²·tag − key − β·value),
// where tag is that of its table. A row of a table has the same denominator, with its key and value, and minus its count as
// numerator.
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
	// leafGrain is the number of leaves that are worth a goroutine of their own.
	leafGrain = 1 << 12
	// leafBatch is from how many leaves on the leaves of several steps are made, in parallel. A single step
	// may have too few to keep all cores busy.
	leafBatch = 1 << 20
)

// stepLeaves collects look-up steps whose leaves are made together.
type stepLeaves struct {
	b     *Backend
	beta  field.QM31
	num   []field.M31
	den   []field.QM31
	steps []leafSource
	size  int // number of leaves of these steps
}

// leafSource is what the leaves of a step are made of.
type leafSource struct {
	rows      *leafRows
	keys, out []int32    // out is nil if the look-up has no values
	base      field.QM31 // α − β²·tag
	end       int        // number of leaves of the steps up to this one
}

// add adds a step, and fills the leaves if there are enough.
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

// fill makes the leaves of the steps collected so far, and removes the steps.
func (l *stepLeaves) fill() {
	parallel.For(l.size, leafGrain, func(lo, hi int) {
		first, _ := slices.BinarySearchFunc(l.steps, lo+1, func(x leafSource, at int) int { return x.end - at })
		for i := first; i < len(l.steps); i++ {
			x := &l.steps[i]
			from := x.end - len(x.keys)
			if from >= hi {
				break
			}
			// A row may cross the border between two goroutines: the one with its first leaf makes all of it.
			w := x.rows.width
			for r := (max(lo-from, 0) + w - 1) / w; r < x.rows.count && from+r*w < hi; r++ {
				x.row(r, l.num, l.den, l.beta)
			}
		}
	})
	clear(l.steps)
	l.steps, l.size = l.steps[:0], 0
}

// row makes the leaves of row r of the step. Within a part of the last axis, entries
// are adjacent in the step and in the tree.
func (x *leafSource) row(r int, num []field.M31, den []field.QM31, beta field.QM31) {
	x.rows.each(r, func(src, dst, n int) {
		row(num[dst:dst+n], den[dst:dst+n], x.keys[src:src+n], x.base)
		if x.out != nil {
			field.MulAccInt32Vec(den[dst:dst+n], x.out[src:src+n], beta)
		}
	})
}

// row sets num to ones and den to base − key.
func row(num []field.M31, den []field.QM31, keys []int32, base field.QM31) {
	for n := 0; n < len(num); {
		n += copy(num[n:], ones[:])
	}
	field.SubInt32Vec(den, keys, base)
}

// ones is a run of numerators 1, to be copied.
var ones = func() (v [256]field.M31) {
	for i := range v {
		v[i] = 1
	}
	return v
}()

// leafRows says where the rows of a step's index space, which run along its last axis, lie in
// the tree.
type leafRows struct {
	step         *backend.LeafStep
	lead         []int        // dimensions of all axes but the last
	count, width int          // number of rows, and entries in each
	last         []model.Part // the power-of-two parts into which the last axis is cut
}

// newLeafRows returns the rows of a step of that shape.
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

// each calls f for the runs of a row: the n entries of the step from entry src on are the
// leaves from leaf dst on.
func (r *leafRows) each(row int, f func(src, dst, n int)) {
	// Blocks are numbered row-major by the parts of their axes, so the blocks that a row crosses are consecutive, from number first on.
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

// partOf returns which part of [0, d) contains index i < d, and the number of parts. [0, d) is cut into one
// part for each bit of d that is one, the highest first; the part has the size of the bit.
func partOf(d, i int) (part, parts int) {
	// The highest bit at which i and d differ is one in d, since i < d. Above it they are equal, so i is
	// behind the parts of the bits above, and in the part of this bit.
	high := bits.Len(uint(i ^ d))
	return bits.OnesCount(uint(d >> high)), bits.OnesCount(uint(d))
}

// tableLeaves fills num and den, the leaves of a table: one for each of its rows.
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
