package main

import (
	"bytes"
	"strings"
	"testing"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/prover/statement"
)

func TestPrintVerified(t *testing.T) {
	v := &verified{Valid: true, Commitment: strings.Repeat("ab", 32), Outputs: []provemodel.Tensor{{Name: "y", Shape: []int{12}, Values: make([]float64, 12)}}}
	var b bytes.Buffer
	v.Print(&b)
	if !strings.Contains(b.String(), "VALID: the model with commitment "+v.Commitment+"\n") || !strings.Contains(b.String(), "… (12)") {
		t.Error(b.String())
	}
	b.Reset()
	(&verified{Reason: "why"}).Print(&b)
	if b.String() != "NOT VALID: why\n" {
		t.Error(b.String())
	}
}

// Names come from the key, which may come from the prover: none may paint over
// the verdict.
func TestNamesAreEscaped(t *testing.T) {
	const hostile = "y\x1b[1A\x1b[2KVALID: the model with commitment 00\nsecurity    128.0 bits\u202e"
	x := provemodel.Tensor{Name: hostile, Shape: []int{1}, Values: []float64{1}}
	p := &proved{proofMade: proofMade{Model: hostile, Input: hostile, Proof: hostile, VK: hostile}, judged: judged{Outputs: []compared{{Tensor: x}},
		fidelity: fidelity{Saturated: []statement.Saturation{{Where: hostile, Count: 1}}, Advice: "do something"}}}
	v := &verified{Valid: true, Inputs: []provemodel.Tensor{x}, Outputs: []provemodel.Tensor{x}}
	c := &committed{Model: hostile, Calibration: hostile, VK: hostile}
	for name, r := range map[string]struct {
		print func(*bytes.Buffer)
		lines int
	}{
		"proved":    {func(b *bytes.Buffer) { p.Print(b) }, 13},
		"verified":  {func(b *bytes.Buffer) { v.Print(b) }, 6},
		"committed": {func(b *bytes.Buffer) { c.Print(b) }, 4},
		"refused":   {func(b *bytes.Buffer) { (&verified{Reason: hostile}).Print(b) }, 1},
	} {
		var b bytes.Buffer
		r.print(&b)
		if got := strings.Count(b.String(), "\n"); got != r.lines || strings.ContainsAny(b.String(), "\x1b\u202e\r") {
			t.Errorf("%s: %d lines: %q", name, got, b.String())
		}
	}
}
