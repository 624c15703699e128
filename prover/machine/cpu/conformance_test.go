package cpu

import (
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/conformance"
	"github.com/prove-model/prove-model/prover/math/arena"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

// Memory of the arena is overwritten when it is made and when it is freed, so that what
// nobody has written, or somebody uses too late, shows.
func TestConformance(t *testing.T) {
	defer arena.Poison()()
	conformance.Run(t, func(g *model.Graph, w backend.Witness) backend.Backend { return New(g, w) })
}
