package inspect

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/hf/tokenizer"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/internal/ui"
)

// Published describes a model in the Hugging Face layout or in a GGUF file.
type Published struct {
	Name string `json:"name"`
	hf.Summary
	// Tokens is the size of the tokenizer's vocabulary. NoTokenizer says why there is no
	// tokenizer.
	Tokens      int    `json:"tokenizer_tokens,omitempty"`
	NoTokenizer string `json:"no_tokenizer,omitempty"`
	// Estimate is for the commitment and, if there is a Graph, for the proof too.
	Estimate *Estimate `json:"estimate"`
	// Graph describes the graph for the number of tokens that was asked for.
	Graph *Model `json:"graph,omitempty"`
}

// openPublished describes a model, and its graph if the settings say for how many
// tokens.
func openPublished(ctx context.Context, cfg *config.Config) (_ *Published, err error) {
	defer must.Catch(&err)
	m := must.Get(hf.Open(cfg.Model))
	p := &Published{Name: cfg.Model, Summary: m.Summarise()}
	must.OK(m.Close())
	if p.Vocabulary > 0 {
		t, err := tokenizer.Open(cfg.Model)
		if err != nil {
			p.NoTokenizer = err.Error()
		} else {
			p.Tokens = t.Size()
		}
	}
	if p.Context == 0 || cfg.Tokens > 0 || len(cfg.Input) > 0 || cfg.Prompt != "" || len(cfg.Dim) > 0 {
		p.Graph = must.Get(openModel(ctx, cfg))
		p.Estimate, p.Graph.Estimate = p.Graph.Estimate, nil
	}
	if p.Estimate == nil {
		p.Estimate = estimate(p.Parameters, 0)
	}
	return p, nil
}

// Print writes the description as text.
func (p *Published) Print(w io.Writer) {
	ui.Line(w, "model", "%s", p.Name)
	ui.Line(w, "family", "%s, %d layers", p.Kind, p.Layers)
	ui.LineIf(p.Context > 0, w, "context", "%d tokens, of %d that there are", p.Context, p.Vocabulary)
	stored := seq.Map(p.Stored, func(s hf.Stored) string {
		return fmt.Sprintf("%d tensors of %s (%s)", s.Tensors, s.Type, ui.Bytes(int64(s.Bytes)))
	})
	ui.Line(w, "parameters", "%d: %s", p.Parameters, strings.Join(stored, ", "))
	switch {
	case p.Tokens > 0:
		ui.Line(w, "tokenizer", "%d tokens", p.Tokens)
	case p.NoTokenizer != "":
		ui.Line(w, "tokenizer", "none: %s", p.NoTokenizer)
	}
	p.Estimate.print(w)
	if len(p.Odd) > 0 {
		fmt.Fprintln(w)
		ui.Table(w, []string{"odd tensor", "what"}, seq.Map(p.Odd, func(o hf.Odd) []string { return ui.Cells("%s\t%s", o.Tensor, o.What) }))
	}
	switch {
	case p.Graph != nil:
		fmt.Fprintln(w)
		p.Graph.Print(w)
	case p.Context > 0:
		fmt.Fprintln(w, "\nits graph for N tokens is described with --tokens N")
	}
}
