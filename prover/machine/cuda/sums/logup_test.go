package sums

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/logup"
)

// TestLogUp compares proofs over trees on the device with those in memory.
func TestLogUp(t *testing.T) {
	to := newSums(t)
	dev := to.Dev
	before := upperVars
	t.Cleanup(func() { upperVars = before })
	for _, n := range []int{9, 13, 16, 31, 257, 300, 400, 510} {
		for _, cut := range []struct{ upper, tail int }{{1, -1}, {1, 0}, {2, 2}, {5, 20}} {
			setTail(t, cut.tail)
			upperVars = cut.upper
			rng := rand.New(rand.NewPCG(uint64(n), uint64(cut.upper)))
			num, den := make([]field.M31, n), randomVec(rng, n)
			for i := range num {
				num[i] = randomQM31(rng).C0.A0
			}
			vars := logup.NumVars(n)
			a := device.NewScope(dev)
			leafNum, leafDen := device.NewArray[field.M31](a, n), device.NewArray[field.QM31](a, n)
			for _, err := range []error{
				kernels.UploadSlice(dev, leafNum, num), kernels.UploadSlice(dev, leafDen, den),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			var proofs [2][]byte
			for i, tr := range []logup.Tree{logup.NewTree(num, den), newTree(a, to.Box, leafNum, leafDen, n, false)} {
				w := transcript.NewWriter(transcript.New(hash.Poseidon2, ""))
				if _, err := logup.Prove(context.Background(), w, vars, tr); err != nil {
					t.Fatal(err)
				}
				tr.Close()
				proofs[i] = w.Bytes()
			}
			if !bytes.Equal(proofs[0], proofs[1]) {
				t.Fatalf("%d fractions, %+v: the proofs differ", n, cut)
			}
		}
	}
}
