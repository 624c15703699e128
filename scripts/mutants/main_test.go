package main

import "testing"

// TestBuilt: package verifier says of the keys built by hand what docs/proof-format.md does. Those
// that are keys are proved. (scripts/verify-mutants.py asks the second verifier.)
func TestBuilt(t *testing.T) {
	for _, b := range allBuilt() {
		l := b.line()
		if proved := l.Want || b.run != nil; l.Valid != l.Want || l.Honest != proved {
			t.Errorf("%s: valid %t, want %t; proved %t, want %t: %s", b.name, l.Valid, l.Want, l.Honest, proved, l.Reason)
		}
	}
}
