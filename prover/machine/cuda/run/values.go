package run

import (
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// slot says where the n entries of a tensor of a run, or the keys of a look-up, lie in the run's memory. Keys that lie
// nowhere have launches that make them.
type slot struct {
	kernels.Integers // address 0 if they lie nowhere
	n                int
	segment          int      // that recomputes the values, or the values that keys are made of, if they are not kept
	plus             int64    // of keys: the constant that is added to the entries
	makes            []launch // of keys that lie nowhere
	sums             int      // accumulators that these launches take
}

// kept says whether the values lie in memory that the run keeps, and not in that of a segment.
func (s *slot) kept() bool { return s.makes == nil && s.At&kernels.InAgain != kernels.InAgain }

// tensor returns what lies in a slot, in the memory of a run at these bases.
func (s *slot) tensor(b *kernels.Bases) *device.Tensor {
	return &device.Tensor{Ptr: b.Resolve(s.At), Len: s.n, Width: s.Width}
}

// A finder returns a certain slot of a part, if the part has it.
type finder func(*part) (s slot, ok bool)

// ofTensor returns the finder of a tensor's slot.
func ofTensor(id model.TensorID) finder {
	return func(p *part) (slot, bool) { s, ok := p.tensors[id]; return s, ok }
}

// ofKeys returns the finder of the keys of a look-up step, without their constant. The part that runs the step has them.
func ofKeys(step int) finder {
	return func(p *part) (slot, bool) { s, ok := p.keys[step]; return s, ok }
}

// On returns a tensor that a run computes on a machine, nil if it computes none there. It is for a Watcher: a value that is not kept is
// valid only until the run leaves its segment, that is in calls of Reached for the segment's chunks.
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

// here returns what the run has in a slot on the stream's machine, nil if it has nothing there. For values that are not kept it enters
// their segment; they are valid until the stream leaves it (LeaveSegments). Keys that are made now are the stream's own, and then own is
// true. It gives up if there is no room: to load the values from the host would need them downloaded first.
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

// enter returns the memory of a segment's recomputed values, and enters the segment if the stream has not yet (Run.enter).
func (s *Stream) enter(p *part, segment int) kernels.Ptr {
	at, ok := s.in[segment]
	if !ok {
		if at = s.Run.enter(s.Dev.Device, p, segment); at != 0 {
			s.in[segment] = at
		}
	}
	return at
}

// through calls f with a stream on the first queue of a part's machine, and returns the error with which f gives up.
func (r *Run) through(p *part, f func(s *Stream)) (err error) {
	defer device.Catch(&err)
	s := r.stream(p.m, p.m.Dev)
	defer s.Close()
	f(s)
	return nil
}

// bring copies what any machine has in a slot of the run to memory of dev. It returns nil and no error if
// no machine has it or can give it: then the caller asks the host. An error is dev's own.
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

// values returns what is in a slot of the first part that has it, nil if none has.
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
