package run

import (
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/forward"
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

// keyPlace says where the keys of a step are in a run.
type keyPlace struct {
	slot           // at 0 where they are not kept
	plus  int64    // on what is there
	again []launch // what makes keys that are not kept
	sums  int      // accumulators that they take
}

// keys notes where the keys of a look-up are, and how they are recomputed: with its products, in
// room of their own.
func (c *compiler) keys(p *part, i int, x *kernels.Step, products []multiplication) {
	k := keyPlace{slot: slot{x.Keys.Integers, x.N, c.segment}}
	// Of a segment that keeps its values the keys are there until they are counted.
	counted := !k.kept() && c.segment < c.segments.kept
	if id, plus, ok := keyTensor(c.g, i); ok {
		k.slot, k.plus = p.tensors[id], plus
	} else if x.Keys.At == 0 || counted {
		k.At = 0
		alone := *x
		alone.Keys.At = 0
		if len(products) > 0 {
			alone.Acc, k.sums = kernels.AccOfLaunch, x.N
			k.again = append(k.again, func(w *work) error { return w.dev.Clear(w.acc, 8*x.N) })
			k.again = append(k.again, multiplied(products, make([]int, len(products)))...)
		}
		l, err := p.records.Add(kernels.Chain{&alone})
		if err != nil {
			device.Check(errNot)
		}
		k.again = append(k.again, func(w *work) error { return kernels.MakeKeys(w.dev, w.keys, l, w.bases, w.acc) })
		k.segment = c.segment
	}
	p.keys[i] = k
}

// ofKeys says where a part has the keys of a step, if it keeps them.
func ofKeys(step int) func(*part) (slot, bool) {
	return func(p *part) (slot, bool) {
		k, ok := p.keys[step]
		return k.slot, ok && k.again == nil
	}
}

// KeptKeys returns the keys of a step that the run has on a machine, less a constant, nil if it does not keep them.
func (r *Run) KeptKeys(m *device.Context, step int) *device.Tensor { return r.find(m, ofKeys(step)) }

// ranOn returns the part where a look-up step was run.
func (r *Run) ranOn(step int) *part {
	for _, p := range r.parts {
		if _, ok := p.keys[step]; ok {
			return p
		}
	}
	return nil
}

// makeKeys makes the keys of a step that are not kept again, through a queue of the part's
// machine, with the memory of its segment if the run does not keep all values.
func (r *Run) makeKeys(dev kernels.Device, p *part, step int, again kernels.Ptr) (_ *device.Tensor, err error) {
	k := p.keys[step]
	a := device.NewScope(dev)
	defer a.Close()
	t := &device.Tensor{Len: k.n, Width: k.Width}
	if t.Ptr, err = dev.Alloc(k.n * k.Width); err != nil {
		return nil, err
	}
	made := false
	defer func() {
		if !made {
			t.Free(dev)
		}
	}()
	w := &work{bases: r.bases(p), keys: t.Ptr}
	w.bases.Again = again
	if err := w.do(a, k.sums, k.again); err != nil {
		return nil, err
	}
	made = true
	return t, nil
}

// do makes launches through a queue, with so many accumulators for their products.
func (w *work) do(a *device.Scope, sums int, all []launch) (err error) {
	w.dev = a
	if sums > 0 {
		if w.acc, err = a.Alloc(8 * sums); err != nil {
			return err
		}
	}
	for _, l := range all {
		if err := l(w); err != nil {
			return err
		}
	}
	return nil
}

// withKeys calls f with the keys of a step on the part where it was run, less a constant that
// the part has.
func (r *Run) withKeys(p *part, step int, f func(t *device.Tensor) error) error {
	k := p.keys[step]
	if k.again == nil {
		return r.with(p, &k.slot, f)
	}
	return r.inSegment(p, k.segment, func(again kernels.Ptr) error {
		t, err := r.makeKeys(p.m.Dev, p, step, again)
		if err != nil {
			return err
		}
		defer t.Free(p.m.Dev)
		return f(t)
	})
}

// bringKeys returns the keys of a step, which are not a tensor, in memory of a stream of m:
// made there, or copied from another machine. It returns nil if none can give them. in returns
// the memory of a segment.
func (r *Run) bringKeys(dev kernels.Device, m *device.Context, step int, in func(segment int) (kernels.Ptr, error)) (t *device.Tensor, err error) {
	p := r.ranOn(step)
	if p == nil {
		return nil, nil
	}
	if k := p.keys[step]; p.m == m && k.again != nil {
		again, err := in(k.segment)
		if err != nil {
			return nil, err
		}
		return r.makeKeys(dev, p, step, again)
	}
	if p.keys[step].again == nil {
		return r.bring(dev, ofKeys(step))
	}
	failed := r.withKeys(p, step, func(there *device.Tensor) error {
		if err := p.m.Dev.Sync(); err != nil {
			return err
		}
		t, err = device.Copied(dev, there, p.m.Dev)
		return nil
	})
	if failed != nil { // the other machine's: the host looks for them
		return nil, nil
	}
	return t, err
}

// Keys implements forward.Kept.
func (r *Run) Keys(step int) (keys []int32, err error) {
	p := r.ranOn(step)
	if p == nil {
		return nil, nil
	}
	k := p.keys[step]
	if k.again == nil {
		keys, err = r.values(func(x *part) (slot, bool) { return k.slot, x == p })
	} else {
		err = r.withKeys(p, step, func(t *device.Tensor) error {
			keys, err = p.download(t)
			return err
		})
	}
	if k.plus != 0 {
		for i := range keys {
			keys[i] += int32(k.plus)
		}
	}
	return keys, err
}

// Count implements forward.Kept. Of keys that are not kept the multiplicities say most.
func (r *Run) Count(questions []forward.KeyRange) ([]int, error) {
	counts := make([]int, len(questions))
	kept, again := map[*part][]int{}, map[int][]int{} // questions, by part and by step
	var steps []int                                   // that must be recomputed
	rows := map[model.TensorID][]int32{}
	for i, q := range questions {
		p := r.ranOn(q.Step)
		if p == nil {
			return nil, fmt.Errorf("cuda: a question about step %d, which has no keys", q.Step)
		}
		if k := p.keys[q.Step]; k.again == nil && k.kept() {
			kept[p] = append(kept[p], i)
			continue
		}
		if n, ok := r.answered(p, q); ok {
			counts[i] = n
			continue
		}
		n, ok, err := r.counted(q, rows)
		if err != nil {
			return nil, err
		}
		if counts[i] = n; !ok {
			if again[q.Step] == nil {
				steps = append(steps, q.Step)
			}
			again[q.Step] = append(again[q.Step], i)
		}
	}
	for p, list := range kept {
		asked := make([]kernels.KeyCount, len(list))
		for n, i := range list {
			k := p.keys[questions[i].Step]
			asked[n] = keyCount(r.tensorAt(p, &k.slot, 0), questions[i], k.plus)
		}
		if err := p.ask(asked, list, counts); err != nil {
			return nil, err
		}
	}
	slices.Sort(steps)
	for _, step := range steps {
		p, list := r.ranOn(step), again[step]
		err := r.withKeys(p, step, func(t *device.Tensor) error {
			asked := make([]kernels.KeyCount, len(list))
			for n, i := range list {
				asked[n] = keyCount(t, questions[i], p.keys[step].plus)
			}
			return p.ask(asked, list, counts)
		})
		if err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// counted answers a question by the multiplicities of the step's table in its chunk, where there
// is no other step that they count, or nothing in the range. It keeps them in rows.
func (r *Run) counted(q forward.KeyRange, rows map[model.TensorID][]int32) (n int, ok bool, err error) {
	s := &r.g.Steps[q.Step]
	for _, m := range r.g.Mults {
		if m.Chunk != s.Chunk || m.Table != s.Table {
			continue
		}
		if rows[m.Tensor] == nil {
			if rows[m.Tensor], err = r.Tensor(m.Tensor); err != nil {
				return 0, false, err
			}
		}
		least := r.g.Tables[s.Table].Min
		all := rows[m.Tensor]
		for row := max(0, q.Min-least); row < int64(len(all)) && row <= q.Max-least; row++ {
			n += int(all[row])
		}
		users := 0
		for i := range r.g.Steps {
			if x := &r.g.Steps[i]; x.Kind == model.StepLookup && x.Chunk == s.Chunk && x.Table == s.Table {
				users++
			}
		}
		return n, n == 0 || users == 1, nil
	}
	return 0, false, nil
}

// ask answers questions about keys on a part's machine: those of these numbers.
func (p *part) ask(questions []kernels.KeyCount, numbers, counts []int) error {
	for from := 0; from < len(questions); from += mostQuestions {
		some := questions[from:min(from+mostQuestions, len(questions))]
		most := 1
		for _, q := range some {
			most = max(most, int(q.N))
		}
		found, err := countKeys(device.NewScope(p.m.Dev), some, most)
		if err != nil {
			return err
		}
		for i, n := range found {
			counts[numbers[from+i]] = int(n)
		}
	}
	return nil
}

// keyCount asks a question about keys, of which t has what is left without plus.
func keyCount(t *device.Tensor, q forward.KeyRange, plus int64) kernels.KeyCount {
	return kernels.KeyCount{Keys: t.Ptr, Width: uint64(t.Width), N: uint64(t.Len), Min: q.Min - plus, Max: q.Max - plus}
}

// mostQuestions is how many are asked at once.
const mostQuestions = 1 << 12

func countKeys(a *device.Scope, questions []kernels.KeyCount, most int) (counts []uint64, err error) {
	defer a.Close()
	defer device.Catch(&err)
	list, sums := device.NewCopy(a, questions), device.NewWords(a, len(questions))
	device.Check(kernels.CountKeys(a, sums, list, len(questions), most))
	return device.Fetch[uint64](a, sums, len(questions)), nil
}

// keyColumn are the keys of a look-up step on the device, less a constant.
type keyColumn struct {
	kernels.Integers
	plus int64
}

// Offset returns the constant as an element of the field.
func (k *keyColumn) Offset() field.M31 { return field.FromInt64(k.plus) }

// Columns returns the keys and outs of a look-up step, outs at address 0 if it has
// none. The keys stay on the device until they are dropped.
func (b *Stream) Columns(step int) (keys keyColumn, outs kernels.Integers) {
	if id, plus, ok := keyTensor(b.Graph, step); ok {
		keys = keyColumn{b.Tensor(id).Integers(), plus}
	} else {
		t, ok := b.keys[step]
		if !ok {
			t = b.loadKeys(step)
			b.keys[step] = t
		}
		keys.Integers = t.Integers()
	}
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
	if b.Run != nil {
		if t := b.ofRun(ofKeys(step)); t != nil {
			b.Dev.Book(t.Len * t.Width)
			return &stepKeys{t, true}
		}
		t, err := b.Run.bringKeys(b.Dev, b.Context, step, b.segment)
		device.Check(err)
		if t != nil {
			return &stepKeys{t, false}
		}
	}
	t, err := device.NewTensor(b.Dev, ints.Int32s(b.Witness.StepKeys(step)))
	device.Check(err)
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
