package sums

import (
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// Variables, for tests.
var (
	// mostSmall is how many entries a tensor may have to be restricted together with others: so few that
	// one after the other they leave most of the device idle.
	mostSmall = 1 << 20
	// smallScratch is how many bytes the restrictions of one launch take beside their tables.
	smallScratch = 32 << 20
)

// smallTables are restrictions of small tensors that are made together.
type smallTables struct {
	jobs []kernels.Restriction
	to   []*backend.Table
}

// add plans a restriction, whose table goes to the given place. It returns false, and does nothing, for one that takes
// more than one pass over the tensor.
func (s *smallTables) add(to *backend.Table, shape []int, in kernels.Integers, r backend.Restriction) bool {
	gs, coords := groups(shape, r.Bound)
	x := kernels.Restriction{In: in, Point: coords}
	x.Layout, _ = keptLayout(shape, r.Keep)
	if at := largestBound(gs); at >= 0 {
		x.Bound, x.Dims = binding(gs, at), gs[at].dims
		gs[at].bound = false
		if largestBound(gs) >= 0 {
			return false
		}
	} else if len(coords) > 0 {
		return false
	}
	s.jobs, s.to = append(s.jobs, x), append(s.to, to)
	return true
}

// make makes the tables, in one area for each launch.
func (s *smallTables) make(dev *device.Scope) {
	for len(s.jobs) > 0 {
		n, scratch := 0, 0
		var sizes []int
		for n < len(s.jobs) && (n == 0 || scratch+s.jobs[n].Scratch() <= smallScratch) {
			scratch += s.jobs[n].Scratch()
			sizes = append(sizes, device.ElementBytes*kernels.PaddedSize(s.jobs[n].Layout.Dims))
			n++
		}
		at := device.Get(dev.Several(sizes))
		for i := range n {
			s.jobs[i].Out = at[i]
			*s.to[i] = table{at[i], model.Log2Ceil(kernels.PaddedSize(s.jobs[i].Layout.Dims))}
		}
		device.Check(kernels.Restrict(dev, s.jobs[:n]))
		s.jobs, s.to = s.jobs[n:], s.to[n:]
	}
}
