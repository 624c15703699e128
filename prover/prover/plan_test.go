package prover

import (
	"io"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// TestPlanKnowsTheProof: the streams of every fork have the length that the plan
// says, and as many claims are opened as it lists.
func TestPlanKnowsTheProof(t *testing.T) {
	for _, chunk := range []int{0, 100} {
		rng := rand.New(rand.NewPCG(1, 2))
		b := everything(rng)
		b.g.Finish(chunk)
		p := b.prove(t, rng, proof.Security{TargetBits: 100, GrindBits: 8})
		pl, err := p.key.Plan(b.g.Instance)
		if err != nil {
			t.Fatal(err)
		}
		f := p.split(t)
		streams := append([][]byte{f.commitments}, f.chunks...)
		streams = append(streams, f.io, f.opening)
		if len(streams) != len(pl.Frames) {
			t.Fatalf("%d frames, planned %d", len(streams), len(pl.Frames))
		}
		for i, frame := range pl.Frames {
			if n := int64(len(streams[i])); n > frame.Bytes || frame.Exact && n != frame.Bytes {
				t.Errorf("%s: %d bytes, planned %d", frame, n, frame.Bytes)
			}
			if frame.Exact != (frame.Kind != plan.Opening) {
				t.Errorf("%s: exact %v", frame, frame.Exact)
			}
		}
		claims := 0
		for _, f := range pl.Forks {
			claims += len(f.Claims)
		}
		key, tree, err := Commit(t.Context(), b.g.Template(), b.w, p.key.Security, Options{})
		if err != nil {
			t.Fatal(err)
		}
		stats, err := Prove(t.Context(), key, b.g.Instance, tree, b.run(t, rng), io.Discard, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if stats.Claims != claims {
			t.Errorf("%d claims, planned %d", stats.Claims, claims)
		}
	}
}
