package main

import "testing"

// TestBuilt: package verifier says of the keys built by hand what docs/proof-format.md does. Those
// that are keys are proved. (scripts/verify-mutants.py asks the second verifier.)
func TestBuilt(t *testing.T) {
	for _, b := range allBuilt() {
		l := b.line()
		if l.Valid != l.Want || l.Honest != l.Want {
			t.Errorf("%s: valid %t, proved %t, want %t: %s", b.name, l.Valid, l.Honest, l.Want, l.Reason)
		}
	}
}
