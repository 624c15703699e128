package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/hf"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/prove-model/prove-model/internal/serve"
	"github.com/prove-model/prove-model/internal/serve/models"
	"github.com/prove-model/prove-model/internal/serve/queue"
	"github.com/prove-model/prove-model/internal/serve/receipt"
	"github.com/prove-model/prove-model/internal/serve/traces"
	"github.com/prove-model/prove-model/internal/ui"
)

// newServe returns the command serve.
func newServe() *cobra.Command {
	cmd := program.Serve()
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		defer must.Catch(&err)
		cfg := must.Get(program.Load(cmd))
		if cfg.Workers == 0 && cfg.Cluster == "" {
			return job.WithHint(errors.New("--workers 0: nothing would be proved"), "leave it out, or name the --cluster that others prove in")
		}
		if flag := cfg.FirstOf("cluster-creds", "cluster-nkey", "cluster-ca", "cluster-cert"); flag != "" && cfg.Cluster == "" {
			return job.WithHint(fmt.Errorf("--%s without a cluster", flag), "name its NATS servers with --cluster nats://HOST:4222")
		}
		return job.MemoryHint(serveUntil(cmd, cfg))
	}
	return cmd
}

// serveUntil serves until the command's context ends.
func serveUntil(cmd *cobra.Command, cfg *config.Config) (err error) {
	defer must.Catch(&err)
	log := logger(cmd.ErrOrStderr(), cfg)
	sources := must.Get(sourcesOf(cmd.Flags(), cfg))
	opts := must.Get(serveOptions(cfg, log))
	must.OKAs(os.MkdirAll(cfg.Data, 0o700), "--data")
	signing := must.GetAs(receipt.OpenKey(filepath.Join(cfg.Data, "receipts.pem")))("--data")
	listener := must.GetAs(net.Listen("tcp", cfg.Listen))("--listen")
	defer listener.Close()
	if a, ok := listener.Addr().(*net.TCPAddr); ok {
		opts.Local = a.IP.IsLoopback() && opts.Keys == nil
		if !a.IP.IsLoopback() && opts.Keys == nil {
			log.Warn("everybody who reaches " + listener.Addr().String() + " may ask: --keys FILE says who may")
		}
	}
	ctx := cmd.Context()
	stop := must.Get(openTraces(ctx, cfg, log))
	defer stop()
	q := must.Get(openQueue(ctx, cfg, false))
	defer q.Close()
	s := serve.New(q, signing, opts)
	group, ctx := errgroup.WithContext(ctx)
	release := func() {}
	group.Go(func() error { return s.Listen(ctx, listener, cfg.TLSCert, cfg.TLSKey) })
	group.Go(func() error { return s.Check(ctx) })
	group.Go(func() (err error) {
		defer must.Catch(&err)
		list, end, err := openModels(ctx, cmd, cfg, sources)
		must.OK(err)
		release = end
		for _, m := range list {
			must.OK(s.Add(ctx, m))
			log.Info("committed", "model", m.Name, "commitment", m.Commitment)
		}
		s.Ready()
		printReady(cmd.OutOrStdout(), cfg, listener.Addr(), list, s)
		must.OK(serve.Work(ctx, q, list, cfg.Workers, cfg.Batch, workerName()))
		<-ctx.Done()
		return nil
	})
	err = group.Wait()
	release() // not before: Listen lets answers end that need the models, the device and the memory
	if cmd.Context().Err() == nil {
		return err
	}
	// It was told to end.
	limited, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if n, err := q.Waiting(limited); err == nil && n > 0 {
		log.Info("ended; what was answered is proved when the server is started again", "waiting", n)
	}
	return nil
}

// serveOptions returns the server's options from the settings, except for those that depend on its address.
func serveOptions(cfg *config.Config, log *slog.Logger) (opts serve.Options, err error) {
	defer must.Catch(&err)
	opts = serve.Options{
		Rate: cfg.Rate, MaxBody: int64(cfg.MaxBodyMB * (1 << 20)), MaxQueue: cfg.MaxQueue,
		Parallel: cmp.Or(cfg.Parallel, runtime.GOMAXPROCS(0)), Webhook: cfg.Webhook, Log: log, Shared: must.Get(shared(cfg)), Prove: must.Get(cfg.ProveShare()),
	}
	if cfg.Keys != "" {
		opts.Keys = must.GetAs(serve.ReadKeys(cfg.Keys))("--keys")
	}
	if cfg.Webhook != "" {
		if u, err := url.Parse(cfg.Webhook); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return opts, errors.New("--webhook: want a URL with http or https")
		}
	}
	return opts, nil
}

// shared says which answers may be proved together: those of the same API key, or everybody's if the settings say so or if there are
// no keys, by which people could be told apart.
func shared(cfg *config.Config) (string, error) {
	switch {
	case cfg.Batch < 2 && cfg.BatchAcrossKeys:
		return "", job.WithHint(errors.New("--batch-across-keys: each answer is proved by itself"), "--batch N says how many are proved together")
	case cfg.Batch < 2:
		return "", nil
	case cfg.Keys == "" || cfg.BatchAcrossKeys:
		return receipt.SharedAll, nil
	}
	return receipt.SharedKey, nil
}

// printReady prints the server's address, its models and the public key of its receipts.
func printReady(w io.Writer, cfg *config.Config, at net.Addr, list []*models.Model, s *serve.Server) {
	scheme := "http"
	if cfg.TLSCert != "" {
		scheme = "https"
	}
	ui.Line(w, "ready", "%s://%s", scheme, at)
	for _, m := range list {
		ui.Line(w, "model", "%s, commitment %s", m.Name, m.Commitment)
	}
	ui.Line(w, "receipts", "signed with %s", s.PublicKey())
}

// logger returns a logger that writes text, or JSON if the settings say so.
func logger(w io.Writer, cfg *config.Config) *slog.Logger {
	opts := &slog.HandlerOptions{Level: slog.LevelInfo}
	if cfg.Quiet {
		opts.Level = slog.LevelWarn
	}
	if cfg.JSON {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

// workerName returns the name by which records say which process has made a proof.
func workerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}

// openTraces makes the process send traces to the collector that the settings name, if they name one.
func openTraces(ctx context.Context, cfg *config.Config, log *slog.Logger) (stop func(), err error) {
	defer must.Catch(&err)
	if cfg.Traces == "" {
		return func() {}, nil
	}
	return must.GetAs(traces.Open(ctx, cfg.Traces, provemodel.Version, log))("--traces"), nil
}

// openQueue opens the store that the settings name: the cluster's, or one in this process. If join is set, as for a
// worker, it waits for the store that a server makes.
func openQueue(ctx context.Context, cfg *config.Config, join bool) (_ *queue.Queue, err error) {
	defer must.Catch(&err)
	opts := queue.Options{Join: join, Keep: time.Duration(cfg.KeepHours * float64(time.Hour)), Replicas: cfg.Replicas, Bucket: cfg.Bucket}
	if cfg.Cluster == "" {
		return queue.Embedded(ctx, filepath.Join(cfg.Data, "store"), opts)
	}
	var how []nats.Option
	if cfg.ClusterCreds != "" {
		how = append(how, nats.UserCredentials(cfg.ClusterCreds))
	}
	if cfg.ClusterNKey != "" {
		nkey := must.GetAs(nats.NkeyOptionFromSeed(cfg.ClusterNKey))("--cluster-nkey")
		how = append(how, nkey)
	}
	if cfg.ClusterCA != "" {
		how = append(how, nats.RootCAs(cfg.ClusterCA))
	}
	if cfg.ClusterCert != "" {
		how = append(how, nats.ClientCert(cfg.ClusterCert, cfg.ClusterKey))
	}
	return queue.Connect(ctx, cfg.Cluster, opts, how...)
}

// source is a model that the settings name, with its settings.
type source struct {
	name string
	cfg  *config.Config
}

// modelName matches the names that a model may have: they are parts of URLs.
var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// sourcesOf returns the models that the flags name, each as PATH or NAME=PATH, where PATH may also be a settings file.
func sourcesOf(flags *pflag.FlagSet, cfg *config.Config) (_ []source, err error) {
	defer must.Catch(&err)
	named := must.Get(flags.GetStringArray("model"))
	if len(named) == 0 && cfg.Model != "" {
		named = []string{cfg.Model}
	}
	if len(named) == 0 {
		return nil, job.WithHint(errors.New("no model"), "name one with --model FOLDER, or several")
	}
	var out []source
	arrays := 0
	for _, text := range named {
		name, path := nameAndPath(text)
		if !modelName.MatchString(name) {
			return nil, job.WithHint(fmt.Errorf("--model %s: %q cannot be a model's name", text, name), "give it one of letters, digits, dots and dashes: --model NAME=PATH")
		}
		if slices.ContainsFunc(out, func(s source) bool { return s.name == name }) {
			return nil, job.WithHint(fmt.Errorf("two models are called %s", name), "give them names: --model NAME=PATH")
		}
		own, isArrays, err := ownSettings(*cfg, path)
		must.OK(err)
		if isArrays {
			arrays++
		}
		out = append(out, source{name, own})
	}
	if len(out) > 1 && (cfg.Adapter != "" || cfg.Base != "") {
		return nil, job.WithHint(errors.New("there are several models, and --adapter and --base are of one"),
			"give each a settings file with these and its model, and name that: --model a.yaml --model b.yaml")
	}
	if arrays > 1 && (len(cfg.Calibration) > 0 || cfg.Ranges != "" || len(cfg.Dim) > 0 || len(cfg.Fix) > 0 || len(cfg.Output) > 0) {
		return nil, job.WithHint(errors.New("there are several ONNX models, and --calibration, --ranges, --dim, --fix or --output are of one"),
			"give each a settings file with these and its model, and name that: --model a.yaml --model b.yaml")
	}
	return out, nil
}

// ownSettings returns the settings of the model at a path, derived from those of the process. arrays says that it is a
// model for arrays (an ONNX file) without a settings file.
func ownSettings(own config.Config, path string) (cfg *config.Config, arrays bool, err error) {
	defer must.Catch(&err)
	switch ext := strings.ToLower(filepath.Ext(path)); {
	case ext == ".yaml" || ext == ".yml":
		read := must.Get(settingsOf(path))
		own = ofModel(own, read)
	case hf.Is(path):
		own.Model = path
		own.Calibration, own.Ranges, own.Dim, own.Fix, own.Image, own.Output = nil, "", nil, nil, "", nil
	default:
		own.Model = path
		own.Tokens, own.MaxTokens = 0, 0
		arrays = true
	}
	return &own, arrays, nil
}

// nameAndPath splits NAME=PATH. A text that is the path of a file, even with an equals sign in it, is a path alone; the
// model is then named by the last part of the path without its extension.
func nameAndPath(text string) (name, path string) {
	st, err := os.Stat(text)
	if name, path, ok := strings.Cut(text, "="); ok && err != nil {
		return name, path
	}
	name = filepath.Base(filepath.Clean(text))
	if err == nil && st.IsDir() {
		return name, text
	}
	return strings.TrimSuffix(name, filepath.Ext(name)), text
}

// settingsOf reads a model's settings file.
func settingsOf(path string) (_ *config.Config, err error) {
	defer must.Catch(&err)
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.AddFlags(flags)
	must.OK(flags.Parse([]string{"--config", path}))
	cfg := must.Get(config.Load(flags))
	if cfg.Model == "" {
		return nil, fmt.Errorf("%s: it names no model", path)
	}
	return cfg, nil
}

// ofModel returns the settings of the process, in which all settings that the model's key depends on are replaced by
// those of a model's settings file.
func ofModel(all config.Config, m *config.Config) config.Config {
	all.Adapter, all.Base = m.Adapter, m.Base
	// Of these what either says is refused.
	all.Hide, all.Reveal = cmp.Or(m.Hide, all.Hide), slices.Concat(all.Reveal, m.Reveal)
	all.InputCommitment = cmp.Or(m.InputCommitment, all.InputCommitment)
	all.Model, all.Calibration, all.Ranges, all.Image, all.Output, all.Dim, all.Fix, all.Tokens, all.MaxTokens = m.Model, m.Calibration, m.Ranges, m.Image, m.Output, m.Dim, m.Fix, m.Tokens, m.MaxTokens
	all.Mode, all.TargetError, all.Headroom, all.Soundness, all.Hash, all.SecurityBits, all.GrindBits = m.Mode, m.TargetError, m.Headroom, m.Soundness, m.Hash, m.SecurityBits, m.GrindBits
	return all
}

// openModels opens the device and commits to all models, one after the other. end releases them.
func openModels(ctx context.Context, cmd *cobra.Command, cfg *config.Config, sources []source) (list []*models.Model, end func(), err error) {
	var ends []func()
	release := func() {
		for _, end := range slices.Backward(ends) {
			end()
		}
	}
	defer func() {
		if err != nil {
			release()
		}
	}()
	defer must.Catch(&err)
	ph := program.Progress(cmd, cfg)
	ends = append(ends, must.Get(job.LimitMemory(cfg, ph)))
	dev := must.Get(job.OpenDevice(ctx, cfg, ph))
	ends = append(ends, dev.Close)
	for _, s := range sources {
		m := must.Get(models.Open(ctx, s.name, s.cfg, dev, ph))
		ends = append(ends, m.Close)
		list = append(list, m)
	}
	return list, release, nil
}
