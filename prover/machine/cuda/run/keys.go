package run

import (
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// Where the keys of look-ups come from. Keys that equal a tensor plus a constant are read from the tensor. A
// run keeps all other keys, unless its mode says that keys are recomputed (device.Mode): then the stream that
// wants them computes them from the run's values. If the values of a segment are recomputed, its keys are
// recomputed with them.

// keyTensor returns the tensor id and the constant plus, if the keys of a look-up step are the tensor's entries plus the constant; else
// ok is false.
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

// widthOfKeys returns the bytes that a key of a table takes.
func widthOfKeys(t *model.Table) int { return device.WidthOfRange(t.Min, t.Min+1<<t.Bits-1) }

// looksUp notes where the keys of look-up step i lie, or what makes them. If they lie in memory, it has them counted there (tally), and
// not by the step. It says whether the step has anything else to do; if its keys are a tensor and it has no results, it has not, and is
// left out of the program.
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
	dropped := !isTensor && !k.kept() // the keys are overwritten when the run leaves the segment
	if dropped {
		c.ask(i, k)
	}
	// A segment that keeps its values still drops its keys, after they are counted: streams compute them again.
	if !isTensor && k.At == 0 || dropped && c.segment < c.segments.kept {
		k.makes, k.sums = c.keys(p, x, products)
		k.At = 0
	}
	p.keys[i] = k
	return !isTensor || s.Out != model.None || s.Lo != model.None
}

// keys returns the launches that compute the keys of a look-up alone, and the number of accumulators that its products take in them.
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

// keyColumn is the keys of a look-up step on the device: each key is the tensor's entry plus a constant.
type keyColumn struct {
	*device.Tensor
	plus int64
}

// Offset returns the constant as an element of the field.
func (k *keyColumn) Offset() field.M31 { return field.FromInt64(k.plus) }

// column returns the keys of a look-up step. They stay on the device until DropKeys.
func (b *Stream) column(step int) keyColumn {
	if id, plus, ok := keyTensor(b.Graph, step); ok {
		return keyColumn{b.Tensor(id), plus}
	}
	if b.keys[step] == nil {
		b.keys[step] = b.loadKeys(step)
	}
	return keyColumn{b.keys[step].Tensor, 0}
}

// Columns returns the keys and the results (outs) of a look-up step; the address of outs is 0 if it
// has none. The keys stay on the device until DropKeys.
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
	lent bool // the memory is the run's: DropKeys must not free it
}

// loadKeys returns the keys of a step: where the run has left them, copied from another device, or uploaded from
// the host. Keys of the run are booked as if the stream had allocated them, so that the estimate of its memory does not
// depend on where keys come from.
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

// DropKeys frees the keys of a step, or ends their booking if they are the run's. It does nothing if they are not there.
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
