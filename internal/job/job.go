// Package job reads what the settings of a command name, and turns the settings
// into options of the library.
package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf/audio"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/onnx"
)

// Job is a float model with an input to run it on, and with samples that set its
// ranges, or with the ranges themselves.
type Job struct {
	Model       *provemodel.Model
	Input       provemodel.Input
	Inputs      []provemodel.Input // with --each all samples of the input's files, with --prompts all texts
	InputFrom   string             // the file of the input, or how the input was made up
	Samples     []provemodel.Input // at least one, unless there are ranges
	SamplesFrom string             // where the samples or ranges come from
	Notes       string             // which parts of the input's files were ignored
	// Calibrated says that samples and ranges do not depend on the input: the samples come
	// from a file of their own or are bundled texts, or the ranges come from a file.
	Calibrated bool

	random    bool    // whether the input is random
	prompt    *Prompt // nil if there is none; with --prompts the longest
	prompts   []*Prompt
	generated bool // whether the input contains text that the model generated
	ranges    provemodel.Ranges
	base      *provemodel.Key // for an adapter: the key of the model without it, if --base gives one
	check     *check          // computes the float outputs; nil: the float model itself
}

// Open reads the model, its input and its calibration samples as the settings say. All
// errors in these are found here. The caller closes the job.
func Open(cfg *config.Config) (_ *Job, err error) {
	defer must.Catch(&err)
	if cfg.Model == "" {
		return nil, WithHint(errors.New("no model"), "name one with --model x.onnx")
	}
	dims := must.Get(cfg.Dims())
	if cfg.Check != "" && !strings.EqualFold(filepath.Ext(cfg.Model), ".onnx") {
		return nil, WithHint(errors.New("--check onnxruntime runs ONNX files, and the model is none"), "leave it out: the outputs are then held against this program's own float model")
	}
	if cfg.Each && len(cfg.Input) == 0 {
		return nil, WithHint(errors.New("--each proves the samples of inputs, and none are given"), "name files of them with --input")
	}
	prompt, prompts, heard, err := asked(cfg)
	must.OK(err)
	var input provemodel.Arrays
	switch {
	case prompt != nil && !prompt.listens():
		input = prompt.arrays(cfg)
	case len(cfg.Input) > 0:
		input = must.GetAs(Read(cfg, cfg.Input))("input")
	}
	opts := &provemodel.OpenOptions{
		Dims: dims, Tokens: cfg.Tokens, Input: input, BindInput: must.Get(Fixed(cfg)), Outputs: cfg.Output, MaxTokens: cfg.MaxTokens, Adapter: cfg.Adapter, Language: cfg.Language,
	}
	if len(cfg.Calibration) > 0 && heard == nil {
		opts.Samples = must.GetAs(Read(cfg, cfg.Calibration))("calibration")
	}
	if cfg.MaxTokens == 0 && cfg.Logits == config.LogitsGenerated {
		opts.MaxTokens = 1 // the key is the same for every number of tokens
	}
	j := &Job{prompt: prompt, prompts: prompts, Notes: input.Notes()}
	if j.Model, err = provemodel.Open(cfg.Model, opts); err != nil {
		return nil, fixHint(err)
	}
	if err := j.fill(cfg, opts, heard); err != nil {
		j.Model.Close()
		return nil, err
	}
	return j, nil
}

// fill sets the input, the samples and all else that depends on the model, which was opened with opts. heard are the
// sounds to calibrate on.
func (j *Job) fill(cfg *config.Config, opts *provemodel.OpenOptions, heard []*audio.Sound) (err error) {
	defer must.Catch(&err)
	must.OK(checkEmbedding(cfg, j.Model))
	j.base = must.Get(BaseKey(cfg))
	if cfg.Check != "" {
		j.check = &check{cfg.Model, opts.BindInput}
	}
	if j.prompt.listens() || heard != nil {
		return j.listen(cfg, heard)
	}
	return errors.Join(j.setInput(opts.Input, cfg), j.setSamples(cfg, opts.Samples))
}

// asked returns the prompt that the settings give a language model: a text, the longest of several, or audio. It also returns all prompts
// of --prompts, and the sounds to calibrate on.
func asked(cfg *config.Config) (prompt *Prompt, prompts []*Prompt, heard []*audio.Sound, err error) {
	defer must.Catch(&err)
	prompts = must.Get(prompted(cfg))
	sound := must.Get(listened(cfg))
	if prompt = longest(prompts); sound != nil {
		prompt = sound
	}
	heard = must.Get(sounds(cfg))
	return prompt, prompts, heard, checkLogits(cfg, prompt)
}

// BaseKey reads the key of the model that an adapter is to, without the adapter; nil if none is given.
func BaseKey(cfg *config.Config) (_ *provemodel.Key, err error) {
	defer must.Catch(&err)
	if cfg.Base == "" {
		return nil, nil
	}
	f := must.GetAs(OpenFile(cfg.Base))("--base")
	defer f.Close()
	return must.GetAs(provemodel.ReadKey(f))("--base %s", cfg.Base), nil
}

// Read reads files of inputs. Pictures become numbers as the settings say.
func Read(cfg *config.Config, files []string) (_ provemodel.Arrays, err error) {
	defer must.Catch(&err)
	how := must.GetAs(onnx.ParsePictures(cfg.Image))("--image")
	in, err := provemodel.ReadArrays(files...)
	return in.WithPictures(how), err
}

// Fixed reads the arrays of --fix, which become constants of the model.
func Fixed(cfg *config.Config) (_ provemodel.Arrays, err error) {
	defer must.Catch(&err)
	files := must.Get(cfg.Fixed())
	var all provemodel.Arrays
	for _, name := range slices.Sorted(maps.Keys(files)) {
		arrays := must.GetAs(provemodel.ReadArrays(files[name]))("--fix %s", name)
		if len(arrays) != 1 {
			return nil, fmt.Errorf("--fix %s: %s holds %d arrays, not one", name, files[name], len(arrays))
		}
		arrays[0].Name = name
		all = append(all, arrays[0])
	}
	return all, nil
}

// fixHint adds a hint at --fix to an error about nodes that need a constant input.
func fixHint(err error) error {
	var nodes graph.NodesError
	if errors.As(err, &nodes) && slices.ContainsFunc(nodes, func(n graph.NodeError) bool { return strings.Contains(n.Reason, "must be constant, but") }) {
		return WithHint(err, "an input that has one value always can be made part of the model: --fix name=file")
	}
	return err
}

// Made returns the job of a model that was made in memory. It is calibrated and run on
// a random input.
func Made(g *graph.Graph, seed int64) *Job {
	j := &Job{Model: provemodel.NewModel(g)}
	j.Input, j.InputFrom = j.Model.Random(seed), randomFrom(seed)
	j.Samples, j.SamplesFrom = []provemodel.Input{j.Input}, j.InputFrom
	return j
}

// Close releases the model.
func (j *Job) Close() { j.Model.Close() }

// setInput sets the input: a random one if none is given.
func (j *Job) setInput(input provemodel.Arrays, cfg *config.Config) error {
	if input == nil {
		j.Input, j.InputFrom, j.random = j.Model.Random(cfg.Seed), randomFrom(cfg.Seed), true
		return nil
	}
	var err error
	if cfg.Each {
		if j.Inputs, err = j.Model.Samples(input); err == nil {
			j.Input = j.Inputs[0]
		}
	} else if cfg.MaxTokens > 0 {
		j.Input, err = j.Model.TextInput(j.prompt.IDs, repeated(j.prompt.IDs, cfg.MaxTokens))
	} else {
		j.Input, err = j.Model.Input(input)
	}
	from := strings.Join(cfg.Input, ", ")
	if err != nil {
		return fmt.Errorf("input %s: %w", from, err)
	}
	if j.InputFrom = from; j.prompt != nil {
		j.InputFrom = fmt.Sprintf("the prompt, %d tokens", len(j.prompt.IDs))
	}
	if cfg.Prompts != "" {
		return j.setPrompts(cfg)
	}
	return nil
}

// setSamples sets the samples to calibrate on: those of --calibration, else bundled texts for a text model, else the
// input; or the ranges of --ranges.
func (j *Job) setSamples(cfg *config.Config, arrays provemodel.Arrays) error {
	if cfg.Ranges != "" {
		return j.setRanges(cfg)
	}
	if len(cfg.Calibration) == 0 {
		if done, err := j.setTexts(cfg); done || err != nil {
			return err
		}
		j.Samples, j.SamplesFrom = []provemodel.Input{j.Input}, j.InputFrom
		if cfg.Each {
			j.Samples = j.Inputs
		}
		return nil
	}
	var err error
	if j.Samples, err = j.Model.Samples(arrays); err != nil {
		return fmt.Errorf("calibration %s: %w", strings.Join(cfg.Calibration, ", "), err)
	}
	j.SamplesFrom, j.Calibrated = fmt.Sprintf("%s, %d samples", strings.Join(cfg.Calibration, ", "), len(j.Samples)), true
	return nil
}

// setRanges reads the ranges of --ranges.
func (j *Job) setRanges(cfg *config.Config) (err error) {
	defer must.Catch(&err)
	if len(cfg.Calibration) > 0 {
		return errors.New("--ranges and --calibration exclude each other: the ranges are what calibration would give")
	}
	f := must.GetAs(OpenFile(cfg.Ranges))("ranges")
	defer f.Close()
	j.ranges = must.GetAs(provemodel.ReadRanges(f))("ranges %s", cfg.Ranges)
	j.SamplesFrom, j.Calibrated = "the ranges of "+cfg.Ranges, true
	return nil
}

func randomFrom(seed int64) string {
	return fmt.Sprintf("random, uniform in [0, 1), seed %d", seed)
}

// Quantise quantises the model. If the model has no samples of its own, the ranges of
// its first input that is not random are kept in the cache for all later runs.
func (j *Job) Quantise(ctx context.Context, opts *Options) (*provemodel.Circuit, error) {
	o := opts.Quantise
	o.Ranges, o.KeepRanges, o.Provisional, o.BaseKey = j.ranges, !j.Calibrated, j.random && !j.Calibrated, j.base
	return provemodel.Quantise(ctx, j.Model, j.Samples, &o)
}

// Provisional says whether a circuit has the ranges of a random input. Its key should
// not be relied on.
func (j *Job) Provisional(c *provemodel.Circuit) bool {
	return j.random && !j.Calibrated && !c.Report().Cached
}

// Calibration says where the ranges of a circuit come from.
func (j *Job) Calibration(c *provemodel.Circuit) string {
	if c.Report().Cached && !j.Calibrated {
		return "the first input this model was run on (cached)"
	}
	return j.SamplesFrom
}

// Float returns the float model's outputs on the input.
func (j *Job) Float(ctx context.Context, c *provemodel.Circuit) ([]provemodel.Tensor, error) {
	if known := c.Report().Float; known != nil && !j.Calibrated && !j.generated && j.check == nil {
		return known, nil // calibration ran the float model on this input
	}
	return j.FloatOf(ctx, j.Input)
}

// FloatOf returns the float model's outputs on any input, as computed by the program of --check if that is set.
func (j *Job) FloatOf(ctx context.Context, in provemodel.Input) ([]provemodel.Tensor, error) {
	if j.check != nil {
		return j.check.run(ctx, j.Model, in)
	}
	return j.Model.Run(ctx, in)
}
