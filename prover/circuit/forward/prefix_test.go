package forward

import (
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Every entry has its indexes in the larger shape.
func TestGrown(t *testing.T) {
	for _, c := range []struct{ from, to []int }{
		{nil, nil}, {[]int{3}, []int{5}}, {[]int{2, 3}, []int{2, 3}}, {[]int{2, 3}, []int{4, 3}}, {[]int{2, 1, 3}, []int{2, 4, 7}}, {[]int{1, 2, 2, 2}, []int{3, 2, 5, 2}},
	} {
		v := make([]int32, model.Size(c.from))
		for i := range v {
			v[i] = int32(i + 1)
		}
		want := make([]int32, model.Size(c.to))
		for i := range v {
			at, rest, stride := 0, i, 1
			for a := len(c.from) - 1; a >= 0; a-- {
				at += rest % c.from[a] * stride
				rest /= c.from[a]
				stride *= c.to[a]
			}
			want[at] = v[i]
		}
		got := make([]int32, len(want))
		(&growing{got, v, c.from, c.to}).fill()
		if !slices.Equal(got, want) {
			t.Errorf("%v to %v: %v, not %v", c.from, c.to, got, want)
		}
	}
}
