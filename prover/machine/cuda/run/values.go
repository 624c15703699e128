package run

import (
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// slot is where a tensor of a run lies, or the keys of a look-up do, or what makes these.
type slot struct {
	kernels.Integers // at 0 if they lie nowhere
	n                int
	segment          int      // that recomputes them, or what they are made of, if they are not kept
	plus             int64    // on what is there, of keys
	makes            []launch // of keys that lie nowhere
	sums             int      // accumulators that these take
}

// kept says whether the values stay in the run's memory.
func (s *slot) kept() bool { return s.makes == nil && s.At&kernels.InAgain != kernels.InAgain }

// tensor is what lies in a slot, in the memory of a run.
func (s *slot) tensor(b *kernels.Bases) *device.Tensor {
	return &device.Tensor{Ptr: b.Resolve(s.At), Len: s.n, Width: s.Width}
}

// A finder returns a slot of a part, if it has it.
type finder func(*part) (s slot, ok bool)

// ofTensor finds a tensor.
func ofTensor(id model.TensorID) finder {
	return func(p *part) (slot, bool) { s, ok := p.tensors[id]; return s, ok }
}

// ofKeys finds the keys of a look-up step, less a constant. The part where it is run has them.
func ofKeys(step int) finder {
	return func(p *part) (slot, bool) { s, ok := p.keys[step]; return s, ok }
}

// On returns a tensor that a run computes on a machine, nil if it is not there: one that is not kept is only there until all that the run
// computes in its segment has been told of.
func (r *Run) On(m *device.Context, id model.TensorID) *device.Tensor {
	if p := r.part(m); p != nil {
		if x, ok := p.tensors[id]; ok {
			return x.tensor(r.bases(p))
		}
	}
	return nil
}

// part returns the part of the run on the stream's machine, nil if there is none.
func (s *Stream) part() *part {
	if s.Run == nil {
		return nil
	}
	return s.Run.part(s.Context)
}

// here returns what the run has in a slot on the stream's machine, nil if it has nothing. What is not kept is there until the stream
// leaves its segment, and keys that are made are the stream's own. It gives up if there is no room for
// that: the host's values, for which there might be, would be those of a run there.
func (s *Stream) here(find finder) (t *device.Tensor, own bool) {
	p := s.part()
	if p == nil {
		return nil, false
	}
	x, ok := find(p)
	if !ok {
		return nil, false
	}
	w := &work{bases: *s.Run.bases(p)}
	if !x.kept() {
		w.bases.Again = s.enter(p, x.segment)
	}
	if x.makes == nil {
		return x.tensor(&w.bases), false
	}
	w.keys = device.Get(s.Dev.Alloc(x.n * x.Width))
	w.do(s.Dev, x.sums, x.makes)
	return &device.Tensor{Ptr: w.keys, Len: x.n, Width: x.Width}, true
}

// enter returns the memory of a segment, which the stream has entered.
func (s *Stream) enter(p *part, segment int) kernels.Ptr {
	at, ok := s.in[segment]
	if !ok {
		if at = s.Run.enter(s.Dev.Device, p, segment); at != 0 {
			s.in[segment] = at
		}
	}
	return at
}

// through calls f with a stream of a part's machine, and returns the error with which that gives up.
func (r *Run) through(p *part, f func(s *Stream)) (err error) {
	defer device.Catch(&err)
	s := r.stream(p.m, p.m.Dev)
	defer s.Close()
	f(s)
	return nil
}

// bring copies what a machine has of the run in a slot to memory of dev. It returns nil if none has it,
// or can give it: then it is the host's to look for it.
func (r *Run) bring(dev kernels.Device, find finder) (t *device.Tensor, err error) {
	for _, p := range r.parts {
		failed := r.through(p, func(s *Stream) {
			there, own := s.here(find)
			if own {
				device.Check(s.Dev.Sync())
			}
			if there != nil {
				t, err = device.Copied(dev, there, p.m.Dev)
			}
		})
		if failed == nil && (t != nil || err != nil) {
			return t, err
		}
	}
	return nil, nil
}

// values returns what is in a slot of the first part that has it.
func (r *Run) values(find finder) (values []int32, err error) {
	for _, p := range r.parts {
		x, ok := find(p)
		if !ok {
			continue
		}
		data := make([]byte, x.n*x.Width)
		if at := int(x.At &^ kernels.InLarge); x.At&kernels.InLarge == kernels.InSmall {
			copy(data, r.memory[p].host[at:])
		} else {
			err = r.through(p, func(s *Stream) {
				t, _ := s.here(find)
				device.Check(s.Dev.Download(data, t.Ptr))
			})
		}
		if err != nil {
			return nil, err
		}
		values = ints.All(ints.FromBytes(data, x.Width))
		if x.plus != 0 {
			for i := range values {
				values[i] += int32(x.plus)
			}
		}
		return values, nil
	}
	return nil, nil
}

// Tensor implements forward.Kept.
func (r *Run) Tensor(id model.TensorID) ([]int32, error) { return r.values(ofTensor(id)) }

// Keys implements forward.Kept.
func (r *Run) Keys(step int) ([]int32, error) { return r.values(ofKeys(step)) }
