package main

import (
	"context"
	"errors"
	"slices"
	"sync"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/devices"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/math/arena"
	"github.com/prove-model/prove-model/prover/prover"
	"golang.org/x/sync/errgroup"
)

// work is a model that was opened on a device, within the memory that the settings allow.
type work struct {
	cfg     *config.Config
	ph      *ui.Phases
	device  *provemodel.Device
	job     *job.Job
	opts    *job.Options
	circuit *provemodel.Circuit // nil before it is quantised

	ends []func() // called by end, the last first
}

// open opens the device and the model. The caller ends the work.
func open(ctx context.Context, cfg *config.Config, ph *ui.Phases) (_ *work, err error) {
	w := &work{cfg: cfg, ph: ph}
	defer func() {
		if err != nil {
			w.end()
		}
	}()
	defer must.Catch(&err)
	w.ends = append(w.ends, must.Get(job.LimitMemory(cfg, ph)))
	w.device = must.Get(job.OpenDevice(ctx, cfg, ph))
	w.ends = append(w.ends, w.device.Close)
	w.job = must.Get(job.Open(cfg))
	w.ends = append(w.ends, w.job.Close)
	if w.job.Notes != "" {
		ph.Warn(w.job.Notes)
	}
	w.opts = job.OptionsOf(cfg, ph, w.device)
	return w, nil
}

// end releases everything that open has opened.
func (w *work) end() {
	for _, end := range slices.Backward(w.ends) {
		end()
	}
	w.ends = nil
}

// session is work that makes a key, and perhaps proofs.
type session struct {
	*work
	files  *outputs
	vk     *output
	ranges *output // file of the ranges; nil if none is asked for
	words  *output // file of the vocabulary; nil if there is none

	committed *provemodel.Committed
	estimate  *provemodel.Estimate
}

// begin begins the files of the key, the ranges and the vocabulary, calls first, which may begin others and checks the settings,
// and then reads model and inputs. The caller ends the session.
func begin(ctx context.Context, cfg *config.Config, files *outputs, ph *ui.Phases, first func(vk *output) error) (_ *session, err error) {
	defer must.Catch(&err)
	s := &session{files: files}
	s.vk = must.Get(files.create("vk", outputPath(cfg.VK, cfg.Model, ".vk"), keyFile))
	s.ranges = must.Get(files.optional("ranges-out", cfg.RangesOut, rangesFile))
	s.words = must.Get(files.optional("vocabulary", cfg.Vocabulary, vocabularyFile))
	must.OK(first(s.vk))
	s.work = must.Get(open(ctx, cfg, ph))
	if err = files.apartFrom(s.job.Model); err == nil {
		s.words, err = writeVocabulary(cfg, files, s.words, s.vk.path, s.job.Model)
	}
	if err != nil {
		s.end()
	}
	return s, err
}

// beginProof begins a session that makes proofs.
func beginProof(ctx context.Context, cfg *config.Config, files *outputs, ph *ui.Phases) (*session, error) {
	collectWhileReading(cfg.Model)
	return begin(ctx, cfg, files, ph, func(*output) error { return hidesForProof(cfg) })
}

// quantise quantises the model, and writes its ranges.
func (s *session) quantise(ctx context.Context) (err error) {
	if s.circuit, err = s.job.Quantise(ctx, s.opts); err == nil {
		err = writeRanges(s.ranges, s.job, s.circuit)
	}
	return err
}

// commit quantises the model, prints how much memory and time the work takes, and commits.
func (s *session) commit(ctx context.Context) (err error) {
	defer must.Catch(&err)
	must.OK(s.quantise(ctx))
	s.estimate = must.Get(job.Estimate(s.circuit, s.job.Together(), s.ph, s.opts))
	collectFor(s.estimate.Memory)
	s.committed, err = provemodel.Commit(ctx, s.circuit, &s.opts.Commit)
	return err
}

// prove proves the run on the job's input, and returns the float model's outputs as well. These are
// computed at the same time as the proof: once chunks are proved, which leaves cores idle now and
// then, or at once if a GPU makes the proof. They are computed first if the proof depends on them
// (--max-error), if another program computes them (--check), or if memory is limited.
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

// heard is an observer that calls a function at the beginning of one phase.
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

// hint adds a hint to an error of proving.
func (s *session) hint(err error) error {
	var off *provemodel.AccuracyError
	if errors.As(err, &off) {
		return job.WithHint(err, job.AccuracyAdvice(s.cfg, off.Saturated))
	}
	if devices.OutOfMemory(err) {
		return job.WithHint(err, "--chunk-budget-gb bounds what a proof takes of a GPU beside the weights; with --gpu=auto the CPU does what does not fit")
	}
	if errors.Is(err, provemodel.ErrSelfCheck) {
		return job.WithHint(err, "this is a fault of the program: please report it with the model")
	}
	return err
}
