package statement

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/prove-model/prove-model/internal/parallel"
)

// Numbers are real numbers. NaN and infinities may be among them if the key has codes for these.
// JSON has no such numbers, so they are written as the strings "NaN", "Infinity" and "-Infinity".
type Numbers []float64

// MarshalJSON implements [json.Marshaler].
func (n Numbers) MarshalJSON() ([]byte, error) {
	if !slices.ContainsFunc(n, func(x float64) bool { return x-x != 0 }) {
		return n.finite()
	}
	b := []byte{'['}
	for i, x := range n {
		if i > 0 {
			b = append(b, ',')
		}
		switch {
		case math.IsNaN(x):
			b = append(b, `"NaN"`...)
		case math.IsInf(x, 1):
			b = append(b, `"Infinity"`...)
		case math.IsInf(x, -1):
			b = append(b, `"-Infinity"`...)
		default:
			b = strconv.AppendFloat(b, x, 'g', -1, 64)
		}
	}
	return append(b, ']'), nil
}

// together is how many numbers one goroutine encodes.
const together = 1 << 14

// finite returns what json.Marshal does for numbers that are all finite. It encodes many numbers in parallel, in pieces, and
// joins the pieces without their brackets.
func (n Numbers) finite() ([]byte, error) {
	if len(n) <= together {
		return json.Marshal([]float64(n))
	}
	parts := make([][]byte, (len(n)+together-1)/together)
	errs := make([]error, len(parts))
	parallel.For(len(parts), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			some := n[i*together : min((i+1)*together, len(n))]
			if parts[i], errs[i] = json.Marshal([]float64(some)); errs[i] == nil {
				parts[i] = parts[i][1 : len(parts[i])-1]
			}
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	parts[0] = append([]byte{'['}, parts[0]...)
	last := len(parts) - 1
	parts[last] = append(parts[last], ']')
	return bytes.Join(parts, []byte{','}), nil
}
