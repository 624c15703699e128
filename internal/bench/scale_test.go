package bench

import (
	"bytes"
	"math"
	"strings"
	"testing"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/ui"
)

// All sizes are measured, smallest first; one beyond the memory that there is says so.
func TestScale(t *testing.T) {
	cfg := config.Default()
	cfg.SecurityBits, cfg.GrindBits, cfg.Mode = 40, 4, config.ModeW8A8
	ph := ui.NewPhases(nil, true)
	var rows []ScaleRow
	report := func(r ScaleRow) { rows = append(rows, r) }
	if err := Scale(t.Context(), &cfg, Scaling{Layers: 2, From: 9, To: 10, Tokens: []int{1, 3}}, ph, report); err != nil {
		t.Fatal(err)
	}
	release, err := provemodel.LimitMemory(1<<30, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := Scale(t.Context(), &cfg, Scaling{Layers: 16, From: 34, To: 34, Tokens: []int{1}}, ph, report); err != nil {
		t.Fatal(err)
	}
	want := [][2]int{{9, 1}, {9, 3}, {10, 1}, {10, 3}, {34, 1}}
	if len(rows) != len(want) {
		t.Fatalf("%d rows", len(rows))
	}
	for i, r := range rows {
		if got := [2]int{r.Log, r.Tokens}; got != want[i] {
			t.Errorf("row %d is of %v, want %v", i, got, want[i])
		}
		if ratio := math.Ldexp(float64(r.Parameters), -r.Log); ratio < 0.8 || ratio > 1.2 {
			t.Errorf("row %d: %d parameters", i, r.Parameters)
		}
		if refused := r.Log == 34; refused != (r.Refused != "") || !refused && (r.ProofBytes == 0 || r.Estimated == 0) {
			t.Errorf("row %d: refused %q, %d bytes", i, r.Refused, r.ProofBytes)
		}
	}
	var table bytes.Buffer
	if ScaleRows(rows).Print(&table); !strings.Contains(table.String(), "it takes ") {
		t.Errorf("%v\n%s", err, table.String())
	}
}
