package reduce

import (
	"testing"
	"time"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// TestManyInputs: a circuit with many inputs costs its verifier what they are, and not their number for each of them.
func TestManyInputs(t *testing.T) {
	const inputs, read = 400_000, 100_000
	g := &model.Graph{Chunks: 1, Tensors: make([]model.Tensor, inputs, inputs+1)}
	sum := model.Tensor{Kind: model.Virtual}
	public := Public{Outputs: [][]int32{{0}}}
	for i := range inputs {
		g.Inputs = append(g.Inputs, model.TensorID(i))
		public.Inputs = append(public.Inputs, []int32{0})
		if i >= inputs-read {
			sum.Def = append(sum.Def, model.Linear{Coef: 1, Src: model.TensorID(i)})
		}
	}
	g.Tensors, g.Outputs = append(g.Tensors, sum), []model.TensorID{inputs}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	pl, err := plan.New(g, soundness.DefaultConfig)
	if err != nil {
		t.Fatal(err)
	}
	r := transcript.NewReader(transcript.New(hash.Blake3, "test"), nil)
	began := time.Now()
	Run(pl, pl.Forks[len(pl.Forks)-1], NewVerifier(r), public)
	if err := r.Done(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 2*time.Second { // a fraction of a second, and the product of the two numbers many seconds
		t.Errorf("%v", took)
	}
}
