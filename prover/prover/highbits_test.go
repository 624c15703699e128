package prover

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/quantise"
)

// TestLimbsAreForced tries to change what a rounding to two limbs commits to, whose lower
// limb is the value of a high-bits table that keeps in its range what it is the upper bits
// of: every kind of change at some entries, and all that follows from it.
func TestLimbsAreForced(t *testing.T) {
	t.Parallel()
	for _, chunk := range []int{0, 100} {
		rng := rand.New(rand.NewPCG(41, uint64(chunk)))
		b := everything(rng)
		if err := b.g.Finish(chunk); err != nil {
			t.Fatal(err)
		}
		in := make([]int32, 90)
		for i := range in {
			in[i] = rng.Int32N(256) - 128
		}
		f := &forger{m: &quantise.Model{Circuit: b.g.Template(), Graph: &b.g, Weights: b.w}, in: [][]int32{in}}
		f.commit(t)
		if err := f.prove(t, f.honest); err != nil {
			t.Fatalf("the honest control is rejected: %v", err)
		}
		high, low := b.index(b.step("limbs high")), b.index(b.step("limbs low"))
		if s := &b.g.Steps[low]; b.g.Tables[s.Table].Drop == 0 || s.Acc.Linear[0].Src != b.g.Steps[high].Lo {
			t.Fatal("the steps are others")
		}
		entries := 2
		if *full {
			entries = 8
		}
		for range entries {
			i, tried := rng.IntN(60), map[string]bool{}
			for _, step := range []int{high, low} {
				for _, c := range f.forgeries(step, i, rng) {
					tried[c.what[strings.LastIndex(c.what, ":"):]] = true
					f.rejected(t, c.what, f.forge(c))
				}
			}
			for _, what := range []string{": value + 1", ": remainder + 1", ": the row below", ": another remainder in range"} {
				if !tried[what] {
					t.Errorf("entry %d: nothing like %q was tried", i, what)
				}
			}
		}
		if f.several == 0 {
			t.Error("no forgery altered several steps")
		}
	}
}
