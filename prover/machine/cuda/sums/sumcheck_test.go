package sums

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/sumcheck"
)

// newDevice returns a device whose memory must all be given back.
func newDevice(t testing.TB) kernels.Device {
	s := device.NewScope(devicetest.Open(t))
	t.Cleanup(func() {
		if s.Live() > 0 {
			t.Errorf("%d bytes were not freed", s.Live())
		}
	})
	return s
}

// newSums returns what brings sums from such a device, a few at once through its result buffer.
func newSums(t testing.TB) device.Results { return newSumsOn(t, newDevice(t), 64) }

// newSumsOn is newSums of a device, with a result buffer of so many words.
func newSumsOn(t testing.TB, dev kernels.Device, words int) device.Results {
	box, err := dev.NewResultBuffer(words)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return device.Results{Dev: dev, Box: box}
}

func randomQM31(rng *rand.Rand) field.QM31 {
	limb := func() field.M31 {
		switch rng.IntN(8) {
		case 0:
			return 0
		case 1:
			return field.P - 1
		}
		return field.M31(rng.Uint32N(field.P))
	}
	return field.NewQM31(limb(), limb(), limb(), limb())
}

func randomVec(rng *rand.Rand, n int) []field.QM31 {
	v := make([]field.QM31, n)
	for i := range v {
		v[i] = randomQM31(rng)
	}
	return v
}

// setTail makes sumchecks leave the device at a number of variables.
func setTail(t testing.TB, vars int) {
	before := tailVars
	t.Cleanup(func() { tailVars = before })
	tailVars = vars
}

// setThree makes sumchecks do three rounds a pass from a number of entries on, up to one of instances.
func setThree(t testing.TB, entries, instances int) {
	from, most := threeFrom, threeMost
	t.Cleanup(func() { threeFrom, threeMost = from, most })
	threeFrom, threeMost = entries, instances
}

// TestSumcheck compares proofs on the device with those in memory, for batches
// of instances of many sizes, with and without eq, eq coordinates that are zero
// among them, with the tail anywhere, and with three rounds a pass wherever they can be, only where
// there is much, and never.
func TestSumcheck(t *testing.T) {
	dev := newDevice(t)
	small, large := newSumsOn(t, dev, 64), newSumsOn(t, dev, 1<<12)
	type shape struct{ vars, eq int }
	for _, shapes := range [][]shape{
		{{0, 0}}, {{1, 0}}, {{1, 1}}, {{9, 0}}, {{10, 3}}, {{5, 5}},
		{{3, 0}, {0, 0}, {11, 5}, {11, 0}, {7, 7}, {2, 1}, {8, 0}},
	} {
		for k, tail := range []int{-1, 1, 4, 20, -1, 4, 3, -1, 2} {
			setTail(t, tail)
			setThree(t, []int{0, 1 << 10, 1 << 40}[k%3], []int{100, 2}[k%2])
			to := small
			if k > 3 {
				to = large
			}
			rng := rand.New(rand.NewPCG(uint64(len(shapes)), uint64(tail+9)))
			insts, there := make([]sumcheck.Instance, len(shapes)), make([]sumcheckInstance, len(shapes))
			shapesOf := make([]sumcheck.Shape, len(shapes))
			for i, s := range shapes {
				a, b, eq := randomVec(rng, 1<<s.vars), randomVec(rng, 1<<s.vars), randomVec(rng, s.eq)
				if s.eq > 2 {
					eq[1] = field.Zero
				}
				there[i] = sumcheckInstance{a: device.NewCopy(dev, a), b: device.NewCopy(dev, b), vars: s.vars, eq: eq}
				claim := field.Zero
				for x := range a {
					claim = claim.Add(poly.EqIndex(eq, uint64(x>>(s.vars-s.eq))).Mul(a[x]).Mul(b[x]))
				}
				if got := inner(to, []sumcheckInstance{{a: there[i].a, b: there[i].b, vars: s.vars, eq: eq}})[0]; got != claim {
					t.Fatalf("inner product of %+v: %v, want %v", s, got, claim)
				}
				insts[i] = sumcheck.Instance{Eq: eq, A: a, B: b}
				shapesOf[i] = sumcheck.Shape{Claim: transcript.Known(claim), NumVars: s.vars, Eq: eq}
			}
			var proofs [2][]byte
			for i, tables := range []sumcheck.Tables{sumcheck.NewTables(insts), newBatch(device.NewScope(dev), to.Box, there)} {
				w := transcript.NewWriter(transcript.New(hash.Poseidon2, ""))
				if _, err := sumcheck.Prove(context.Background(), w, shapesOf, tables); err != nil {
					t.Fatal(err)
				}
				tables.Close()
				proofs[i] = w.Bytes()
			}
			if !bytes.Equal(proofs[0], proofs[1]) {
				t.Fatalf("%v, tail from %d variables: the proofs differ", shapes, tail)
			}
		}
	}
}
