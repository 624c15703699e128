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
	before, lanes, least := upperVars, inLanes, leanVars
	t.Cleanup(func() { upperVars, inLanes, leanVars = before, lanes, least })
	for _, n := range []int{17, 25, 32, 33, 63, 257, 300, 400, 510} {
		for _, cut := range []struct{ upper, tail, lanes, lean int }{{2, -1, 16, 20}, {2, 0, 0, 4}, {3, 2, 1 << 15, 5}, {5, 20, 0, 7}} {
			setTail(t, cut.tail)
			upperVars, inLanes, leanVars = cut.upper, cut.lanes, cut.lean
			rng := rand.New(rand.NewPCG(uint64(n), uint64(cut.upper)))
			num, den := make([]field.M31, n), randomVec(rng, n)
			for i := range num { // look-ups have the numerators 1
				if num[i] = 1; n != 33 && rng.IntN(n) < 3 {
					num[i] = randomQM31(rng).C0.A0
				}
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

// TestLastLayer compares the rounds from the leaves with those in memory, for λ = 0 too, where look-ups
// are not summed in their own way.
func TestLastLayer(t *testing.T) {
	to := newSums(t)
	ctx := context.Background()
	setTail(t, 0)
	const n = 50
	rng := rand.New(rand.NewPCG(5, 6))
	num, den := make([]field.M31, n), randomVec(rng, n)
	for i := range num {
		num[i] = 1
	}
	num[7] = 5
	for _, lambda := range []field.QM31{{}, field.One, randomQM31(rng)} {
		a := device.NewScope(to.Dev)
		leafNum, leafDen := device.NewArray[field.M31](a, n), device.NewArray[field.QM31](a, n)
		device.Check(kernels.UploadSlice(to.Dev, leafNum, num))
		device.Check(kernels.UploadSlice(to.Dev, leafDen, den))
		want, got := logup.NewTree(num, den), newTree(a, to.Box, leafNum, leafDen, n, false)
		point, r := randomVec(rng, 5), randomVec(rng, 5)
		for _, tree := range []logup.Tree{want, got} {
			if err := tree.Begin(ctx, 5, point, lambda); err != nil {
				t.Fatal(err)
			}
		}
		for round := range 5 {
			before := field.Zero
			if round > 0 {
				before = r[round-1]
			}
			w, err := want.Round(ctx, round, before)
			if err != nil {
				t.Fatal(err)
			}
			if g, err := got.Round(ctx, round, before); err != nil || g != w {
				t.Fatalf("λ %v, round %d: %v, %v; not %v", lambda, round, g, err, w)
			}
		}
		w, err := want.End(ctx, r[4])
		if err != nil {
			t.Fatal(err)
		}
		if g, err := got.End(ctx, r[4]); err != nil || g != w {
			t.Fatalf("λ %v, end: %v, %v; not %v", lambda, g, err, w)
		}
		want.Close()
		got.Close()
	}
}
