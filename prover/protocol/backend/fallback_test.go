package backend_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/conformance"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/backend"
)

var full = flag.Bool("full", false, "let every call fail with every threshold, not with one of them; make full does")

// TestConformance: a Fallback is a backend, over a device that works and over one
// that fails, once or for good, early and late, whatever runs where. Package prover
// lets every pass of whole proofs fail.
func TestConformance(t *testing.T) {
	for i, threshold := range []int{0, 1 << 9, 1 << 30} {
		for k, bad := range []int{0, 1, 2, 3, 5, 7, 10, 14, 19, 25, 32, 40} {
			if !*full && k%3 != i { // a few of each kind, once and for good
				continue
			}
			t.Run(fmt.Sprintf("threshold %d, fault at %d", threshold, bad), func(t *testing.T) {
				warned := 0
				conformance.Run(t, func(g *model.Graph, w backend.Witness) backend.Backend {
					device := conformance.Faulty{Of: cpu.New(g, w), Faults: &conformance.Faults{Bad: bad, ForGood: bad%4 < 2}}
					return backend.NewFallback(g, device, cpu.New(g, w), backend.Policy{Threshold: threshold, Warn: func(error) { warned++ }})
				})
				if faulty := bad > 0 && threshold < 1<<30; (warned > 0) != faulty {
					t.Errorf("%d warnings", warned)
				}
			})
		}
	}
}

// TestSender: tables of the CPU go to a device that has a memory of its own without a copy in between.
func TestSender(t *testing.T) {
	sent := 0
	for _, bad := range []int{0, 7, 25} {
		conformance.Run(t, func(g *model.Graph, w backend.Witness) backend.Backend {
			device := sender{conformance.Faulty{Of: cpu.New(g, w), Faults: &conformance.Faults{Bad: bad}}, &sent}
			return backend.NewFallback(g, device, cpu.New(g, w), backend.Policy{Threshold: 1 << 9, Warn: func(error) {}})
		})
	}
	if sent == 0 {
		t.Error("no table was sent")
	}
}

// sender is a device as if it had a memory of its own.
type sender struct {
	conformance.Faulty
	sent *int
}

func (s sender) Send(ctx context.Context, list [][]field.QM31) ([]backend.Table, error) {
	var tables []backend.Table
	for _, values := range list {
		*s.sent++
		t, err := s.Upload(ctx, slices.Clone(values))
		if err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	return tables, nil
}
