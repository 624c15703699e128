package cuda

import (
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/field"
)

// table is a table of 2^vars elements of K on the device.
type table struct {
	at   kernels.Ptr
	vars int
}

// inner returns Σ_x eq(eq, x_0…)·a(x)·b(x).
func inner(m *memory, eq []field.QM31, a, b table) field.QM31 {
	var heaps *kernels.EqHeaps
	if len(eq) > 0 {
		var err error
		heaps, err = kernels.NewEqHeaps(m, eq)
		must(err)
	}
	sum := zeroed(m, 2*kernels.SumWords)
	must(kernels.SumcheckInner(m, sum, a.at, b.at, a.vars, heaps))
	v := kernels.FromSum(download[uint64](m, sum, kernels.SumWords))
	m.Free(sum)
	heaps.Free(m)
	return v
}
