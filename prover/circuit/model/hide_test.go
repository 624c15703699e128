package model

import (
	"reflect"
	"testing"
	"time"
)

// TestSpread: the values of hidden inputs are missing at their places.
func TestSpread(t *testing.T) {
	a, b := []int32{1}, []int32{2}
	for _, c := range []struct {
		hidden []int
		want   [][]int32
	}{
		{nil, [][]int32{a, b}}, {[]int{0}, [][]int32{nil, a, b}}, {[]int{1, 3}, [][]int32{a, nil, b, nil}}, {[]int{0, 1, 4}, [][]int32{nil, nil, a, b, nil}},
	} {
		in := Instance{HiddenInputs: c.hidden}
		if got := in.Spread([][]int32{a, b}); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %v", c.hidden, got)
		}
	}
}

// TestSpreadOfMany: many hidden inputs among many others cost what they are, and not their product.
func TestSpreadOfMany(t *testing.T) {
	in := Instance{HiddenInputs: make([]int, 2000)}
	for i := range in.HiddenInputs {
		in.HiddenInputs[i] = i
	}
	began := time.Now()
	in.Spread(make([][]int32, 500_000))
	if took := time.Since(began); took > time.Second { // it takes milliseconds, and the product many seconds
		t.Errorf("%v", took)
	}
}
