package graph

import (
	"slices"
	"testing"
)

// Rows that all cores share are those of a walk over all: of shapes with more elements than
// a goroutine is worth, with axes of 1 and with short ones.
func TestEachRow(t *testing.T) {
	for _, shape := range [][]int{{}, {5}, {3 * grain}, {3, grain}, {200, 7, 51}, {2, 0, 3}, {0, 4}, {4, 0}, {30000, 1}} {
		a := make([]float64, Size(shape))
		for i := range a {
			a[i] = float64(i * i % 1013)
		}
		small := make([]int, len(shape)) // one row, or one column
		for k, n := range shape {
			small[k] = 1
			if k == len(shape)-1 {
				small[k] = n
			}
		}
		for range 2 {
			b := make([]float64, Size(small))
			for i := range b {
				b[i] = float64(i)
			}
			want := make([]float64, Size(shape))
			ta, tb := broadcastTables(shape, shape), broadcastTables(small, shape)
			next := 0
			walk(shape, ta, tb, func(i, ja, jb int) {
				if i != next || ja != i {
					t.Fatalf("shape %v: %d, %d where %d comes next", shape, i, ja, next)
				}
				next++
				want[i] = a[ja] - b[jb]
			})
			if next != len(want) {
				t.Errorf("shape %v: %d of %d", shape, next, len(want))
			}
			if got := zipWith(a, b, shape, small, shape, func(x, y float64) float64 { return x - y }); !slices.Equal(got, want) {
				t.Errorf("shapes %v and %v: another result", shape, small)
			}
			if len(shape) > 0 {
				small[0], small[len(small)-1] = shape[0], min(1, shape[len(shape)-1])
				if len(small) == 1 {
					small[0] = min(1, shape[0])
				}
			}
		}
		if len(shape) == 0 {
			continue
		}
		// Moved: rows in reverse, the last column left out.
		tables := broadcastTables(shape, shape)
		slices.Reverse(tables[0])
		last := tables[len(shape)-1]
		if len(last) > 0 {
			last[len(last)-1] = -1
		}
		got, at := move(a, tables, shape, -7), 0
		walk(shape, tables, tables, func(i, j, _ int) {
			want := -7.0
			if k := i % shape[len(shape)-1]; last[k] >= 0 && (len(shape) > 1 || tables[0][i] >= 0) {
				want = a[j]
			}
			if got[i] != want {
				t.Fatalf("shape %v: element %d is %v, not %v", shape, i, got[i], want)
			}
			at++
		})
		if at != len(got) {
			t.Errorf("shape %v: %d of %d", shape, at, len(got))
		}
	}
}
