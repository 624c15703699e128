package serve

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/serve/models"
	"github.com/prove-model/prove-model/internal/serve/queue"
)

// Limits of connections.
const (
	headerTime  = 10 * time.Second
	idleTime    = 2 * time.Minute
	headerBytes = 32 << 10
	drainTime   = 30 * time.Second // for answers that have begun when the server is told to end
)

// Listen answers requests until the context ends, and then waits for those that have begun. certificate and key are
// files for TLS; "" is none.
func (s *Server) Listen(ctx context.Context, l net.Listener, certificate, key string) error {
	h := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: min(headerTime, s.opts.Patience), IdleTimeout: idleTime, MaxHeaderBytes: headerBytes,
		ErrorLog: slog.NewLogLogger(s.opts.Log.Handler(), slog.LevelDebug),
	}
	over := make(chan error, 1)
	go func() {
		if certificate != "" {
			over <- h.ServeTLS(l, certificate, key)
		} else {
			over <- h.Serve(l)
		}
	}()
	select {
	case err := <-over:
		return err
	case <-ctx.Done():
	}
	s.Drain()
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if err := h.Shutdown(limited); err != nil {
		s.opts.Log.Warn("answers were cut short: they took too long after the server was told to end")
		return h.Close()
	}
	return nil
}

// Check verifies the proofs that workers leave, and calls the webhook, until the context ends.
func (s *Server) Check(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return s.queue.Check(ctx, s.verify, s.opts.Webhook != "", s.done)
	})
	if s.tosses() {
		group.Go(func() error { return s.mint(ctx) })
	}
	if s.opts.Webhook != "" {
		group.Go(func() error { return s.queue.Notify(ctx, s.post) })
	}
	return group.Wait()
}

// verify checks that a proof is valid under the key of its job's model, and is about the job.
func (s *Server) verify(ctx context.Context, j *queue.Job, file []byte) (err error) {
	defer must.Catch(&err)
	data := must.GetAs(s.queue.Key(ctx, j.Commitment))("the key")
	key := must.Get(provemodel.ReadKey(bytes.NewReader(data)))
	if provemodel.Commitment(key.Digest).String() != j.Commitment {
		return errors.New("the key in the store has another commitment")
	}
	return models.VerifyJob(key, j, file)
}

// done logs and counts a job that has ended.
func (s *Server) done(r *queue.Record) {
	if r.Texts > 0 {
		s.opts.Log.Warn("several answers could not be proved together, and are proved by themselves", "proof", r.ID, "model", r.Model, "texts", r.Texts, "error", r.Error, "faults", r.Faults)
		return
	}
	s.metrics.proofs.WithLabelValues(r.Model, string(r.State)).Inc()
	if r.State == queue.Proved {
		switch {
		case r.Joint == nil:
			s.metrics.texts.WithLabelValues(r.Model).Observe(1)
		case r.Joint.TextID == 1: // counts each proof of several texts once
			s.metrics.texts.WithLabelValues(r.Model).Observe(float64(r.Joint.Texts))
		}
	}
	if r.State == queue.Proved {
		s.metrics.proving.WithLabelValues(r.Model).Observe(max(0, r.Updated.Sub(r.Created).Seconds())) // 0 if the clocks of two machines disagree
	}
	level := slog.LevelInfo
	if r.State == queue.Failed || len(r.Faults) > 0 {
		level = slog.LevelError
	}
	s.opts.Log.Log(context.Background(), level, "proof", "proof", r.ID, "state", r.State, "model", r.Model, "bytes", r.Bytes, "worker", r.Worker, "error", r.Error, "faults", r.Faults)
}

// post sends the record of a proof to the webhook. The body is signed with the key of receipts, in the header
// Prove-Model-Signature.
func (s *Server) post(ctx context.Context, r *queue.Record) (err error) {
	defer must.Catch(&err)
	data := must.Get(json.Marshal(r))
	ctx, cancel := context.WithTimeout(ctx, s.opts.Patience)
	defer cancel()
	req := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, s.opts.Webhook, bytes.NewReader(data)))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Prove-Model-Signature", base64.StdEncoding.EncodeToString(ed25519.Sign(s.signing, append([]byte("prove-model webhook\n"), data...))))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.opts.Log.Warn("the webhook cannot be reached", "proof", r.ID) // not its address, which may hold a secret
		return err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	if resp.StatusCode/100 != 2 {
		s.opts.Log.Warn("the webhook refuses", "proof", r.ID, "status", resp.StatusCode)
		return fmt.Errorf("the webhook answers with status %d", resp.StatusCode)
	}
	return nil
}

// Work proves the jobs of the given models until the context ends. It makes so many proofs at once, and puts up to `batch` texts into
// one proof, if the servers have said that these may be proved together. name is the worker's name in records and logs.
func Work(ctx context.Context, q *queue.Queue, list []*models.Model, workers, batch int, name string) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range workers {
		worker := new(queue.Worker)
		name := name
		if workers > 1 {
			name = fmt.Sprintf("%s/%d", name, i+1)
		}
		for _, m := range list {
			group.Go(func() error {
				return q.Work(ctx, m.Commitment, name, worker, m.Prove, &queue.Batch{Most: batch, Fits: m.Fits})
			})
			group.Go(func() error { return q.Help(ctx, m.Commitment, name, worker, m.Help) })
		}
	}
	return group.Wait()
}
