package statement

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
)

// Numbers are real numbers, NaN and infinities among them where a key has codes for these.
// In JSON, which has none, they are "NaN", "Infinity" and "-Infinity".
type Numbers []float64

// MarshalJSON implements [json.Marshaler].
func (n Numbers) MarshalJSON() ([]byte, error) {
	if !slices.ContainsFunc(n, func(x float64) bool { return x-x != 0 }) {
		return json.Marshal([]float64(n))
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
