package provemodel

import (
	"bytes"
	"math"
	"slices"
	"testing"
)

// TestFix: an input that is fixed is part of the model, and its value of the key.
func TestFix(t *testing.T) {
	const path = "onnx/testdata/operators/gather_of_computed.onnx"
	x := make([]float64, 30)
	for i := range x {
		x[i] = float64(i) - 10
	}
	commit := func(index ...float64) *Committed {
		t.Helper()
		m, err := Open(path, &OpenOptions{BindInput: Arrays{{Name: "i", Shape: []int{len(index)}, Values: index}}})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if specs := m.Inputs(); len(specs) != 1 || specs[0].Name != "x" {
			t.Fatalf("the model takes %v", specs)
		}
		circuit, err := Quantise(t.Context(), m, []Input{{x}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Commit(t.Context(), circuit, commitWith(withSecurityBits(40), withGrindBits(2)))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	a, b := commit(4, 0, 0), commit(4, 0, 1)
	if a.Commitment() == b.Commitment() {
		t.Error("another value has the same commitment")
	}
	fix := func(index ...float64) *CheckKeyOptions {
		return &CheckKeyOptions{BindInput: Arrays{{Name: "i", Shape: []int{len(index)}, Values: index}}}
	}
	if err := CheckKey(t.Context(), path, a.Key(), fix(4, 0, 0)); err != nil {
		t.Error(err)
	}
	for _, other := range []*CheckKeyOptions{fix(4, 0, 1), nil} {
		if err := CheckKey(t.Context(), path, a.Key(), other); err == nil {
			t.Error("another value is accepted")
		}
	}
	for _, bad := range []Arrays{
		{{Name: "j", Shape: []int{1}, Values: []float64{0}}},
		{{Name: "i", Shape: []int{3}, Values: []float64{0, 0.5, 1}}},
		{{Name: "i", Shape: []int{3}, Values: []float64{0, 1, 7}}},
	} {
		if m, err := Open(path, &OpenOptions{BindInput: bad}); err == nil {
			m.Close()
			t.Errorf("%v: accepted", bad)
		}
	}
}

// TestEverythingFixed: what a model without inputs gives is constant, and proved as
// that: the statement has its outputs alone, and the key decides on them.
func TestEverythingFixed(t *testing.T) {
	const path = "onnx/testdata/operators/gather_of_computed.onnx"
	x := make([]float64, 30)
	for i := range x {
		x[i] = float64(i) - 10
	}
	m, err := Open(path, &OpenOptions{BindInput: Arrays{{Name: "x", Shape: []int{2, 5, 3}, Values: x}, {Name: "i", Shape: []int{3}, Values: []float64{4, 0, 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	float, err := m.Run(t.Context(), Input{})
	if err != nil {
		t.Fatal(err)
	}
	circuit, err := Quantise(t.Context(), m, []Input{{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Commit(t.Context(), circuit, commitWith(withSecurityBits(40), withGrindBits(2)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Prove(t.Context(), c, Input{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Verify(c.Key(), bytes.NewReader(p.File), &VerifyOptions{MinBits: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Inputs) != 0 || len(s.Outputs) != 1 {
		t.Fatalf("%d inputs and %d outputs", len(s.Inputs), len(s.Outputs))
	}
	for i, v := range s.Outputs[0].Values {
		if math.Abs(v-float[0].Values[i]) > 1e-4 {
			t.Errorf("entry %d is %g instead of %g", i, v, float[0].Values[i])
		}
	}
	for at := range p.File {
		altered := slices.Clone(p.File)
		altered[at] ^= 1
		if _, err := Verify(c.Key(), bytes.NewReader(altered), &VerifyOptions{MinBits: 1}); err == nil {
			t.Errorf("with byte %d of %d changed it is accepted", at, len(altered))
		}
	}
}
