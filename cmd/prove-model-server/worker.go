package main

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/prove-model/prove-model/internal/serve"
	"github.com/prove-model/prove-model/internal/serve/queue"
	"github.com/prove-model/prove-model/internal/ui"
)

// newWorker returns the command worker.
func newWorker() *cobra.Command {
	cmd := program.Worker()
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		defer must.Catch(&err)
		cfg := must.Get(program.Load(cmd))
		if cfg.Cluster == "" {
			return job.WithHint(errors.New("no cluster"), "name its NATS servers with --cluster nats://HOST:4222")
		}
		if cfg.Workers == 0 {
			return errors.New("--workers 0: a worker proves at least one job at a time")
		}
		return job.MemoryHint(workUntil(cmd, cfg))
	}
	return cmd
}

// workerBatch is the default of --batch for a worker: how many answers, at most, it puts into one proof.
const workerBatch = 16

// workUntil proves jobs until the command's context ends.
func workUntil(cmd *cobra.Command, cfg *config.Config) (err error) {
	defer must.Catch(&err)
	log, ctx := logger(cmd.ErrOrStderr(), cfg), cmd.Context()
	sources := must.Get(sourcesOf(cmd.Flags(), cfg))
	stop := must.Get(openTraces(ctx, cfg, log))
	defer stop()
	q := must.Get(openQueue(ctx, cfg, true))
	defer q.Close()
	list, end, err := openModels(ctx, cmd, cfg, sources)
	must.OK(err)
	defer end()
	for _, m := range list {
		if _, err := q.Key(ctx, m.Commitment); errors.Is(err, queue.ErrUnknown) {
			log.Warn("no server of the cluster has this key: files or settings are others", "model", m.Name, "commitment", m.Commitment)
		}
	}
	name := workerName()
	ui.Line(cmd.OutOrStdout(), "ready", "%s", name)
	for _, m := range list {
		ui.Line(cmd.OutOrStdout(), "model", "%s, commitment %s", m.Name, m.Commitment)
	}
	log.Info("proving", "worker", name)
	err = serve.Work(ctx, q, list, cfg.Workers, cmp.Or(cfg.Batch, workerBatch), name)
	if ctx.Err() != nil { // it was told to end
		return nil
	}
	return err
}
