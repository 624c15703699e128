package cuda

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/whir"
)

// TestArrivals: when a group's turn has come what it reads is on the device, complete, and nothing
// comes after a stop.
func TestArrivals(t *testing.T) {
	d := devicetest.Open(t)
	fixed := newManyFixed(rand.New(rand.NewPCG(17, 18)), []int{64}, []int{32}, []int{100}, []int{16}, []int{8, 8})
	stack := model.NewStack(fixed.g, []model.TensorID{0, 1, 2, 3, 4})
	c := &backend.Commitment{Layout: whir.Layout{RowVars: 3, LogBlowup: 1}}
	const rows = 6 // of a group
	for first := 0; 8*uint64(first) < stack.Size; first += rows {
		c.Groups = append(c.Groups, whir.Group{First: uint64(first), Rows: rows})
		c.Parts = append(c.Parts, backend.Part{Stack: stack, First: first})
	}
	var all []int
	read := map[model.TensorID]int{}
	for i := range c.Groups {
		all = append(all, i)
		for _, id := range fixedOf(fixed.g, c, i) {
			read[id]++
		}
	}
	if len(read) != len(fixed.w) || len(all) < 5 {
		t.Fatalf("%d groups read %d tensors", len(all), len(read))
	}
	for _, lanes := range []int{1, 3} {
		s := devicetest.NewStreams(d, 1<<20, nil)
		m := NewMachine(s)
		m.SetLanes(lanes)
		b := m.Backend(fixed.g, fixed)
		if a := b.arriving(t.Context(), c, all[:1]); a.there != nil {
			t.Error("one group has nothing to come for")
		}
		a := b.arriving(t.Context(), c, all)
		if a.there == nil {
			t.Fatal("nothing comes")
		}
		for _, i := range all {
			a.wait(i)
			for _, id := range fixedOf(fixed.g, c, i) {
				x := m.known(fixed.w[id])
				if x == nil {
					t.Fatalf("tensor %d is not there for group %d", id, i)
				}
				// Through another queue, which has not waited for that of the arrivals.
				got := make([]byte, x.Len*x.Width)
				if err := s.Download(got, x.Ptr); err != nil {
					t.Fatal(err)
				}
				other := NewMachine(s)
				want, err := NewTensor(other.dev, fixed.w[id])
				if err != nil {
					t.Fatal(err)
				}
				same := make([]byte, len(got))
				if err := s.Download(same, want.Ptr); err != nil {
					t.Fatal(err)
				}
				want.Free(other.dev)
				if string(got) != string(same) {
					t.Fatalf("tensor %d is not complete", id)
				}
			}
		}
		a.stop()
		if a := b.arriving(t.Context(), c, all); a.there != nil {
			t.Error("all is there")
		}
		m.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		a = b.arriving(ctx, c, all)
		for _, i := range all {
			a.wait(i)
		}
		a.stop()
		if n := len(m.resident); n > 0 {
			t.Errorf("%d tensors came after a stop", n)
		}
		b.Close()
		m.Close()
	}
}
