package cuda

import (
	"context"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/ints"
	"github.com/prove-model/prove-model/prover/model"
)

// arrivals are the fixed tensors of groups of a commitment on their way to a machine: they come
// through a queue of their own, in the order of the groups, while the groups before are hashed.
type arrivals struct {
	there map[int]chan struct{} // by group; closed when all have come that come this way
	stop  func()
}

// arriving has the fixed tensors of groups come that are not there, if there are several groups and
// the device has queues beside those of lanes. What cannot come is left to who wants it. The caller
// stops it.
func (b *Backend) arriving(ctx context.Context, c *backend.Commitment, groups []int) *arrivals {
	a := &arrivals{stop: func() {}}
	if len(groups) < 2 {
		return a
	}
	wanted, some := make([][]ints.Ints, len(groups)), false // by group
	for k, i := range groups {
		for _, id := range fixedOf(b.g, c, i) {
			if values := b.w.Fixed(id); b.m.known(values) == nil {
				wanted[k], some = append(wanted[k], values), true
			}
		}
	}
	if !some {
		return a
	}
	own, err := kernels.LaneOf(b.m.dev, b.m.lanes)
	if err != nil || kernels.Base(own) == kernels.Base(b.m.dev) {
		return a
	}
	a.there = map[int]chan struct{}{}
	for _, i := range groups {
		a.there[i] = make(chan struct{})
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	a.stop = func() {
		cancel()
		<-ended
	}
	go func() {
		defer close(ended)
		come := true
		for k, i := range groups {
			for _, values := range wanted[k] {
				if come = come && ctx.Err() == nil; come {
					_, err := b.m.residentOn(own, values, b.values.peers)
					come = err == nil
				}
			}
			close(a.there[i])
		}
	}()
	return a
}

// wait waits until what a group reads has come.
func (a *arrivals) wait(group int) {
	if there, ok := a.there[group]; ok {
		<-there
	}
}

// fixedOf lists the fixed tensors that a group of a commitment reads.
func fixedOf(g *model.Graph, c *backend.Commitment, group int) []model.TensorID {
	part := c.Parts[group]
	begin := uint64(part.First) << c.RowVars
	end := begin + uint64(c.Groups[group].Rows)<<c.RowVars
	var ids []model.TensorID
	for i := range part.Stack.Blocks {
		b := &part.Stack.Blocks[i]
		if b.Offset < end && begin < b.Offset+1<<b.Bits && g.Tensors[b.Tensor].Kind == model.Fixed {
			ids = append(ids, b.Tensor)
		}
	}
	return ids
}
