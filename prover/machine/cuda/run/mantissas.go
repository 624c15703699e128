package run

import (
	"errors"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
)

// Matrices of 16 bits whose rows are bytes times powers of two, as those of w8a8 are, take a row's time twice over: it goes by the bytes
// that are read. So rows have copies of them with a byte an entry, beside those of the proof, where there is room.

// mantissas are such copies, by the tensors that they are of.
type mantissas struct {
	memory kernels.Ptr
	of     map[model.TensorID]*mantissa
	order  []*mantissa
}

// mantissa is a matrix of n rows of k entries at `at`, and its copy, at 0 if there is none.
type mantissa struct {
	n, k           int
	at             kernels.Ptr
	copied, shifts kernels.Ptr
}

// want says that a matrix is multiplied with rows, and returns what will be known of its copy.
func (x *mantissas) want(id model.TensorID, mm *kernels.MatMul, at kernels.Ptr) *mantissa {
	if mm.B.Width != 2 || at>>61 != 0 { // one that does not stay on the device
		return nil
	}
	if x.of[id] == nil {
		y := &mantissa{n: mm.N, k: mm.K, at: at}
		x.of[id], x.order = y, append(x.order, y)
	}
	return x.of[id]
}

// in puts a copy in a product.
func (y *mantissa) in(mm *kernels.MatMul) {
	if y != nil && y.copied != 0 {
		mm.B.Ptr, mm.B.Width, mm.Shifts = y.copied, 1, y.shifts
	}
}

// make makes the copies, if they take no more than half of what is free, and there are any.
func (x *mantissas) make(m *device.Context) (err error) {
	if len(x.order) == 0 {
		return nil
	}
	scope := device.NewScope(m.Dev)
	defer scope.Close()
	flags, err := kernels.NewSlice(scope, make([]uint32, len(x.order)))
	if err != nil {
		return err
	}
	rows := 0
	for _, y := range x.order {
		rows = max(rows, y.n)
	}
	shifts, err := scope.Alloc(rows)
	if err != nil {
		return err
	}
	for i, y := range x.order {
		if err := kernels.Mantissas(m.Dev, 0, shifts, kernels.At[uint32](flags, i), y.at, y.n, y.k); err != nil {
			return err
		}
	}
	bad := make([]uint32, len(x.order))
	if err := kernels.DownloadSlice(m.Dev, bad, flags); err != nil {
		return err
	}
	bytes := 0
	for i, y := range x.order {
		if bad[i] == 0 {
			bytes += slotSize(y.n, y.k) + slotSize(y.n, 1)
		}
	}
	if free := m.FreeBytes(); bytes == 0 || free > 0 && bytes > free/2 {
		return nil
	}
	if x.memory, err = m.Dev.Alloc(bytes); errors.Is(err, kernels.ErrMemory) {
		return nil
	} else if err != nil {
		return err
	}
	at := x.memory
	for i, y := range x.order {
		if bad[i] != 0 {
			continue
		}
		y.copied, y.shifts = at, at+kernels.Ptr(slotSize(y.n, y.k))
		at = y.shifts + kernels.Ptr(slotSize(y.n, 1))
		if err := kernels.Mantissas(m.Dev, y.copied, y.shifts, kernels.At[uint32](flags, i), y.at, y.n, y.k); err != nil {
			return err
		}
	}
	return nil
}
