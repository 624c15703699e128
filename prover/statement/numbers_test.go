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
		if got, err := json.Marshal(Tensor{"y", []int{3}, n}); err != nil || string(got) != want {
			t.Errorf("%v is %s, %v", n, got, err)
		}
	}
}
