package cpu

import (
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/parallel"
)

// leaves builds the numerators and denominators of a LogUp tree.
func (b *Backend) leaves(l backend.Leaves) (num []field.M31, den []field.QM31) {
	num = make([]field.M31, l.Size)
	den = make([]field.QM31, l.Size)
	beta := l.Beta.Neg()
	for i := range l.Blocks {
		blk := &l.Blocks[i]
		n, d := num[blk.Offset:][:1<<blk.Bits], den[blk.Offset:][:1<<blk.Bits]
		base := l.Alpha.Sub(l.Beta.Square().MulM31(backend.Tag(blk.Table)))
		if blk.Step < 0 {
			b.tableLeaves(blk, base, beta, n, d)
		} else {
			b.stepLeaves(&b.g.Steps[blk.Step], b.w.StepKeys(blk.Step), base, beta, n, d)
		}
	}
	return num, den
}

const leafGrain = 1 << 12

// stepLeaves fills a block over a lookup step. The padding has the fraction
// 0/base.
func (b *Backend) stepLeaves(st *model.Step, keys []int32, base, beta field.QM31, num []field.M31, den []field.QM31) {
	var out []int32
	if st.Out != model.None {
		out = b.w.Tensor(st.Out)
	}
	// Rows of the last axis are contiguous in both layouts.
	shape := st.Shape
	if len(shape) == 0 {
		shape = []int{1}
	}
	last := len(shape) - 1
	width, padded := shape[last], 1<<model.Log2Ceil(shape[last])
	rows := len(num) / padded
	parallel.For(rows, max(1, leafGrain/padded), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			n, d := num[r*padded:][:padded], den[r*padded:][:padded]
			fill(d, base)
			src, ok := denseRow(shape[:last], r)
			if !ok {
				continue
			}
			row(n[:width], d[:width], keys[src*width:][:width], base)
			if out != nil {
				field.MulAccInt32Vec(d[:width], out[src*width:][:width], beta)
			}
		}
	})
}

func row(num []field.M31, den []field.QM31, keys []int32, base field.QM31) {
	for i, k := range keys {
		num[i] = 1
		den[i] = base.AddM31(field.FromInt32(-k))
	}
}

func fill(t []field.QM31, v field.QM31) {
	for i := range t {
		t[i] = v
	}
}

// denseRow turns the index of a row in the padded layout of the leading axes
// into that in the dense layout; ok is false in the padding.
func denseRow(shape []int, r int) (src int, ok bool) {
	stride := 1
	for a := len(shape) - 1; a >= 0; a-- {
		v := model.Log2Ceil(shape[a])
		i := r & (1<<v - 1)
		r >>= v
		if i >= shape[a] {
			return 0, false
		}
		src += i * stride
		stride *= shape[a]
	}
	return src, true
}

// tableLeaves fills a block over a table.
func (b *Backend) tableLeaves(blk *backend.LeafBlock, base, beta field.QM31, num []field.M31, den []field.QM31) {
	t := &b.g.Tables[blk.Table]
	mult := b.w.Tensor(blk.Mult)
	var values []int32
	if t.Kind == model.TableFunc {
		values = b.w.Tensor(t.Values)
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
