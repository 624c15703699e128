package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/inspect"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/quantise"
)

const hostile = "<script>alert(1)</script>\x1b[2K\u202e\" onload=x"

// deep is the report of a model of very many layers with names as bad as they come.
func deep(layers int) *Report {
	r := &Report{Title: hostile, Facts: []Fact{{hostile, hostile}}, Advice: hostile,
		Outputs: []Output{{Name: hostile, Shape: []int{1, 10}}},
		Phases:  []ui.Phase{{Name: "prove", Seconds: 1.5, CPU: 3, Peak: 1e9}, {Name: "open"}}, Peak: 2e9,
		Key: &inspect.Key{Rounds: []inspect.Round{{Name: hostile, Times: 3, Grind: 16, Bits: 100.25}}, MinBits: 100.25},
	}
	for i := range layers {
		l := provemodel.Layer{Node: fmt.Sprintf("block%d/conv%d/%s", i, i, hostile), Op: "Conv", Value: fmt.Sprint("v", i), Shape: []int{1, 960, 14, 14}}
		if i%2 == 0 {
			l.Held, l.Bits, l.Frac, l.LookUps, l.Committed = true, 12, 5, 188160, 188160
			l.Accuracy = quantise.Accuracy{MaxError: 0.01, Relative: float64(i+1) * 1e-6}
		}
		r.Layers = append(r.Layers, l)
	}
	if layers > 9 {
		r.Layers[4].Relative, r.Layers[4].Saturated = 0.25, quantise.Saturated{Count: 7, Of: 100}
		r.Layers[6].Relative = math.Inf(1)
		r.Layers[8].Relative, r.Layers[8].Bits = 0.2, 8
	}
	return r
}

func written(t *testing.T, r *Report) string {
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The report names the worst layers and says what to do, holds nothing that runs, and
// stays small.
func TestReport(t *testing.T) {
	s := written(t, deep(600))
	if len(s) > 1e6 {
		t.Errorf("%d bytes", len(s))
	}
	for _, want := range []string{"The largest error is at <b>block6/", "more than 10^8 %", "7 of 100 values are beyond", "8 bits are few",
		"The weakest round has 100.2 bits", ">188160<", "The 40 largest of 300", "processor seconds", "default-src 'none'"} {
		if !strings.Contains(s, want) {
			t.Errorf("it lacks %q", want)
		}
	}
	for _, bad := range []string{"<script", "\x1b", "\u202e", "\" onload", "NaN", "Inf", "%!", "http:", "https:"} {
		if strings.Contains(s, bad) {
			t.Errorf("it has %q", bad)
		}
	}
	balanced(t, s)
}

// What there is not is left out.
func TestEmptyReport(t *testing.T) {
	for _, r := range []*Report{{Title: "empty"}, deep(0), deep(2), {Layers: []provemodel.Layer{{Node: "a", Held: true}}, Phases: []ui.Phase{{}}}} {
		s := written(t, r)
		balanced(t, s)
		if strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
			t.Errorf("%s", s)
		}
	}
}

// balanced checks that all elements but those without an end are closed.
func balanced(t *testing.T, s string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(s, "<!doctype html>\n")))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	depth := 0
	for {
		token, err := d.RawToken()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			if e.Name.Local != "meta" {
				depth++
			}
		case xml.EndElement:
			depth--
		}
	}
	if depth != 0 {
		t.Errorf("%d elements are not closed", depth)
	}
}
