package peers

import (
	"slices"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/open"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// TestStretches: rows move together as far as they lie one behind the other in one allocation, also where the next one begins at its
// end: a driver copies nothing across.
func TestStretches(t *testing.T) {
	const pitch = 1 << 10
	m := device.New(kernels.NewDry(1))
	var at []kernels.Ptr
	for range 2 {
		p, err := m.Dev.Alloc(4 * pitch)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Dev.Free(p)
		at = append(at, p)
	}
	if at[1] != at[0]+4*pitch {
		t.Fatalf("allocations at %v, which do not lie one behind the other", at)
	}
	rows := []open.ByteRow{
		{At: at[0], Width: 1}, {At: at[0] + pitch, Width: 2}, {}, {At: at[0] + 3*pitch, Width: 1}, // the first allocation
		{At: at[1], Width: 1}, {At: at[1] + pitch, Width: 1}, {At: at[1] + 3*pitch, Width: 1}, // and the second, with a gap
	}
	for _, c := range []struct {
		stays int
		want  []stretch
	}{
		{-1, []stretch{{at[0], 4 * pitch, []int{0, 1, 3}}, {at[1], 2 * pitch, []int{4, 5}}, {at[1] + 3*pitch, pitch, []int{6}}}},
		{1, []stretch{{at[0], pitch, []int{0}}, {at[0] + 3*pitch, pitch, []int{3}}, {at[1], 2 * pitch, []int{4, 5}}, {at[1] + 3*pitch, pitch, []int{6}}}},
	} {
		got := stretches(rows, func(row int) bool { return row != c.stays }, pitch, m.Dev.Extents())
		if !slices.EqualFunc(got, c.want, func(x, y stretch) bool { return x.from == y.from && x.bytes == y.bytes && slices.Equal(x.rows, y.rows) }) {
			t.Errorf("without row %d: %v, want %v", c.stays, got, c.want)
		}
	}
}

// TestNoRoomToExchange: if one machine has no room for the rows that it gets, none moves, and the others have the memory again that they
// took for theirs: tables are made in it.
func TestNoRoomToExchange(t *testing.T) {
	const rows, rowVars, n = 8, 10, 2
	d := devicetest.Open(t)
	o := &backend.Opening{Params: &soundness.Params{Levels: []soundness.Level{{RowVars: rowVars, FoldVars: 3}}}}
	for name, c := range map[string]struct {
		capacity int
		want     bool
	}{"room": {1 << 20, true}, "no room": {rows / 2 << rowVars, false}} {
		r := &sharedRows{}
		for i, capacity := range []int{1 << 20, c.capacity} {
			s := run.NewStream(device.New(devicetest.NewStreams(d, capacity, nil)), &model.Graph{}, nil)
			x := open.NewRows(s, s.Dev, o)
			at := device.NewArray[int8](x.Packed, rows/2<<rowVars)
			for k := range rows / 2 {
				x.At[rows/2*i+k] = open.ByteRow{At: at.Offset(k, x.Pitch), Width: 1}
			}
			r.all = append(r.all, x)
		}
		r.Rows = r.all[0]
		if got := r.exchange(t.Context(), n); got != c.want {
			t.Errorf("%s: rows moved: %v", name, got)
		}
		moved := 0
		if c.want {
			moved = rows / 4 << rowVars // half of a machine's rows
		}
		for i, x := range r.all {
			if live := int(x.Stream.Context.Traffic().Live); live != rows/2<<rowVars+moved {
				t.Errorf("%s: %d bytes on machine %d, of which %d are rows that have come", name, live, i, moved)
			}
			if err := quiesce(x.Stream.Dev); err != nil {
				t.Error(err)
			}
		}
		for _, x := range r.all {
			x.Stream.Close()
		}
	}
}
