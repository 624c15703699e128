package prover

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/verifier"
)

// TestSaturatedIsStated: a proof gives the number of look-ups whose keys are those of
// saturated rows, whatever intervals they make, of one chunk and of several.
func TestSaturatedIsStated(t *testing.T) {
	var many []model.Rows
	for i := range int64(20) {
		many = append(many, model.Rows{From: 1<<11 - 160 + 8*i + 1, To: 1<<11 - 160 + 8*i + 6})
	}
	for _, marked := range [][]model.Rows{
		many,
		{{From: 1<<11 + 100, To: 1 << 12}},
		{{From: 0, To: 1 << 11}, {From: 1<<11 + 100, To: 1<<11 + 101}, {From: 1<<11 + 103, To: 1<<12 - 1}},
		{{From: 1<<12 - 1, To: 1 << 12}},
		nil,
	} {
		for _, chunk := range []int{0, 100} {
			rng := rand.New(rand.NewPCG(3, 1))
			b := everything(rng)
			relu := b.relu()
			b.g.Tables[relu].Saturated = marked
			for i := range b.g.Tables {
				if b.g.Tables[i].Kind == model.TableFunc {
					b.g.Tables[i].Saturated = []model.Rows{{From: 128, To: 256}}
				}
			}
			b.g.Finish(chunk)
			wit := b.run(t, rng)
			key, tree, err := Commit(context.Background(), b.g.Template(), b.w, proof.Security{TargetBits: 60, GrindBits: 4}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var buf bytes.Buffer
			if _, err := Prove(context.Background(), key, b.g.Instance, tree, wit, &buf, Options{}); err != nil {
				t.Fatal(err)
			}
			decoded, err := proof.DecodeKey(key.Encoded())
			if err != nil {
				t.Fatal(err)
			}
			got, err := verifier.Verify(decoded, &buf)
			if err != nil {
				t.Fatal(err)
			}
			var want []verifier.Saturation
			for id := range b.g.Tables {
				table := &b.g.Tables[id]
				if len(table.Saturated) == 0 {
					continue
				}
				s := verifier.Saturation{Table: model.TableID(id)}
				for i := range b.g.Steps {
					if b.g.Steps[i].Table != s.Table {
						continue
					}
					for _, k := range wit.Keys[i] {
						if row := int64(k) - table.Min; slices.ContainsFunc(table.Saturated, func(r model.Rows) bool { return r.From <= row && row < r.To }) {
							s.Count++
						}
					}
					s.Of += len(wit.Keys[i])
				}
				want = append(want, s)
			}
			if len(got.Saturated) != len(want) {
				t.Fatalf("%v, want %v", got.Saturated, want)
			}
			for i, s := range got.Saturated {
				if s != want[i] {
					t.Errorf("%d chunks, rows %v: %+v, want %+v", b.g.Chunks, marked, s, want[i])
				}
			}
		}
	}
}
