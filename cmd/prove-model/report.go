package main

import (
	"bytes"
	"context"
	"fmt"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/inspect"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/job"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/report"
	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/config"
)

// createReport begins the report, if one is asked for.
func createReport(path string) (*optional, error) {
	if path == "" {
		return nil, nil
	}
	file, err := create(path)
	return &optional{file}, err
}

// optional is a file that may not be asked for: nil then.
type optional struct{ output }

func (o *optional) abort() {
	if o != nil {
		o.Abort()
	}
}

// with returns the files that are to be placed together with this one.
func (o *optional) with(files ...output) []output {
	if o == nil {
		return files
	}
	return append(files, o.output)
}

// reportOf describes a proof that was just made.
func reportOf(ctx context.Context, cfg *config.Config, j *job.Job, committed *provemodel.Committed, p *provemodel.Proof, made *proved) (*report.Report, error) {
	described, err := inspect.OfProof(committed.Key(), bytes.NewReader(p.File))
	if err != nil {
		return nil, err
	}
	layers, err := committed.Circuit().Layers(ctx, j.Model, j.Input)
	if err != nil {
		return nil, err
	}
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
	for _, o := range made.Outputs {
		r.Outputs = append(r.Outputs, report.Output{Name: o.Name, Shape: o.Shape, Accuracy: o.Accuracy})
	}
	return r, nil
}

// describeModel writes the description of a model as HTML: that of its run on the
// input, before anything is proved.
func describeModel(ctx context.Context, cfg *config.Config, ph *ui.Phases) error {
	if cfg.Model == "" {
		return job.WithHint(fmt.Errorf("--html describes a model"), "name one with --model x.onnx; --report describes a proof as it is made")
	}
	j, err := job.Open(cfg)
	if err != nil {
		return err
	}
	defer j.Close()
	file, err := create(cfg.HTML)
	if err != nil {
		return err
	}
	defer file.Abort()
	circuit, err := j.Quantise(ctx, job.Options(cfg, ph)...)
	if err != nil {
		return err
	}
	layers, err := circuit.Layers(ctx, j.Model, j.Input)
	if err != nil {
		return err
	}
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
	run, err := circuit.Run(ctx, j.Input)
	if err != nil {
		return err
	}
	float, err := j.Float(ctx, circuit)
	if err != nil {
		return err
	}
	for i, f := range float {
		a, err := provemodel.Compare(run.Outputs[i], f)
		if err != nil {
			return err
		}
		r.Outputs = append(r.Outputs, report.Output{Name: f.Name, Shape: f.Shape, Accuracy: a})
	}
	if err := r.Write(file); err != nil {
		return cannotWrite(cfg.HTML, err)
	}
	return place(file)
}
