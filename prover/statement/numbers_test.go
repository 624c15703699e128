package statement

import (
	"encoding/json"
	"math"
	"testing"
)

func TestNumbersInJSON(t *testing.T) {
	for want, n := range map[string]Numbers{
		`{"name":"y","shape":[3],"values":[1,-0.5,1e-9]}`:                            {1, -0.5, 1e-9},
		`{"name":"y","shape":[3],"values":["NaN",2.5,"Infinity","-Infinity",1e+30]}`: {math.NaN(), 2.5, math.Inf(1), math.Inf(-1), 1e30},
		`{"name":"y","shape":[3],"values":[]}`:                                       {},
	} {
		if got, err := json.Marshal(Tensor{Name: "y", Shape: []int{3}, Values: n}); err != nil || string(got) != want {
			t.Errorf("%v is %s, %v", n, got, err)
		}
	}
}

// Many numbers are written in parts, and as one list.
func TestManyNumbersInJSON(t *testing.T) {
	for _, n := range []int{together, together + 1, 3 * together} {
		many := make(Numbers, n)
		for i := range many {
			many[i] = float64(i%1000) / 64 * math.Pow10(i%40-20)
		}
		want, err := json.Marshal([]float64(many))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(many); err != nil || string(got) != string(want) {
			t.Errorf("%d numbers are not those of one list, %v", n, err)
		}
	}
}
