package request

import (
	"encoding/json"
	"fmt"
	"math/big"
	"testing"
)

// FuzzRequest reads the parts of requests from any JSON: what is not refused is what it should be.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		`"a"`, `["a", "b"]`, `["a"]`, `[1, 5]`, `[[1, 5]]`, `[1, "a"]`, `[{"type": "text", "text": "a"}]`, `[{"type": "image_url"}]`, `null`, `[null]`,
		`{"name": "x", "shape": [2, 2], "datatype": "FP32", "data": [[1, 2], [3, 1e99]]}`, `{"shape": [2], "datatype": "BOOL", "data": [true, 0]}`,
		`{"shape": [4, 4611686018427387905], "datatype": "FP64", "data": [1, 2, 3, 4]}`, `{"shape": [], "datatype": "INT8", "data": [[[-128]]]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var stops Stops
		var content Content
		var prompt Prompt
		var array Array
		_, _ = json.Unmarshal(data, &stops), json.Unmarshal(data, &content)
		if err := json.Unmarshal(data, &prompt); err == nil && prompt.Text != nil && prompt.IDs != nil {
			t.Errorf("a text and the tokens of one: %+v", prompt)
		}
		if json.Unmarshal(data, &array) != nil {
			return
		}
		values, err := array.Read()
		if err != nil {
			return
		}
		n := big.NewInt(1)
		for _, size := range array.Shape {
			n.Mul(n, big.NewInt(int64(size)))
		}
		if n.String() != fmt.Sprint(len(values)) {
			t.Errorf("%d numbers of the shape %v", len(values), array.Shape)
		}
		for _, v := range values {
			if r := types[array.Datatype]; v < r.min || v > r.max {
				t.Errorf("%v is no %s", v, array.Datatype)
			}
		}
	})
}
