package cuda

import (
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/field"
)

// table is a table of 2^vars elements of K on the device.
type table struct {
	at   kernels.Ptr
	vars int
}

// inner returns Σ_x eq(eq, x_0…)·a(x)·b(x).
func inner(dev kernels.Device, eq []field.QM31, a, b table) field.QM31 {
	var heaps *kernels.EqHeaps
	if len(eq) > 0 {
		var err error
		heaps, err = kernels.NewEqHeaps(dev, eq)
		backend.Check(err)
	}
	sum := newWords(dev, 2*kernels.SumWords)
	backend.Check(kernels.SumcheckInner(dev, sum, a.at, b.at, a.vars, heaps))
	v := kernels.FromSum(fetch[uint64](dev, sum, kernels.SumWords))
	dev.Free(sum)
	heaps.Free(dev)
	return v
}
