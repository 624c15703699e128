package run

import (
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// Groups is some consecutive groups of a commitment. Either all their values are kept, or one segment recomputes those that are not.
type Groups struct {
	Of    []int // indexes of the groups
	Again bool  // some values are recomputed
}

// SegmentsOf divides groups of a commitment by the segments that recompute their values. It returns nil if all values are kept.
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

// recomputing returns the segment that recomputes values of a group of a commitment, −1 if all its values are kept.
func (p *part) recomputing(c *backend.Commitment, group int) int {
	for b := range c.Blocks(group) {
		if s, ok := p.tensors[b.Tensor]; ok && !s.kept() {
			return s.segment
		}
	}
	return -1
}

// Drops says whether the run drops some values of a commitment, to recompute them.
func (r *Run) Drops(c *backend.Commitment) bool {
	for i := range c.Groups {
		if r.parts[0].recomputing(c, i) >= 0 {
			return true
		}
	}
	return false
}

// recomputed is the values of a segment that have been recomputed.
type recomputed struct {
	at    kernels.Ptr
	users int // streams that have entered the segment and not left it
}

// enter returns the memory with the values of a segment, and counts a user of it. If the values are not there, it
// recomputes them through the queue dev, and waits for that, so that any queue may then read them. Before that it frees
// the segments that have no users. Values with users stay; without, they stay until another segment is recomputed or
// DropSegments is called. For a segment that keeps its values it returns 0.
//
// The mutex is held while the device recomputes, so other streams wait meanwhile. They can go on afterwards, since
// nothing under the mutex waits for a stream to leave.
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
				_ = dev.Sync() // work may still be writing there; its error is on its way to the caller already
				p.m.Dev.Free(at)
			}
		}()
		// The memory comes from the machine's first queue, where earlier work may still use it: wait before dev writes to it.
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

// do enqueues launches on dev, with so many accumulators for their products, which are freed afterwards.
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

// Recomputed returns the bytes that the values of `together` recomputed segments take, and the accumulators for recomputing one.
func (r *Run) Recomputed(together int) int64 {
	var bytes int64
	for _, p := range r.parts {
		bytes += int64(together*p.again + 8*p.sums)
	}
	return bytes
}

// dropSegments frees the values of segments without users, or of all segments. The mutex is held.
func (r *Run) dropSegments(all bool) {
	for k, s := range r.made {
		if all || s.users == 0 {
			r.parts[0].m.Dev.Free(s.at)
			delete(r.made, k)
		}
	}
}

// DropSegments frees the values of recomputed segments that no stream has entered.
func (s *Stream) DropSegments() {
	if s.Run != nil {
		s.Run.mu.Lock()
		defer s.Run.mu.Unlock()
		s.Run.dropSegments(false)
	}
}

// LeaveSegments leaves all segments that the stream has entered. It waits for the stream first, so that a segment without users is read
// by no queue.
func (s *Stream) LeaveSegments() {
	if len(s.in) == 0 {
		return
	}
	_ = s.Dev.Sync() // an error is reported by the next operation
	s.Run.mu.Lock()
	defer s.Run.mu.Unlock()
	for k := range s.in {
		if x := s.Run.made[k]; x != nil { // nil once the run has been closed
			x.users--
		}
	}
	clear(s.in)
}
