package provemodel

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"
)

// certified makes key and certificate of an operator's model, whose inputs a proof is
// made for.
func certified(t *testing.T, name string, opts ...with) (c *Committed, cert []byte, in Input) {
	t.Helper()
	m, err := Open(filepath.Join("onnx", "testdata", "operators", name+".onnx"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	in = m.Random(1)
	circuit, err := Quantise(t.Context(), m, []Input{in}, quantiseWith(opts...))
	if err != nil {
		t.Fatal(err)
	}
	if c, err = Commit(t.Context(), circuit, commitWith(opts...)); err != nil {
		t.Fatal(err)
	}
	if cert, err = c.Certify(t.Context(), certifyWith(opts...)); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return c, cert, in
}

// Norms and Softmax have arguments of their own, which the certificate says where to
// find; and it says it for no other circuit.
func TestCertify(t *testing.T) {
	for i, name := range []string{"layernorm", "masked_softmax", "logsoftmax", "lpnorm", "conv_2d", "relu"} {
		opts := []with{withSecurityBits(40), withGrindBits(4), withHash([]string{"poseidon2", "blake3"}[i%2])}
		c, cert, in := certified(t, name, opts...)
		p, err := Prove(t.Context(), c, in, proveWith(opts...))
		if err != nil {
			t.Fatal(err)
		}
		known := c.Commitment()
		verify := func(cert []byte, expect *Commitment) error {
			opts := &VerifyOptions{MinBits: 40, ExpectCommitment: expect, Certificate: bytes.NewReader(cert)}
			s, err := Verify(c.Key(), bytes.NewReader(p.File), opts)
			if err == nil && !s.Certified {
				t.Errorf("%s: not said to be certified", name)
			}
			return err
		}
		if err := verify(cert, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := verify(cert, &known); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		rng := rand.New(rand.NewPCG(2, 2))
		for n := range 150 {
			b := bytes.Clone(cert)
			at := n
			if n >= 75 {
				at = rng.IntN(len(b))
			}
			b[at] ^= 1 << rng.IntN(8)
			if err := verify(b, nil); !errors.Is(err, ErrInvalid) {
				t.Fatalf("%s: byte %d of %d changed: %v", name, at, len(b), err)
			}
		}
		if s, err := Verify(c.Key(), bytes.NewReader(p.File), &VerifyOptions{MinBits: 40}); err != nil || s.Certified {
			t.Errorf("%s, without: %v", name, err)
		}
		var weak *WeakError
		if _, err := Verify(c.Key(), bytes.NewReader(p.File), &VerifyOptions{Certificate: bytes.NewReader(cert)}); !errors.As(err, &weak) {
			t.Errorf("%s: 40 bits are enough: %v", name, err)
		}
	}
}

// A certificate holds for batches of any size.
func TestCertifyBatches(t *testing.T) {
	c, _ := commit(t, quick...)
	cert, err := c.Certify(t.Context(), certifyWith(quick...))
	if err != nil {
		t.Fatal(err)
	}
	arrays, err := ReadArrays(digits + "test.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 3} {
		p, err := Prove(t.Context(), c, Input{arrays[0].Values[:64*n]}, proveWith(quick...))
		if err != nil {
			t.Fatal(err)
		}
		s, err := Verify(c.Key(), bytes.NewReader(p.File), &VerifyOptions{MinBits: 60, Certificate: bytes.NewReader(cert)})
		if err != nil || !s.Certified {
			t.Errorf("%d digits: %v", n, err)
		}
	}
	// The same weights in another circuit, here with other scales.
	other, _ := commit(t, append(quick, withHeadroom(3))...)
	if _, err := Verify(other.Key(), bytes.NewReader(nil), &VerifyOptions{Certificate: bytes.NewReader(cert)}); err == nil {
		t.Error("no proof")
	}
	p, err := Prove(t.Context(), other, Input{arrays[0].Values[:64]}, proveWith(quick...))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(other.Key(), bytes.NewReader(p.File), &VerifyOptions{MinBits: 60, Certificate: bytes.NewReader(cert)}); !errors.Is(err, ErrInvalid) {
		t.Errorf("another key's certificate: %v", err)
	}
}
