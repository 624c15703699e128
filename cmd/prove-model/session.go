package main

import (
	"context"
	"errors"
	"sync"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/math/arena"
	"github.com/prove-model/prove-model/prover/prover"
	"golang.org/x/sync/errgroup"
)

// session is what proofs of a model have in common.
type session struct {
	cfg    *config.Config
	ph     *ui.Phases
	device *provemodel.Device
	job    *job.Job
	files  *outputs
	vk     *output
	ranges *output // nil if none is asked for
	words  *output // the vocabulary; nil if there is none
	opts   *job.Options

	circuit   *provemodel.Circuit
	committed *provemodel.Committed
	estimate  *provemodel.Estimate

	ends []func() // in reverse
}

// begin begins the files of the key and the ranges, and reads model and inputs. The
// caller ends the session, after an error too it is over.
func begin(ctx context.Context, cfg *config.Config, files *outputs, ph *ui.Phases) (_ *session, err error) {
	s := &session{cfg: cfg, ph: ph, files: files}
	defer func() {
		if err != nil {
			s.end()
		}
	}()
	defer must.Catch(&err)
	s.vk = must.Get(files.create("vk", outputPath(cfg.VK, cfg.Model, ".vk"), keyFile))
	s.ranges = must.Get(createRanges(cfg, files))
	s.words = must.Get(createVocabulary(cfg, files))
	must.OK(hidesForProof(cfg))
	s.ends = append(s.ends, must.Get(job.LimitMemory(cfg, ph)))
	collectWhileReading(cfg.Model)
	s.device = must.Get(job.OpenDevice(ctx, cfg, ph))
	s.ends = append(s.ends, s.device.Close)
	s.job = must.Get(job.Open(cfg))
	s.ends = append(s.ends, s.job.Close)
	if s.job.Notes != "" {
		ph.Warn(s.job.Notes)
	}
	must.OK(files.apartFrom(s.job.Model))
	s.words = must.Get(writeVocabulary(cfg, files, s.words, s.vk.path, s.job.Model))
	s.opts = job.OptionsOf(cfg, ph, s.device)
	return s, nil
}

// end releases what the session has.
func (s *session) end() {
	for i := len(s.ends) - 1; i >= 0; i-- {
		s.ends[i]()
	}
	s.ends = nil
}

// commit quantises the model, says what is about to be taken, and commits.
func (s *session) commit(ctx context.Context) (err error) {
	defer must.Catch(&err)
	s.circuit = must.Get(s.job.Quantise(ctx, s.opts))
	must.OK(writeRanges(s.ranges, s.job, s.circuit))
	s.estimate = must.Get(job.Estimate(s.circuit, s.job.Together(), s.ph, s.opts))
	collectFor(s.estimate.Memory)
	s.committed, err = provemodel.Commit(ctx, s.circuit, &s.opts.Commit)
	return err
}

// prove proves the run on the job's input, and returns the float model's outputs beside the
// proof. These are computed while chunks are proved, which leaves cores idle now and then, or at
// once where there is a GPU for the proof; unless it must respect them (--max-error), another program
// computes them (--check) or memory is bounded: then they come first.
func (s *session) prove(ctx context.Context) (p *provemodel.Proof, float []provemodel.Tensor, err error) {
	if s.cfg.MaxError > 0 || s.cfg.Check != "" || s.cfg.ChunkBudgetGB > 0 || arena.Bounded() > 0 {
		if float, err = s.job.Float(ctx, s.circuit); err != nil {
			return nil, nil, err
		}
		opts := s.opts.Prove
		if s.cfg.MaxError > 0 {
			opts.MaxError, opts.Float = s.cfg.MaxError, float
		}
		p, err = provemodel.Prove(ctx, s.committed, s.job.Input, &opts)
		return p, float, err
	}
	start := make(chan struct{})
	now := sync.OnceFunc(func() { close(start) })
	if len(s.device.Stats()) > 1 {
		now()
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		select {
		case <-start:
			float, err = s.job.Float(ctx, s.circuit)
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	group.Go(func() (err error) {
		defer now()
		opts := s.opts.Prove
		opts.Observer = &heard{s.ph, provemodel.Phase(prover.PhaseChunks), now}
		p, err = provemodel.Prove(ctx, s.committed, s.job.Input, &opts)
		return err
	})
	err = group.Wait()
	return p, float, err
}

// heard is an observer that calls a function when a phase begins.
type heard struct {
	provemodel.Observer
	phase provemodel.Phase
	begin func()
}

// Begin implements provemodel.Observer.
func (h *heard) Begin(p provemodel.Phase) {
	if p == h.phase {
		h.begin()
	}
	h.Observer.Begin(p)
}

// hint says what helps if proving failed.
func (s *session) hint(err error) error {
	var off *provemodel.AccuracyError
	if errors.As(err, &off) {
		return job.WithHint(err, job.AccuracyAdvice(s.cfg, off.Saturated))
	}
	if errors.Is(err, provemodel.ErrSelfCheck) {
		return job.WithHint(err, "this is a fault of the program: please report it with the model")
	}
	return err
}
