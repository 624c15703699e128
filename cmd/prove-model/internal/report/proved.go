package report

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"html"
	"slices"

	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/internal/ui"
)

// Text is what a language model has read and written.
type Text struct {
	Prompt, Answer string // "" without a tokenizer
	Chosen         string // a sentence that says how the tokens were chosen; "" if none was written
	Stopped        string // a sentence that says why the answer ends; likewise
	Tokens         []Token
}

// Token is a token that was written.
type Token struct {
	Name   string
	Margin float64 // its logit less the greatest of the others; may be negative
	Other  string  // the other token with the greatest logit
	Float  string  // the token with the float model's greatest logit
}

// Scores are a row of an output that gives scores to classes.
type Scores struct {
	Output string
	Values []float64 // at least one
	Float  []float64 // the float model's scores
	Image  []byte    // PNG of the picture that is scored; nil if there is none
}

// Picture is an input, or an element of its batch.
type Picture struct {
	Name  string
	Image []byte // PNG
}

// How many tokens, classes and rows are shown at most.
const (
	mostTokens  = 400
	mostClasses = 5
	mostRows    = 16
)

// proved writes the section about what the proof states.
func (r *Report) proved(h *page) {
	if r.Text == nil && len(r.Pictures) == 0 && len(r.Scores) == 0 {
		return
	}
	h.WriteString("<section id=proved>\n")
	if r.Text != nil {
		r.Text.show(h)
	}
	for i, p := range r.Pictures[:min(mostRows, len(r.Pictures))] {
		h.picture(fmt.Sprintf("input %s, picture %d of %d", p.Name, i+1, len(r.Pictures)), p.Image)
	}
	for i, s := range r.Scores[:min(mostRows, len(r.Scores))] {
		s.show(h, i, len(r.Scores))
	}
	if n := len(r.Scores); n > mostRows {
		h.printf("<p>The first %s of %s.</p>\n", fmt.Sprint(mostRows), fmt.Sprint(n))
	}
	h.WriteString("</section>\n")
}

// show writes a text.
func (t *Text) show(h *page) {
	for _, part := range []struct{ title, text string }{{"Prompt", t.Prompt}, {"Answer", t.Answer}} {
		if part.text != "" {
			h.heading(part.title)
			h.WriteString("<blockquote>" + html.EscapeString(ui.PrintableLines(part.text)) + "</blockquote>\n")
		}
	}
	for _, sentence := range []string{t.Chosen, t.Stopped} {
		if sentence != "" {
			h.printf("<p>%s</p>\n", sentence)
		}
	}
	if len(t.Tokens) == 0 {
		return
	}
	var rows [][]string
	others := 0
	for _, k := range t.Tokens {
		if k.Float != k.Name {
			others++
		}
	}
	for _, k := range t.Tokens[:min(mostTokens, len(t.Tokens))] {
		float := k.Float
		if float == k.Name {
			float = "the same"
		}
		rows = append(rows, []string{k.Name, short(k.Margin), k.Other, float})
	}
	h.heading("Each token")
	h.printf("<p>How far its logit is above the best of the others, and which token the float model gives the greatest logit: another one at %s of %s.</p>\n",
		fmt.Sprint(others), fmt.Sprint(len(t.Tokens)))
	h.table([]string{"token", "margin", "best other", "float model"}, rows)
	if n := len(t.Tokens); n > mostTokens {
		h.printf("<p>The first %s of %s.</p>\n", fmt.Sprint(mostTokens), fmt.Sprint(n))
	}
}

// show writes row number `row` of `rows` rows of scores.
func (s *Scores) show(h *page, row, rows int) {
	title := "Output " + s.Output
	if rows > 1 {
		title += fmt.Sprintf(", %d of %d", row+1, rows)
	}
	h.heading(title)
	if s.Image != nil {
		h.picture(fmt.Sprintf("what is scored, picture %d of %d", row+1, rows), s.Image)
	}
	order := make([]int, len(s.Values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.Values[b], s.Values[a]) })
	float := 0
	for i, v := range s.Float {
		if v > s.Float[float] {
			float = i
		}
	}
	same := "as in the float model"
	if float != order[0] {
		same = fmt.Sprintf("in the float model class %d has it", float)
	}
	h.printf("<p>Highest score: <b>class %s</b>; %s.</p>\n", fmt.Sprint(order[0]), same)
	header := []string{fmt.Sprintf("of %d classes", len(order)), "score", "float model"}
	h.table(header, seq.Map(order[:min(mostClasses, len(order))], func(i int) []string {
		return ui.Cells("class %d\t%.5g\t%.5g", i, s.Values[i], s.Float[i])
	}))
}

// picture writes a PNG.
func (p *page) picture(title string, png []byte) {
	p.printf("<img alt=\"%s\" src=\"data:image/png;base64,%s\">\n", title, base64.StdEncoding.EncodeToString(png))
}
