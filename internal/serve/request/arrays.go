package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/internal/serve/receipt"
)

// Array is an array of a request in the Open Inference Protocol.
type Array struct {
	Name       string          `json:"name"`
	Shape      []int           `json:"shape"`
	Datatype   string          `json:"datatype"`
	Data       json.RawMessage `json:"data"`
	Parameters map[string]any  `json:"parameters"`
}

// exact is the greatest of the integers that only one float64 stands for: 2^53 is also what 2^53 + 1 is read as.
const exact = 1<<53 - 1

// types has the datatypes of numbers that inputs may have: whether they are whole numbers, and their range. 64-bit
// integers are limited to those that a float64 holds exactly.
var types = map[string]struct {
	whole    bool
	min, max float64
}{
	"FP64": {false, -math.MaxFloat64, math.MaxFloat64}, "FP32": {false, -math.MaxFloat32, math.MaxFloat32},
	"BOOL": {true, 0, 1}, "UINT8": {true, 0, math.MaxUint8}, "INT8": {true, math.MinInt8, math.MaxInt8}, "UINT16": {true, 0, math.MaxUint16},
	"INT16": {true, math.MinInt16, math.MaxInt16}, "INT32": {true, math.MinInt32, math.MaxInt32}, "UINT32": {true, 0, math.MaxUint32},
	"INT64": {true, -exact, exact}, "UINT64": {true, 0, exact},
}

// ReadAll reads the arrays of a request. It also returns the digest of each, by name, in the form that receipts have.
func ReadAll(list []Array) (arrays provemodel.Arrays, digests map[string]string, err error) {
	arrays, digests = make(provemodel.Arrays, len(list)), map[string]string{}
	for i := range list {
		in, a := &list[i], &arrays[i]
		a.Name, a.Shape = in.Name, in.Shape
		if in.Datatype == Strings {
			a.Strings, err = in.strings()
			digests[in.Name] = receipt.StringsDigest(a.Strings)
		} else {
			a.Values, err = in.Read()
			digests[in.Name] = receipt.Digest(a.Values)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return arrays, digests, nil
}

// Strings is the datatype of strings, in UTF-8.
const Strings = "BYTES"

// strings reads the strings of an array, which may be nested lists.
func (in *Array) strings() ([]string, error) {
	var out []string
	err := in.each(func(token json.Token) error {
		s, ok := token.(string)
		if !ok {
			return fmt.Errorf("input %s: its data is no list of strings", Short(in.Name))
		}
		out = append(out, s)
		return nil
	})
	return out, err
}

// Read reads the numbers of an array, which may be nested lists.
func (in *Array) Read() ([]float64, error) {
	t, ok := types[in.Datatype]
	if !ok {
		return nil, fmt.Errorf("input %s has the datatype %s, which is not supported", Short(in.Name), Short(in.Datatype))
	}
	var out []float64
	err := in.each(func(token json.Token) error {
		v, ok := number(token)
		if !ok {
			return fmt.Errorf("input %s: its data is no list of numbers", Short(in.Name))
		}
		if v < t.min || v > t.max || t.whole && v != math.Trunc(v) {
			return fmt.Errorf("input %s has %v, which is no %s", Short(in.Name), v, in.Datatype)
		}
		if in.Datatype == "FP32" {
			v = float64(float32(v))
		}
		out = append(out, v)
		return nil
	})
	return out, err
}

// each calls f with each element of an array's data. It returns an error if their number is not that of the shape.
func (in *Array) each(f func(json.Token) error) error {
	if len(in.Parameters) > 0 {
		return fmt.Errorf("input %s has parameters, which are not supported: its data is in the request, as JSON", Short(in.Name))
	}
	d := json.NewDecoder(bytes.NewReader(in.Data))
	count := 0
	for d.More() || d.InputOffset() < int64(len(in.Data)) {
		token, err := d.Token()
		if token == json.Delim('[') || token == json.Delim(']') {
			continue
		}
		if err != nil {
			token = nil // f refuses it, as it is no element
		}
		if err := f(token); err != nil {
			return err
		}
		count++
	}
	rest := count
	for _, size := range in.Shape { // divides rather than multiplies, as the product of the sizes may overflow
		if size < 1 || rest%size != 0 {
			rest = 0
			break
		}
		rest /= size
	}
	if rest != 1 {
		return fmt.Errorf("input %s has %d elements, and its shape is %v", Short(in.Name), count, in.Shape)
	}
	return nil
}

// number returns the number that a JSON token stands for; true is 1 and false is 0.
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

// Numbers are the numbers of an answer. NaN and infinities are texts.
type Numbers []float64

// UnmarshalJSON implements json.Unmarshaler.
func (n *Numbers) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, (*[]float64)(n)) == nil {
		return nil
	}
	var list []any
	if err := json.Unmarshal(data, &list); err != nil {
		return errors.New("want a list of numbers")
	}
	texts := map[any]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}
	*n = make(Numbers, len(list))
	for i, x := range list {
		v, ok := x.(float64)
		if !ok {
			if _, is := x.(string); is {
				v, ok = texts[x]
			}
		}
		if !ok {
			return errors.New("want a list of numbers")
		}
		(*n)[i] = v
	}
	return nil
}
