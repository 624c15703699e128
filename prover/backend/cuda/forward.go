package cuda

import (
	"errors"
	"math/bits"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/forward"
	"github.com/prove-model/prove-model/prover/ints"
	"github.com/prove-model/prove-model/prover/model"
)

var _ forward.Machine = (*Machine)(nil)

// LookUp implements forward.Machine for steps whose products are batches of
// matrix products. Weights become resident; everything else comes and goes
// with the step.
func (m *Machine) LookUp(t *forward.Task) (done bool, err error) {
	products := make([]kernels.MatMul, len(t.Step.Acc.Products))
	for i := range products {
		var ok bool
		if products[i], ok = matMul(t.Graph, &t.Step.Acc.Products[i], t.Step.Shape); !ok {
			return false, nil
		}
	}
	s := &step{m: m, dev: newScope(m.dev), task: t}
	defer s.dev.close()
	if s.acc, err = kernels.NewSlice(s.dev, t.Linear()); err != nil {
		return false, err
	}
	for i, p := range products {
		if err := s.multiply(p, &t.Step.Acc.Products[i]); err != nil {
			return false, err
		}
	}
	return s.lookUp()
}

// step is a lookup step on the device.
type step struct {
	m    *Machine
	dev  *scope
	task *forward.Task
	acc  kernels.Ptr
}

func (s *step) multiply(p kernels.MatMul, of *model.Product) (err error) {
	p.Acc = s.acc
	a, b := of.A, of.B
	if p.N == 1 && p.M > 1 { // a vector is the first operand
		p, a, b = swapped(p), of.B, of.A
	}
	if p.M == 1 {
		// Vectors are taken in 32 bits.
		values := ints.All(s.task.Operand(a))
		p.XBits = magnitude(values)
		p.A.Width = 4
		p.A.Ptr, err = kernels.NewSlice(s.dev, values)
	} else {
		err = s.operand(&p.A, a)
	}
	if err != nil {
		return err
	}
	if err := s.operand(&p.B, b); errors.Is(err, kernels.ErrMemory) && p.Batches == 1 {
		return s.multiplyPieces(p, s.task.Operand(b))
	} else if err != nil {
		return err
	}
	return kernels.MultiplyAdd(s.dev, p)
}

// multiplyPieces is a product with an operand B in the host's memory, for which
// there is no room as a whole: ranges of its outer axis, output columns or
// terms of the sums, go through one after the other.
func (s *step) multiplyPieces(p kernels.MatMul, b ints.Ints) error {
	outer, row := p.N, p.B.Row
	columns := p.B.Column > p.B.Row
	if columns {
		outer, row = p.K, p.B.Column
	}
	rows := pieceRows(b.Width()*row, s.m.piece)
	for from := 0; from < outer; from += rows {
		n := min(rows, outer-from)
		t, err := NewTensor(s.dev, b.Slice(from*row, min((from+n)*row, b.Len())))
		if err != nil {
			return err
		}
		q := p
		q.B.Ptr, q.B.Width = t.Ptr, t.Width
		if columns {
			q.K = n
			q.A.Ptr += kernels.Ptr(from * p.A.Column * p.A.Width)
		} else {
			q.N = n
			q.Acc = kernels.At[int64](p.Acc, from*p.OutColumn)
		}
		if err := kernels.MultiplyAdd(s.dev, q); err != nil {
			return err
		}
		t.Free(s.dev)
	}
	return nil
}

// operand puts a tensor on the device, or finds it there.
func (s *step) operand(m *kernels.Matrix, id model.TensorID) error {
	values := s.task.Operand(id)
	var t *Tensor
	var err error
	if s.task.Graph.Tensors[id].Kind == model.Fixed {
		t, err = s.m.Resident(values)
	} else {
		t, err = NewTensor(s.dev, values)
	}
	if err == nil {
		m.Ptr, m.Width = t.Ptr, t.Width
	}
	return err
}

// magnitude returns the least n with |v| < 2^n for all v.
func magnitude(values []int32) int {
	var all uint32
	for _, v := range values {
		all |= uint32(max(v, -v))
	}
	return bits.Len32(all)
}

// lookUp turns the accumulator into the step's results.
func (s *step) lookUp() (done bool, err error) {
	t := s.task
	n, table := len(t.Keys), &t.Graph.Tables[t.Step.Table]
	l := kernels.Lookup{Acc: s.acc, N: n, Shift: t.Step.Shift, Table: table}
	// Results side by side, so that they come back at once: keys, out, lo, whether
	// any was out of range, and the counts of this step alone.
	rows := 1 << table.Bits
	words := 3*n + 1 + rows
	base, err := kernels.AllocSlice[int32](s.dev, words)
	if err != nil {
		return false, err
	}
	at := func(i int) kernels.Ptr { return kernels.At[int32](base, i) }
	if err := s.dev.Clear(at(3*n), 4*(1+rows)); err != nil {
		return false, err
	}
	l.Keys, l.Bad, l.Counts = at(0), at(3*n), at(3*n+1)
	if t.Out != nil {
		l.Out = at(n)
	}
	if t.Lo != nil {
		l.Lo = at(2 * n)
	}
	switch {
	case t.Out == nil:
	case table.Kind == model.TablePiecewise:
		if l.Pieces, err = kernels.UploadPieces(s.dev, table); err != nil {
			return false, err
		}
	case table.Kind == model.TableFunc:
		column, err := s.m.Resident(t.Column)
		if err != nil {
			return false, err
		}
		l.Values, l.ValueWidth = column.Ptr, column.Width
	}
	if err := kernels.LookUp(s.dev, l); err != nil {
		return false, err
	}
	results := make([]int32, words)
	if err := kernels.DownloadSlice(s.dev, results, base); err != nil {
		return false, err
	}
	if results[3*n] != 0 {
		return false, nil
	}
	copy(t.Keys, results[:n])
	copy(t.Out, results[n:2*n])
	copy(t.Lo, results[2*n:3*n])
	for i, c := range results[3*n+1:] {
		t.Counts[i] += c
	}
	return true, nil
}
