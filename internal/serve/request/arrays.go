package request

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// Array is an array of a request.
type Array struct {
	Name       string          `json:"name"`
	Shape      []int           `json:"shape"`
	Datatype   string          `json:"datatype"`
	Data       json.RawMessage `json:"data"`
	Parameters map[string]any  `json:"parameters"`
}

// types are the datatypes that inputs may have, with whether they are whole numbers, and their range.
var types = map[string]struct {
	whole    bool
	min, max float64
}{
	"FP64": {false, -math.MaxFloat64, math.MaxFloat64}, "FP32": {false, -math.MaxFloat32, math.MaxFloat32},
	"BOOL": {true, 0, 1}, "UINT8": {true, 0, math.MaxUint8}, "INT8": {true, math.MinInt8, math.MaxInt8}, "UINT16": {true, 0, math.MaxUint16},
	"INT16": {true, math.MinInt16, math.MaxInt16}, "INT32": {true, math.MinInt32, math.MaxInt32}, "UINT32": {true, 0, math.MaxUint32},
	"INT64": {true, -(1 << 53), 1 << 53}, "UINT64": {true, 0, 1 << 53},
}

// Read reads the numbers of an array, nested or not.
func (in *Array) Read() ([]float64, error) {
	t, ok := types[in.Datatype]
	if !ok {
		return nil, fmt.Errorf("input %s has the datatype %s, which is not supported", Short(in.Name), Short(in.Datatype))
	}
	if len(in.Parameters) > 0 {
		return nil, fmt.Errorf("input %s has parameters, which are not supported: its data is in the request, as JSON", Short(in.Name))
	}
	d := json.NewDecoder(bytes.NewReader(in.Data))
	var out []float64
	for d.More() || d.InputOffset() < int64(len(in.Data)) {
		token, err := d.Token()
		if token == json.Delim('[') || token == json.Delim(']') {
			continue
		}
		v, ok := number(token)
		if err != nil || !ok {
			return nil, fmt.Errorf("input %s: its data is no list of numbers", Short(in.Name))
		}
		if v < t.min || v > t.max || t.whole && v != math.Trunc(v) {
			return nil, fmt.Errorf("input %s has %v, which is no %s", Short(in.Name), v, in.Datatype)
		}
		if in.Datatype == "FP32" {
			v = float64(float32(v))
		}
		out = append(out, v)
	}
	rest := len(out)
	for _, size := range in.Shape { // a product of sizes may be beyond all numbers
		if size < 1 || rest%size != 0 {
			rest = 0
			break
		}
		rest /= size
	}
	if rest != 1 {
		return nil, fmt.Errorf("input %s has %d numbers, and its shape is %v", Short(in.Name), len(out), in.Shape)
	}
	return out, nil
}

// number is the number that a token of JSON stands for: truth values are 0 and 1.
func number(token json.Token) (v float64, ok bool) {
	switch x := token.(type) {
	case bool:
		if x {
			v = 1
		}
		return v, true
	case float64:
		return x, true
	}
	return 0, false
}
