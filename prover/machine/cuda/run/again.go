package run

import (
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// Groups are groups of a commitment that follow each other: all have values that are kept, or some that one segment recomputes.
type Groups struct {
	Of    []int
	Again bool // values are recomputed
}

// SegmentsOf divides groups of a commitment by the segments that recompute their values, and returns nil if all are kept.
func (s *Stream) SegmentsOf(c *backend.Commitment, groups []int) []Groups {
	p := s.part()
	if p == nil {
		return nil
	}
	var all []Groups
	last := -1
	for _, i := range groups {
		k := p.recomputing(c, i)
		if len(all) == 0 || last != k {
			all, last = append(all, Groups{Again: k >= 0}), k
		}
		g := &all[len(all)-1]
		g.Of = append(g.Of, i)
	}
	if !slices.ContainsFunc(all, func(g Groups) bool { return g.Again }) {
		return nil
	}
	return all
}

// recomputing returns the segment that recomputes values of a group of a commitment, −1 if all are kept.
func (p *part) recomputing(c *backend.Commitment, group int) int {
	for b := range c.Blocks(group) {
		if s, ok := p.tensors[b.Tensor]; ok && !s.kept() {
			return s.segment
		}
	}
	return -1
}

// Drops says whether a run does not keep all values of a commitment.
func (r *Run) Drops(c *backend.Commitment) bool {
	for i := range c.Groups {
		if r.parts[0].recomputing(c, i) >= 0 {
			return true
		}
	}
	return false
}

// recomputed are the values of a segment that are on the device once more.
type recomputed struct {
	at    kernels.Ptr
	users int
}

// enter returns the memory of a segment in which its values are, and makes them through a queue
// of the run's machine, which then has been waited for, if they are not there. They stay until
// all who have entered have left, and longer if nothing else takes their place.
// A segment that keeps its values has no such memory.
func (r *Run) enter(dev kernels.Device, p *part, segment int) kernels.Ptr {
	if r.segments == nil || segment < r.segments.kept {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.made[segment] == nil {
		r.dropSegments(false)
		at := device.Get(p.m.Dev.Alloc(max(p.again, slotAlignment)))
		defer func() {
			if r.made[segment] == nil {
				_ = dev.Sync() // the first error has been told
				p.m.Dev.Free(at)
			}
		}()
		// The memory is of the machine's first queue.
		device.Check(p.m.Dev.Sync())
		w := &work{bases: *r.bases(p), again: true}
		w.bases.Again = at
		w.do(dev, p.sums, r.again[segment])
		device.Check(dev.Sync())
		r.made[segment] = &recomputed{at: at}
	}
	r.made[segment].users++
	return r.made[segment].at
}

// do makes launches through a queue, with so many accumulators for their products.
func (w *work) do(dev kernels.Device, sums int, all []launch) {
	a := device.NewScope(dev)
	defer a.Close()
	w.dev = a
	if sums > 0 {
		w.acc = device.NewArray[int64](a, sums)
	}
	for _, l := range all {
		device.Check(l(w))
	}
}

// Recomputed returns the bytes that so many segments take when their values are recomputed, and one of them while that
// is done.
func (r *Run) Recomputed(together int) int64 {
	var bytes int64
	for _, p := range r.parts {
		bytes += int64(together*p.again + 8*p.sums)
	}
	return bytes
}

// dropSegments gives the memory of segments back that nobody reads, or of all. The mutex is held.
func (r *Run) dropSegments(all bool) {
	for k, s := range r.made {
		if all || s.users == 0 {
			r.parts[0].m.Dev.Free(s.at)
			delete(r.made, k)
		}
	}
}

// DropSegments gives the memory of segments back that nobody reads.
func (s *Stream) DropSegments() {
	if s.Run != nil {
		s.Run.mu.Lock()
		defer s.Run.mu.Unlock()
		s.Run.dropSegments(false)
	}
}

// LeaveSegments leaves those that the stream has entered, once what it has enqueued is done.
func (s *Stream) LeaveSegments() {
	if len(s.in) == 0 {
		return
	}
	_ = s.Dev.Sync() // an error is told by the next operation
	s.Run.mu.Lock()
	defer s.Run.mu.Unlock()
	for k := range s.in {
		if x := s.Run.made[k]; x != nil { // else the run has been closed
			x.users--
		}
	}
	clear(s.in)
}
