package cpu

import (
	"testing"

	"github.com/prove-model/prove-model/prover/backend"
	"github.com/prove-model/prove-model/prover/backend/conformance"
	"github.com/prove-model/prove-model/prover/model"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, func(g *model.Graph, w backend.Witness) backend.Backend { return New(g, w) })
}
