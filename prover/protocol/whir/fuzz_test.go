package whir

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// FuzzVerify gives the verifier any bytes: only the honest proof is accepted.
func FuzzVerify(f *testing.F) {
	c := soundness.Config{TargetBits: 12, GrindBits: 2, LogBlowup: 1, Mode: soundness.Johnson}
	o, err := newOpening(c, rand.New(rand.NewPCG(9, 9)), []Layout{rows(9, 2), rows(7, 1, 2)}, 2, []int{10, 9, 3})
	if err != nil {
		f.Fatal(err)
	}
	honest := o.prove()
	f.Add(honest)
	f.Add(honest[:len(honest)/2])
	f.Add(bytes.Repeat([]byte{255}, len(honest)))
	f.Add(make([]byte, len(honest)))
	f.Fuzz(func(t *testing.T, proof []byte) {
		if o.verify(proof) == nil && !bytes.Equal(proof, honest) {
			t.Error("another proof is accepted")
		}
	})
}
