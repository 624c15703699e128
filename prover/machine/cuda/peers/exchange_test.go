package peers

import (
	"slices"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/open"
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
