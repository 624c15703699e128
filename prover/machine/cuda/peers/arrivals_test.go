package peers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/cudatest"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// shippedTensors are fixed tensors and a commitment of groups of six rows of eight.
func shippedTensors() (cudatest.Fixed, *backend.Commitment) {
	fixed := cudatest.NewFixed(rand.New(rand.NewPCG(17, 18)), []int{64}, []int{32}, []int{100}, []int{16}, []int{8, 8}, []int{1, 13, 11}, []int{9})
	stack := model.NewStack(fixed.Graph, []model.TensorID{0, 1, 2, 3, 4, 5, 6})
	c := &backend.Commitment{Layout: whir.Layout{RowVars: 3, LogBlowup: 1}}
	const rows = 6
	for first := 0; 8*uint64(first) < stack.Size; first += rows {
		c.Groups = append(c.Groups, whir.Group{First: uint64(first), Rows: rows})
		c.Parts = append(c.Parts, backend.Part{Stack: stack, First: first})
	}
	return fixed, c
}

// TestEachFixed: the first entries that a group reads of a tensor are all that its rows have of it,
// and no entry of a block is beyond.
func TestEachFixed(t *testing.T) {
	fixed, c := shippedTensors()
	for i := range fixed.Weights { // so that an entry says where it is
		v := make(ints.Int32s, fixed.Weights[i].Len())
		for k := range v {
			v[k] = int32(i*1000 + k + 1)
		}
		fixed.Weights[i] = v
	}
	for group := range c.Groups {
		want, got := map[model.TensorID]int{}, map[model.TensorID]int{}
		row := make([]int32, c.Groups[group].Rows<<c.RowVars)
		c.Parts[group].Stack.Fill(fixed.Graph, fixed.Weights, uint64(c.Parts[group].First)<<c.RowVars, row)
		for _, v := range row {
			if v > 0 {
				id := model.TensorID((v - 1) / 1000)
				want[id] = max(want[id], int(v-1)%1000+1)
			}
		}
		for id, entries := range fixedOf(fixed.Graph, c, group) {
			got[id] = max(got[id], entries)
		}
		for id, n := range want {
			if got[id] < n || got[id] > fixed.Weights[id].Len() {
				t.Errorf("group %d reads %d entries of tensor %d, and waits for %d", group, n, id, got[id])
			}
		}
		if len(got) != len(want) {
			t.Errorf("group %d waits for %d tensors and reads %d", group, len(got), len(want))
		}
	}
}

// TestArrivals: when a group's turn has come what it reads is on the device that hashes it, once it
// is over all of the tensors are that any group of the device reads, and each piece has gone up
// once. Whatever fails on one machine, the others get theirs, and nothing is left.
func TestArrivals(t *testing.T) {
	d := devicetest.Open(t)
	fixed, c := shippedTensors()
	lost := errors.New("lost")
	type test struct {
		machines, streams, piece int
		limit                    int                          // of the last machine's weights
		fault                    func(op string, n int) error // of the last device
	}
	tests := []test{{1, 1, 1 << 20, 0, nil}, {1, 3, 40, 0, nil}, {2, 1, 40, 0, nil}, {3, 3, 24, 0, nil}, {3, 1, 24, 50, nil}, {5, 2, 1, 0, nil}}
	for n := 0; n < 60; n += 7 {
		tests = append(tests, test{2, 2, 40, 0, func(_ string, i int) error {
			if i > n {
				return lost
			}
			return nil
		}}, test{3, 1, 24, 0, func(op string, i int) error {
			if i > n && op == "alloc" {
				return devicetest.ErrInjected
			}
			return nil
		}})
	}
	for number, x := range tests {
		var machines []*run.Stream
		var streams []*devicetest.Streams
		for i := range x.machines {
			s := devicetest.NewStreams(d, 1<<20, func(op string, n int) error {
				if i == x.machines-1 && x.fault != nil {
					return x.fault(op, n)
				}
				return nil
			})
			m := device.New(s)
			m.Streams = x.streams
			if i == x.machines-1 {
				m.MaxResident, m.Piece = x.limit, 1<<12
			}
			streams, machines = append(streams, s), append(machines, run.NewStream(m, fixed.Graph, fixed))
		}
		of := make([]int, len(c.Groups))
		for i := range of {
			of[i] = i % x.machines
		}
		healthy := func(i int) bool { return x.fault == nil && x.limit == 0 || i < x.machines-1 }
		s := transferTo(t.Context(), c, machines, of, x.piece)
		early := map[*arrivals]error{} // read before another machine had written it
		for group, i := range of {
			a := s.all[i]
			if !healthy(i) {
				a.waited(c, group)
				continue
			}
			a.Wait(c, group)
			for id, entries := range fixedOf(fixed.Graph, c, group) {
				there, err := a.Find(id)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := bytesOf(t, streams[i], there, entries), ints.Bytes(fixed.Weights[id])[:entries*there.Width]; !slices.Equal(got, want) {
					early[a] = fmt.Errorf("%d: group %d does not have the first %d entries of tensor %d", number, group, entries, id)
				}
			}
		}
		s.end(false)
		for a, err := range early { // a commitment made of it is given up (check)
			if a.spoiled == nil {
				t.Fatal(err)
			}
		}
		uploaded, all := 0, 0
		for i, b := range machines {
			uploaded += int(b.Context.Traffic().Uploaded)
			for group := range of {
				if of[group] != i || !healthy(i) {
					continue
				}
				for id := range fixedOf(fixed.Graph, c, group) {
					if there := b.Context.Known(fixed.Weights[id]); there == nil || !slices.Equal(bytesOf(t, streams[i], there, there.Len), ints.Bytes(fixed.Weights[id])) {
						t.Fatalf("%d: tensor %d is not complete on machine %d", number, id, i)
					}
				}
			}
		}
		for _, w := range fixed.Weights {
			all += len(ints.Bytes(w))
		}
		if x.fault == nil && x.limit == 0 && uploaded != all {
			t.Errorf("%d: %d bytes of %d went up", number, uploaded, all)
		}
		if s := transferTo(t.Context(), c, machines[:1], make([]int, len(of)), x.piece); x.machines == 1 && len(s.all[0].list) > 0 {
			t.Errorf("%d: what is there comes again", number)
		} else {
			s.end(false)
		}
		for i, b := range machines {
			b.Close()
			b.Context.Close()
			streams[i].Drain()
			if b.Context.Traffic().Live != 0 || streams[i].Live() != 0 || b.Context.Reserved() != 0 {
				t.Errorf("%d: %d bytes are left on device %d, %d taken for tensors", number, streams[i].Live(), i, b.Context.Reserved())
			}
		}
	}
	// Nothing comes for one group, without a queue for it, or after the end.
	m := device.New(devicetest.NewStreams(d, 1<<20, nil))
	b := run.NewStream(m, fixed.Graph, fixed)
	one := *c
	one.Groups, one.Parts = c.Groups[:1], c.Parts[:1]
	s := transferTo(t.Context(), &one, []*run.Stream{b}, []int{0}, 40)
	s.end(false)
	direct := run.NewStream(device.New(struct{ kernels.Device }{d}), fixed.Graph, fixed) // which hides what streams there are
	s2 := transferTo(t.Context(), c, []*run.Stream{direct}, make([]int, len(c.Groups)), 40)
	s2.end(false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s3 := transferTo(ctx, c, []*run.Stream{b}, make([]int, len(c.Groups)), 40)
	s3.all[0].Wait(c, 0)
	s3.end(true)
	if n := len(s.all[0].list) + len(s2.all[0].list) + m.Reserved(); n > 0 {
		t.Errorf("%d tensors came", n)
	}
	b.Close()
	m.Close()
	if err := m.Drain(0); err != nil || m.Traffic().Live != 0 {
		t.Errorf("%+v, %v", m.Traffic(), err)
	}
}

// askedStreams is a device that notes which of its queues are asked for.
type askedStreams struct {
	*devicetest.Streams
	mu    sync.Mutex
	asked []int
}

func (s *askedStreams) Stream(n int) (kernels.Device, error) {
	s.mu.Lock()
	s.asked = append(s.asked, n)
	s.mu.Unlock()
	return s.Streams.Stream(n)
}

// TestQueueOfRows: tensors do not come through the queue that computes rows of a text. Work of others there would become part of a
// recording (kernels.Recorder), and not be done.
func TestQueueOfRows(t *testing.T) {
	fixed, c := shippedTensors()
	for _, streams := range []int{1, 4} {
		on := &askedStreams{Streams: devicetest.NewStreams(devicetest.Open(t), 1<<20, nil)}
		m := device.New(on)
		m.Streams = streams
		b := run.NewStream(m, fixed.Graph, fixed)
		s := transferTo(t.Context(), c, []*run.Stream{b}, make([]int, len(c.Groups)), 40)
		s.end(false)
		if len(s.all[0].list) == 0 || slices.Contains(on.asked, streams) {
			t.Errorf("%d streams: %d tensors came through queues %d", streams, len(s.all[0].list), on.asked)
		}
		b.Close()
		m.Close()
	}
}

// bytesOf reads the first entries of a tensor through the device's own queue.
func bytesOf(t *testing.T, s *devicetest.Streams, x *device.Tensor, entries int) []byte {
	t.Helper()
	got := make([]byte, entries*x.Width)
	if err := s.Download(got, x.Ptr); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestManyArrivals: whatever the groups of machines read, and in whatever order, all of it comes:
// no machine waits for one that waits for it.
func TestManyArrivals(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(5, 6))
	var shapes [][]int
	var ids []model.TensorID
	for i := range 60 {
		shapes, ids = append(shapes, []int{20 + rng.IntN(9), 3 + 2*rng.IntN(9)}), append(ids, model.TensorID(i))
	}
	fixed := cudatest.NewFixed(rng, shapes...)
	stack := model.NewStack(fixed.Graph, ids)
	c := &backend.Commitment{Layout: whir.Layout{RowVars: 3, LogBlowup: 1}}
	const rows = 40
	for first := 0; 8*uint64(first) < stack.Size; first += rows {
		c.Groups = append(c.Groups, whir.Group{First: uint64(first), Rows: rows})
		c.Parts = append(c.Parts, backend.Part{Stack: stack, First: first})
	}
	for count := 2; count < 5; count++ {
		for range 5 {
			var machines []*run.Stream
			for range count {
				m := device.New(devicetest.NewStreams(d, 1<<24, nil))
				machines = append(machines, run.NewStream(m, fixed.Graph, fixed))
			}
			of := make([]int, len(c.Groups))
			for i := range of {
				of[i] = rng.IntN(count)
			}
			s := transferTo(t.Context(), c, machines, of, 64)
			var all sync.WaitGroup
			for i, a := range s.all {
				all.Go(func() {
					for group := range of {
						if of[group] == i {
							a.waited(c, group)
						}
					}
				})
			}
			all.Wait()
			s.end(false)
			for i, b := range machines {
				for group := range of {
					if of[group] == i {
						for id := range fixedOf(fixed.Graph, c, group) {
							if b.Context.Known(fixed.Weights[id]) == nil {
								t.Fatalf("%d machines: tensor %d has not come to machine %d", count, id, i)
							}
						}
					}
				}
				b.Close()
				b.Context.Close()
			}
		}
	}
}

// TestHave: a group need not wait once the last chunks that it reads have come.
func TestHave(t *testing.T) {
	there, away := make(chan struct{}), make(chan struct{})
	close(there)
	a := &arrivals{pieces: map[int][]chan struct{}{0: {away}, 1: {there, away}, 2: {there}, 3: {}}}
	for group, want := range []bool{false, false, true, true} {
		if got := a.Have(nil, group); got != want {
			t.Errorf("group %d: %v", group, got)
		}
	}
}
