package prover

import (
	"testing"
	"time"
	"fmt"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

func TestZZ(t *testing.T) {
	b := layered(100, 1024, 512, false)
	p, err := plan.New(&b.g, proof.Security{TargetBits: 100, GrindBits: 16}.Config())
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
	m := cuda.NewMachine(kernels.NewDry(132))
	at := time.Now()
	n := m.Need(p)
	d := time.Since(at)
	for _, f := range p.Forks {
		m.TaskNeed(p, f)
	}
	fmt.Println(len(p.Forks), d, time.Since(at), *n)
	}
}
