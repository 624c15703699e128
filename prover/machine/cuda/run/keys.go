package run

import (
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// Where the keys of look-ups come from. Those that are a tensor, but for a constant, are read
// there. A run keeps the others unless its mode says that keys are recomputed (device.Mode): then the stream
// that wants them computes them from the run's values. Those of a segment whose values are recomputed are made with these.

// KeyTensor returns the tensor that the keys of a look-up step are, less a constant, if there
// is one.
func keyTensor(g *model.Graph, step int) (id model.TensorID, plus int64, ok bool) {
	s := &g.Steps[step]
	if s.Shift != 0 || len(s.Acc.Products) > 0 || len(s.Acc.Linear) != 1 {
		return model.None, 0, false
	}
	l := &s.Acc.Linear[0]
	t := &g.Tensors[l.Src]
	if l.Coef != 1 || l.View != nil || t.Kind != model.Witness && t.Kind != model.Input || !slices.Equal(t.Shape, s.Shape) {
		return model.None, 0, false
	}
	return l.Src, s.Acc.Const, true
}

// WidthOfKeys returns the bytes of a key of a table.
func widthOfKeys(t *model.Table) int { return device.WidthOfRange(t.Min, t.Min+1<<t.Bits-1) }

// looksUp notes where the keys of look-up i are, or what makes them, and has them counted where they lie. It says whether there is
// more to the step: a tensor that only has to have rows in a table is none then.
func (c *compiler) looksUp(p *part, i int, x *kernels.Step, products []multiplication) bool {
	s, k := &c.g.Steps[i], slot{Integers: x.Keys.Integers, n: x.N, segment: c.segment}
	id, plus, isTensor := keyTensor(c.g, i)
	if isTensor {
		k = p.tensors[id]
		k.plus = plus
	}
	if k.At != 0 {
		c.schedule.tally(x.Table, x.Counts, kernels.TallyKeys{Integers: k.Integers, N: x.N, Plus: plus})
		x.Counts = 0
	}
	dropped := !isTensor && !k.kept() // when the run leaves the segment
	if dropped {
		c.ask(i, k)
	}
	// Of a segment that keeps its values the keys are there until they are counted.
	if !isTensor && k.At == 0 || dropped && c.segment < c.segments.kept {
		k.makes, k.sums = c.keys(p, x, products)
		k.At = 0
	}
	p.keys[i] = k
	return !isTensor || s.Out != model.None || s.Lo != model.None
}

// keys returns what makes the keys of a look-up: with its products, in so many accumulators of their own.
func (c *compiler) keys(p *part, x *kernels.Step, products []multiplication) (all []launch, sums int) {
	alone := *x
	alone.Keys.At = 0
	if len(products) > 0 {
		alone.Acc, sums = kernels.AccOfLaunch, x.N
		all = append(all, func(w *work) error { return w.dev.Clear(w.acc, 8*x.N) })
		all = append(all, multiplied(products)...)
	}
	l := recorded(p.records.Add(kernels.Chain{&alone}))
	return append(all, func(w *work) error { return kernels.MakeKeys(w.dev, w.keys, l, &w.bases, w.acc) }), sums
}

// keyColumn are the keys of a look-up step on the device, less a constant.
type keyColumn struct {
	*device.Tensor
	plus int64
}

// Offset returns the constant as an element of the field.
func (k *keyColumn) Offset() field.M31 { return field.FromInt64(k.plus) }

// column returns the keys of a look-up step, which stay on the device until they are dropped.
func (b *Stream) column(step int) keyColumn {
	if id, plus, ok := keyTensor(b.Graph, step); ok {
		return keyColumn{b.Tensor(id), plus}
	}
	if b.keys[step] == nil {
		b.keys[step] = b.loadKeys(step)
	}
	return keyColumn{b.keys[step].Tensor, 0}
}

// Columns returns the keys and outs of a look-up step, outs at address 0 if it has
// none. The keys stay on the device until they are dropped.
func (b *Stream) Columns(step int) (keys keyColumn, outs kernels.Integers) {
	keys = b.column(step)
	if out := b.Graph.Steps[step].Out; out != model.None {
		outs = b.Tensor(out).Integers()
	}
	return keys, outs
}

// stepKeys are the keys of a look-up step on the device.
type stepKeys struct {
	*device.Tensor
	lent bool // they are the run's
}

// loadKeys returns the keys of a step. Those that a run has left here are counted as if
// they were the stream's, so that what it takes does not depend on where they come from.
func (b *Stream) loadKeys(step int) *stepKeys {
	t, own := b.here(ofKeys(step))
	if t != nil && !own {
		b.Dev.Book(t.Len * t.Width)
		return &stepKeys{t, true}
	}
	if t == nil && b.Run != nil {
		t = device.Get(b.Run.bring(b.Dev, ofKeys(step)))
	}
	if t == nil {
		t = device.Get(device.NewTensor(b.Dev, ints.Int32s(b.Witness.StepKeys(step))))
	}
	return &stepKeys{t, false}
}

// DropKeys gives the keys of a step back, if they are there.
func (b *Stream) DropKeys(step int) {
	if t, ok := b.keys[step]; ok {
		if t.lent {
			b.Dev.Book(-t.Len * t.Width)
		} else {
			t.Free(b.Dev)
		}
		delete(b.keys, step)
	}
}
