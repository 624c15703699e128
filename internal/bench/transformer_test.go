package bench

import (
	"bytes"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/kernels/devicetest"
)

// The products of a small transformer are proved and verify, for one token and
// for several, and nothing is left on the device.
func TestMatMuls(t *testing.T) {
	d := devicetest.NewFaulty(devicetest.Open(t), -1)
	var all []*MatMuls
	for _, tokens := range []int{1, 3} {
		shape := Transformer{Layers: 1, Hidden: 48, Heads: 3, KVHeads: 1, HeadDim: 16, Intermediate: 80}
		m, err := MeasureMatMuls(t.Context(), d, shape, tokens)
		if err != nil {
			t.Fatal(err)
		}
		if m.Products != 4 || m.Weights != (48*80+48*48+48*160+80*48) || m.Prove <= 0 || m.ProofBytes == 0 {
			t.Errorf("%+v", m)
		}
		all = append(all, m)
	}
	if d.Live() != 0 {
		t.Errorf("%d bytes are left on the device", d.Live())
	}
	var table bytes.Buffer
	if err := MatMulsTable(&table, all); err != nil || strings.Count(table.String(), "\n") < 3 {
		t.Errorf("%v, %s", err, &table)
	}
	if _, err := MeasureMatMuls(t.Context(), devicetest.NewFaulty(d, 20), Transformer{1, 16, 1, 1, 16, 16}, 1); err == nil {
		t.Error("no memory, no error")
	}
}
