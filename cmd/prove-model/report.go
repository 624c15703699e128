package main

import (
	"bytes"
	"context"
	"fmt"
	"io"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/inspect"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/report"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/ui"
)

// createPage begins the HTML page that a setting asks for; nil if it asks for none.
func createPage(files *outputs, setting, path string) (_ *output, err error) {
	defer must.Catch(&err)
	if path == "" {
		return nil, nil
	}
	page := must.Get(files.create(setting, path, pageFile))
	return page, page.write([]byte(pageMark))
}

// reportOf makes the report about a proof that was just made.
func reportOf(ctx context.Context, cfg *config.Config, j *job.Job, committed *provemodel.Committed, p *provemodel.Proof, made *proved) (_ *report.Report, err error) {
	defer must.Catch(&err)
	described := must.Get(inspect.OfProof(committed.Key(), bytes.NewReader(p.File)))
	layers := must.Get(committed.Circuit().Layers(ctx, j.Model, j.Input))
	r := &report.Report{
		Title: "Proof of a run of " + made.Model, Layers: layers, Phases: made.Phases, Peak: made.PeakMemory,
		Key: described.Key, Advice: made.Advice,
		Facts: []report.Fact{
			{Name: "Model", Value: fmt.Sprintf("%s, %d parameters", made.Model, made.Parameters)},
			{Name: "Commitment", Value: made.Commitment},
			{Name: "Inputs", Value: report.Shapes(j.Model.Inputs()) + ", from " + made.Input},
			{Name: "Calibrated on", Value: made.Calibration},
			{Name: "Mode", Value: fmt.Sprintf("%s, headroom %v", cfg.Mode, cfg.Headroom)},
			{Name: "Proof", Value: fmt.Sprintf("%s, %s", made.Proof, ui.Bytes(made.ProofBytes))},
			{Name: "Key", Value: fmt.Sprintf("%s, %s", made.VK, ui.Bytes(made.KeyBytes))},
			{Name: "Security", Value: made.strength.String() + " in the weakest round"},
			{Name: "What it proves", Value: "that exactly the quantised model with this commitment gives these outputs on these inputs; how close that is to the float model is measured below, and not proved"},
		},
	}
	if h := made.Hidden; h != nil {
		r.Facts = append(r.Facts,
			report.Fact{Name: "Hidden", Value: fmt.Sprintf("the weights, and all values inside of the model; the key is good for %d more proofs", h.Proofs)},
			report.Fact{Name: "Private", Value: "this page shows more of the model than the proof: it is for whoever may know its weights"})
	}
	for _, o := range made.Outputs {
		r.Outputs = append(r.Outputs, report.Output{Name: o.Name, Shape: o.Shape, Accuracy: o.Accuracy})
	}
	if j.IsText() {
		r.Text, err = textOfReport(j, made)
	} else {
		pictured(r, j, made)
	}
	return r, err
}

// textOfReport returns the part of the report about a language model's text.
func textOfReport(j *job.Job, made *proved) (*report.Text, error) {
	prompt, err := j.Prompt()
	if err != nil || made.textOf == nil {
		return &report.Text{Prompt: prompt}, err
	}
	t := &report.Text{Prompt: prompt, Answer: made.Text, Chosen: chosen(made.Sampling)}
	if t.Stopped = "The model itself ended the answer there."; made.Verdict == verdictCut {
		t.Stopped = fmt.Sprintf("The answer stops after %d tokens because no more were asked for: the model had not ended it.", len(made.Tokens))
	}
	out := made.Outputs[0]
	width := out.Shape[len(out.Shape)-1]
	for i, id := range made.Tokens {
		row := out.Values[i*width : (i+1)*width]
		other := -1
		for k, x := range row {
			if k != id && (other < 0 || x > row[other]) {
				other = k
			}
		}
		token := report.Token{Name: j.Name(id), Float: j.Name(greatest(out.Float[i*width : (i+1)*width]))}
		if other >= 0 {
			token.Margin, token.Other = row[id]-row[other], j.Name(other)
		}
		t.Tokens = append(t.Tokens, token)
	}
	return t, nil
}

// chosen says how the tokens were chosen, in words for people without knowledge of the field.
func chosen(by *provemodel.Sampling) string {
	if by == nil {
		return "Nobody picked these words. At every step the model scored all the pieces of words (tokens) that it knows, and the answer takes the one with the highest score. " +
			"The proof covers the scores."
	}
	return fmt.Sprintf("These words were drawn by lot from the model's own scores, with the seed %d (verify takes %s). The same seed always draws the same words. "+
		"Whoever made the proof chose the seed, and may have tried others before.", by.Seed, flags(by))
}

// pictured adds to the report the pictures among the inputs, and the scores of a
// classifier. Each row of scores gets its picture, if every element of the batch is a
// picture.
func pictured(r *report.Report, j *job.Job, made *proved) {
	rows := 0 // size of the batch of pictures
	for i, in := range j.Model.Inputs() {
		for _, image := range report.Pictures(in.Shape, j.Input[i]) {
			r.Pictures = append(r.Pictures, report.Picture{Name: in.Name, Image: image})
			rows = in.Shape[0]
		}
	}
	if len(made.Outputs) != 1 {
		return
	}
	out := made.Outputs[0]
	if len(out.Shape) == 0 || len(out.Shape) > 2 || out.Shape[len(out.Shape)-1] < 2 {
		return
	}
	width := out.Shape[len(out.Shape)-1]
	for at := 0; at < len(out.Values); at += width {
		r.Scores = append(r.Scores, report.Scores{Output: out.Name, Values: out.Values[at : at+width], Float: out.Float[at : at+width]})
	}
	if rows == len(r.Scores) && len(r.Pictures) <= rows {
		for i, p := range r.Pictures {
			r.Scores[i].Image = p.Image
		}
		r.Pictures = nil
	}
}

// described is the result of inspect --html.
type described struct {
	Model      string `json:"model"`
	Parameters int    `json:"parameters"`
	HTML       string `json:"html"` // the page that was written
}

func (d *described) Print(w io.Writer) {
	ui.Line(w, "model", "%s, %d parameters", d.Model, d.Parameters)
	ui.Line(w, "page", "%s", d.HTML)
}

// describeModel writes the HTML description of a model and of its run on the input.
// Nothing is proved.
func describeModel(ctx context.Context, cfg *config.Config, files *outputs, ph *ui.Phases) (_ *described, err error) {
	defer must.Catch(&err)
	if cfg.Model == "" {
		return nil, job.WithHint(fmt.Errorf("--html describes a model"), "name one with --model x.onnx; --report describes a proof as it is made")
	}
	page := must.Get(createPage(files, "html", cfg.HTML))
	j := must.Get(job.Open(cfg))
	defer j.Close()
	must.OK(files.apartFrom(j.Model))
	circuit := must.Get(j.Quantise(ctx, job.OptionsOf(cfg, ph, nil)))
	layers := must.Get(circuit.Layers(ctx, j.Model, j.Input))
	r := &report.Report{
		Title: "Model " + j.Model.Name(), Layers: layers,
		Facts: []report.Fact{
			{Name: "Parameters", Value: fmt.Sprint(j.Model.Parameters())},
			{Name: "Inputs", Value: report.Shapes(j.Model.Inputs()) + ", from " + j.InputFrom},
			{Name: "Outputs", Value: report.Shapes(j.Model.Outputs())},
			{Name: "Calibrated on", Value: j.Calibration(circuit)},
			{Name: "Mode", Value: fmt.Sprintf("%s, headroom %v", cfg.Mode, cfg.Headroom)},
		},
	}
	run := must.Get(circuit.Run(ctx, j.Input))
	float := must.Get(j.Float(ctx, circuit))
	for i, f := range float {
		a := must.Get(provemodel.Compare(run.Outputs[i], f))
		r.Outputs = append(r.Outputs, report.Output{Name: f.Name, Shape: f.Shape, Accuracy: a, Unequal: labelsOf(a, run.Outputs[i].Values, f.Values)})
	}
	if err := r.Write(page); err != nil {
		return nil, cannotWrite(cfg.HTML, err)
	}
	must.OK(files.place())
	return &described{Model: j.Model.Name(), Parameters: j.Model.Parameters(), HTML: page.path}, nil
}
