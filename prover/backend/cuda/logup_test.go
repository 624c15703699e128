package cuda

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/field"
	"github.com/prove-model/prove-model/prover/logup"
	"github.com/prove-model/prove-model/prover/transcript"
)

// TestLogUp compares proofs over trees on the device with those in memory.
func TestLogUp(t *testing.T) {
	to := newSums(t)
	dev := to.dev
	before := upperVars
	t.Cleanup(func() { upperVars = before })
	for _, n := range []int{9, 16, 31, 257} {
		for _, cut := range []struct{ upper, tail int }{{1, -1}, {1, 0}, {2, 2}, {5, 20}} {
			setTail(t, cut.tail)
			upperVars = cut.upper
			rng := rand.New(rand.NewPCG(uint64(n), uint64(cut.upper)))
			num, den := make([]field.M31, n), randomVec(rng, n)
			for i := range num {
				num[i] = randomQM31(rng).C0.A0
			}
			vars := logup.NumVars(n)
			leafNum, leafDen := newArray[field.M31](dev, 1<<vars), newArray[field.QM31](dev, 1<<vars)
			check(t, kernels.UploadSlice(dev, leafNum, num))
			check(t, kernels.UploadSlice(dev, leafDen, den))
			check(t, kernels.LogUpFill(dev, kernels.At[field.M31](leafNum, n), kernels.At[field.QM31](leafDen, n), 1<<vars-n))
			want, got := transcript.NewWriter(transcript.New("")), transcript.NewWriter(transcript.New(""))
			logup.Prove(want, num, den)
			tr := newTree(to, leafNum, leafDen, vars)
			logup.ProveTree(got, vars, tr)
			tr.free()
			if !bytes.Equal(got.Bytes(), want.Bytes()) {
				t.Fatalf("%d fractions, %+v: the proofs differ", n, cut)
			}
		}
	}
}
