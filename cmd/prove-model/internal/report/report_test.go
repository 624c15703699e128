package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/inspect"
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/ui"
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
		l := quantise.Layer{Node: fmt.Sprintf("block%d/conv%d/%s", i, i, hostile), Op: "Conv", Value: fmt.Sprint("v", i), Shape: []int{1, 960, 14, 14}}
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

// What was proved comes first: of a language model the text with every token, of a classifier
// the picture and its classes.
func TestProvedComesFirst(t *testing.T) {
	r := deep(2)
	pictures := Pictures([]int{2, 1, 4, 5}, make([]float64, 40))
	if len(pictures) != 2 {
		t.Fatalf("%d pictures", len(pictures))
	}
	r.Text = &Text{Prompt: "What is\nthis? " + hostile, Answer: "A test.", Chosen: "Nobody picked these words.", Stopped: "It ended.",
		Tokens: []Token{{"A", 1.5, "B", "A"}, {" test", -0.25, " bar", " bar"}}}
	r.Pictures = []Picture{{hostile, pictures[0]}}
	r.Scores = []Scores{{"logits", []float64{1, 3, 2}, []float64{1, 2, 3}, pictures[1]}, {"logits", []float64{1, 3, 2}, []float64{1, 3, 2}, nil}}
	s := written(t, r)
	balanced(t, s)
	last := -1
	for _, want := range []string{"<h1>", "What is\nthis? &lt;script&gt;", "A test.", "Nobody picked these words.", "It ended.", "another one at 1 of 2", "<td>-0.25</td>", "data:image/png;base64,",
		"<b>class 1</b>; in the float model class 2 has it", "<b>class 1</b>; as in the float model", "<h2>The proof</h2>", "<h2>Outputs against the float model</h2>"} {
		at := strings.Index(s, want)
		if at <= last {
			t.Errorf("%q stands at %d, after %d", want, at, last)
		}
		last = max(last, at)
	}
	for _, bad := range []string{"<script", "\x1b", "\u202e", "\" onload"} {
		if strings.Contains(s, bad) {
			t.Errorf("it has %q", bad)
		}
	}
}

// Pictures have one or three channels, before or after height and width.
func TestPictures(t *testing.T) {
	for _, c := range []struct {
		shape []int
		n     int
	}{{[]int{1, 3, 8, 6}, 1}, {[]int{8, 6, 3}, 1}, {[]int{5, 8, 6, 1}, 5}, {[]int{100, 1, 4, 4}, mostRows}, {[]int{8, 6}, 0}, {[]int{2, 8, 6}, 0}, {[]int{1, 3, 2, 2}, 0}, {[]int{0, 3, 8, 6}, 0}} {
		values := make([]float64, graph.Size(c.shape))
		for i := range values {
			values[i] = float64(i)
		}
		if got := Pictures(c.shape, values); len(got) != c.n {
			t.Errorf("%v: %d pictures, want %d", c.shape, len(got), c.n)
		}
	}
	one := Pictures([]int{1, 1, 4, 4}, []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	img, err := png.Decode(bytes.NewReader(one[0]))
	if err != nil {
		t.Fatal(err)
	}
	if r, g, b, _ := img.At(1, 2).RGBA(); r>>8 != 153 || r != g || g != b { // 9 of 15
		t.Errorf("a pixel is %d %d %d", r>>8, g>>8, b>>8)
	}
}

// What there is not is left out.
func TestEmptyReport(t *testing.T) {
	for _, r := range []*Report{{Title: "empty"}, deep(0), deep(2), {Layers: []quantise.Layer{{Node: "a", Held: true}}, Phases: []ui.Phase{{}}}} {
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
			if e.Name.Local != "meta" && e.Name.Local != "img" {
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
