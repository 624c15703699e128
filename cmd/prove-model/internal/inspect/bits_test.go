package inspect

import "testing"

// Bits are what a proof has at least: never rounded up.
func TestTenths(t *testing.T) {
	for bits, want := range map[float64]string{107.9999: "107.9", 100.05: "100.0", 100.1: "100.1", 84: "84.0", 123.96875: "123.9"} {
		if got := Tenths(bits); got != want {
			t.Errorf("%v bits are written as %s, want %s", bits, got, want)
		}
	}
}
