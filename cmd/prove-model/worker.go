package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/serve"
	"github.com/prove-model/prove-model/internal/serve/queue"
	"github.com/prove-model/prove-model/internal/ui"
)

func newWorker() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Prove, for the servers of a cluster, what they have answered",
		Long: `Prove, for the servers of a cluster, what they have answered.

  prove-model worker --cluster nats://HOST --model FOLDER

takes the jobs of the models that it is given, one after the other, from the NATS
servers that ` + "`prove-model serve --cluster`" + ` puts them into. Its models must have
the servers' keys: the same files and settings, or --ranges that commit wrote.
The servers verify what it leaves, so that it is trusted with the texts alone.
A worker that is killed loses nothing: its job is given to another.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load(cmd)
			if err != nil {
				return err
			}
			if cfg.Cluster == "" {
				return job.WithHint(errors.New("no cluster"), "name its NATS servers with --cluster nats://HOST:4222")
			}
			if cfg.Workers == 0 {
				return errors.New("--workers 0: a worker proves at least one job at a time")
			}
			return job.MemoryHint(workUntil(cmd, cfg))
		},
	}
	cmd.Flags().StringArray("model", nil, "model: an ONNX or GGUF `file`, a folder in the Hugging Face layout, or a settings file of one; may be repeated, as NAME=PATH")
	config.AddFlags(cmd.Flags(), append(servedFlags, "batch", "workers", "cluster", "cluster-creds", "cluster-nkey", "cluster-ca", "cluster-cert", "cluster-key", "bucket", "traces")...)
	forServers(cmd.Flags())
	cmd.Flags().Lookup("batch").Usage = "most answers, a `number`, that are proved in one proof, as far as memory allows, of those that servers say may be (default: 16)"
	return cmd
}

// workerBatch is how many answers a worker proves in one proof at most where nothing is said.
const workerBatch = 16

// workUntil proves until the command's context ends.
func workUntil(cmd *cobra.Command, cfg *config.Config) error {
	log, ctx := logger(cmd.ErrOrStderr(), cfg), cmd.Context()
	sources, err := sourcesOf(cmd.Flags(), cfg)
	if err != nil {
		return err
	}
	stop, err := openTraces(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer stop()
	q, err := openQueue(ctx, cfg, true)
	if err != nil {
		return err
	}
	defer q.Close()
	list, end, err := openModels(ctx, cmd, cfg, sources)
	if err != nil {
		return err
	}
	defer end()
	for _, m := range list {
		if _, err := q.Key(ctx, m.Commitment); errors.Is(err, queue.ErrUnknown) {
			log.Warn("no server of the cluster has this key: files or settings are others", "model", m.Name, "commitment", m.Commitment)
		}
	}
	name := workerName()
	fmt.Fprintf(cmd.OutOrStdout(), "ready       %s\n", ui.Printable(name))
	for _, m := range list {
		fmt.Fprintf(cmd.OutOrStdout(), "model       %s, commitment %s\n", ui.Printable(m.Name), m.Commitment)
	}
	log.Info("proving", "worker", name)
	err = serve.Work(ctx, q, list, cfg.Workers, cmp.Or(cfg.Batch, workerBatch), name)
	if ctx.Err() != nil { // it was told to end
		return nil
	}
	return err
}
