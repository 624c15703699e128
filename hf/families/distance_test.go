package families

import "testing"

// The buckets are those that transformers 5.23 gives (MPNetEncoder.relative_position_bucket, in float32), also where
// the logarithm of a distance is a whole number of steps.
func TestBothWays(t *testing.T) {
	for ahead, want := range map[int]int{
		-600: 15, -128: 15, -127: 15, -91: 15, -90: 14, -64: 14, -63: 13, -32: 12, -31: 11, -16: 10, -15: 9, -8: 8, -7: 7, -1: 1, 0: 0, 1: 17,
		7: 23, 8: 24, 11: 24, 12: 25, 16: 26, 22: 26, 23: 27, 32: 28, 45: 28, 46: 29, 64: 30, 90: 30, 91: 31, 127: 31, 128: 31, 511: 31,
	} {
		if got := bothWays(ahead, 32, 128); got != want {
			t.Errorf("distance %d: bucket %d, want %d", ahead, got, want)
		}
	}
}
