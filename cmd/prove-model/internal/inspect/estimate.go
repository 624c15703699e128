package inspect

import (
	"io"

	"github.com/prove-model/prove-model/internal/cost"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/hash"
)

// Estimate is what committing to a model and proving a run of it take, by the number
// of entries that are committed to: within about a factor of two.
type Estimate struct {
	Weights int `json:"weights"`           // committed to once
	Witness int `json:"witness,omitempty"` // committed to with each proof; 0: not known
	// Processor seconds, of all cores together.
	Commit float64 `json:"commit_cpu_seconds"`
	Prove  float64 `json:"prove_cpu_seconds,omitempty"`
	Memory int64   `json:"memory_bytes"`
}

// Bytes of an entry, from the proof of SmolLM2-135M in w8a8: 3.6 GB.
const (
	weightBytes   = 9
	witnessBytes  = 75
	smallestBytes = 30 << 20 // of the program
)

// estimate estimates what it takes to commit to a number of weights, and to prove a run
// whose witness has a number of entries. 0 entries: the run is not known.
func estimate(weights, witness int) *Estimate {
	e := &Estimate{
		Weights: weights, Witness: witness,
		Memory: smallestBytes + weightBytes*int64(weights) + witnessBytes*int64(witness),
	}
	commit, prove := cost.ProcessorTime(hash.Blake3, weights, witness) // the suite of a key unless it is said
	if e.Commit = commit; witness > 0 {
		e.Prove = prove
	}
	return e
}

// estimateOf is that of a circuit.
func estimateOf(g *model.Graph) *Estimate {
	weights, witness := 0, 0
	for i := range g.Tensors {
		switch t := &g.Tensors[i]; t.Kind {
		case model.Fixed:
			weights += model.Size(t.Shape)
		case model.Witness:
			witness += model.Size(t.Shape)
		}
	}
	return estimate(weights, witness)
}

func (e *Estimate) print(w io.Writer) {
	if e == nil {
		return
	}
	ui.Line(w, "to commit", "about %.2g s of processor time, to %d weights", e.Commit, e.Weights)
	ui.LineIf(e.Witness > 0, w, "to prove", "about %.2g s of processor time, with %d values of a run", e.Prove, e.Witness)
	ui.Line(w, "memory", "about %s", ui.Bytes(e.Memory))
}
