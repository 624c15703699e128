package lower

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// A rounded range holds the range, hardly anything more, and comes back from
// its codes.
func TestRangeCodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-math.MaxFloat64/2, math.MaxFloat64/2)
		a, b := x.Draw(t, "a"), x.Draw(t, "b")
		r := Range{Min: min(a, b), Max: max(a, b)}
		r.Least = rapid.Float64Range(0, r.Abs()).Draw(t, "least")
		got := r.Rounded()
		const eps = 1.0 / (1 << 16)
		for _, bad := range []bool{
			got.Min > r.Min, got.Max < r.Max, got.Least > r.Least,
			r.Min-got.Min > eps*math.Abs(r.Min)+0x1p-1038, got.Max-r.Max > eps*math.Abs(r.Max)+0x1p-1038,
			r.Least-got.Least > eps*r.Least+0x1p-1038,
			r.Min >= 0 && got.Min < 0, r.Max <= 0 && got.Max > 0,
		} {
			if bad {
				t.Fatalf("%v becomes %v", r, got)
			}
		}
		if got.Rounded() != got {
			t.Fatalf("%v is not rounded", got)
		}
		codes := got.Codes()
		for _, c := range codes {
			if c >= 1<<codeBits {
				t.Fatalf("code %x", c)
			}
		}
		if back, err := RangeOf(codes); err != nil || back != got {
			t.Fatalf("%v comes back as %v, %v", got, back, err)
		}
	})
	if r := (Range{0.1, 0.1, 0.1}).Rounded(); !(r.Min < 0.1 && r.Max > 0.1 && r.Least < 0.1) {
		t.Errorf("%v", r)
	}
	zero := math.Copysign(0, -1)
	if codes := (Range{zero, zero, zero}).Rounded().Codes(); codes != [3]uint32{} {
		t.Errorf("codes of 0: %x", codes)
	}
	if r := (Range{math.NaN(), math.Inf(1), 1}).Rounded(); !math.IsNaN(r.Min) || !math.IsInf(r.Max, 1) {
		t.Errorf("%v", r)
	}
	code := func(x float64) uint32 { return uint32(math.Float64bits(x) >> codeShift) }
	for name, codes := range map[string][3]uint32{
		"not a number":    {code(math.NaN()), 0, 0},
		"infinite":        {0, code(math.Inf(1)), 0},
		"the wrong way":   {code(2), code(1), code(1)},
		"negative zero":   {code(zero), 0, 0},
		"least below 0":   {0, code(1), code(-1)},
		"least too large": {code(-1), code(1), code(2)},
	} {
		if r, err := RangeOf(codes); err == nil {
			t.Errorf("%s: accepted as %v", name, r)
		}
	}
}
