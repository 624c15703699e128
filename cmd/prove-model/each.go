package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/internal/ui"
)

// proveEach does what prove does, with a proof for each of the inputs.
func proveEach(ctx context.Context, cfg *config.Config, outputs *outputs, ph *ui.Phases) (_ []*proved, err error) {
	defer must.Catch(&err)
	if cfg.Report != "" {
		return nil, fmt.Errorf("--report describes one proof, and --each makes several")
	}
	s := must.Get(beginProof(ctx, cfg, outputs, ph))
	defer s.end()
	inputs := s.job.Inputs
	files := make([]*output, len(inputs))
	for i := range files {
		files[i] = must.Get(outputs.create("proof", numbered(outputPath(cfg.Proof, cfg.Model, ".proof"), i+1), proofFile))
	}
	must.OK(s.commit(ctx))
	floats := seq.Map(inputs, func(in provemodel.Input) []provemodel.Tensor { return must.Get(s.job.FloatOf(ctx, in)) })
	opts, bars := s.opts.Prove, floats
	if opts.MaxError = cfg.MaxError; opts.MaxError == 0 {
		bars = nil
	}
	proofs, err := s.committed.ProveEach(ctx, inputs, bars, &opts)
	if err != nil {
		return nil, s.hint(err)
	}
	warnOfOtherKey(s.vk.path, s.committed.Commitment(), ph)
	must.OK(ctx.Err())
	hidden := must.Get(hiddenOf(cfg, s.committed))
	made := make([]*proved, len(proofs))
	for i, p := range proofs {
		results := must.Get(compare(p.Outputs, floats[i], s.job.Model.Graph().Vocabulary))
		var logits likeness
		if s.job.Predicts() {
			logits = likenessOf(p.Outputs[0], floats[i][0], 0)
		}
		made[i] = s.proved(p, files[i], fmt.Sprintf("%s, number %d of %d", s.job.InputFrom, i+1, len(proofs)), results, logits)
		made[i].Hidden = hidden
		if cfg.Embedding {
			made[i].Embedding = p.Outputs[0].Values
		}
		must.OK(files[i].write(p.File))
	}
	must.OK(s.vk.write(s.committed.KeyFile()))
	return made, outputs.place()
}

// numbered puts a number before the extension of a path: x.7.proof.
func numbered(path string, n int) string {
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s.%d%s", strings.TrimSuffix(path, ext), n, ext)
}

// printEach writes several results, with empty lines between them.
func printEach(w io.Writer, all []*proved) {
	for i, p := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		p.Print(w)
	}
}
