//go:build unix

package serve

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/serve/models"
	"github.com/prove-model/prove-model/internal/serve/queue"
	"github.com/prove-model/prove-model/internal/serve/receipt"
	"github.com/prove-model/prove-model/internal/ui"
)

// BenchmarkBatch is what 16 answers cost that wait, each proved by itself and all in one proof: processor time of proving, verifying and the
// store, and bytes of proofs.
func BenchmarkBatch(b *testing.B) {
	const answers = 16
	for name, folder := range map[string]string{"story": "../../testdata/story", "llama": "../../hf/testdata/llama"} {
		c := config.Default()
		c.Model, c.NoCache = folder, true
		m, err := models.Open(context.Background(), name, &c, nil, ui.NewPhases(io.Discard, true))
		if err != nil {
			b.Fatal(err)
		}
		defer m.Close()
		for _, batch := range []int{1, answers} {
			b.Run(fmt.Sprintf("%s/%d", name, batch), func(b *testing.B) {
				var milliseconds, bytes float64
				for b.Loop() {
					cpu, size := batched(b, m, answers, batch)
					milliseconds, bytes = milliseconds+cpu, bytes+size
				}
				b.ReportMetric(milliseconds/float64(b.N*answers), "cpu-ms/answer")
				b.ReportMetric(bytes/float64(b.N*answers), "bytes/answer")
			})
		}
	}
}

// batched proves answers that wait, and returns the milliseconds of processor time that it takes and the bytes of all proofs.
func batched(b *testing.B, m *models.Model, answers, batch int) (milliseconds, bytes float64) {
	ctx, cancel := context.WithCancel(context.Background())
	q, err := queue.Embedded(ctx, filepath.Join(b.TempDir(), "store"), queue.Options{})
	if err != nil {
		b.Fatal(err)
	}
	signing, err := receipt.OpenKey(filepath.Join(b.TempDir(), "key.pem"))
	if err != nil {
		b.Fatal(err)
	}
	s := New(q, signing, Options{Log: slog.New(slog.DiscardHandler)})
	if err := s.Add(ctx, m); err != nil {
		b.Fatal(err)
	}
	for i := range answers {
		prompt := make([]int, 8+i%8)
		for k := range prompt {
			prompt[k] = 3 + (i+k*5)%29
		}
		w, err := m.Write(ctx, &models.Writing{Prompt: prompt, MaxTokens: 8, Each: func(string, []models.Weighed) {}})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := q.Accept(ctx, &queue.Job{Model: m.Name, Commitment: m.Commitment, Shared: receipt.SharedAll, Text: &queue.Text{Prompt: prompt, Tokens: w.Tokens}}, true); err != nil {
			b.Fatal(err)
		}
	}
	var wait sync.WaitGroup
	done := make(chan *queue.Record, answers)
	before := processorTime(b)
	wait.Go(func() { _ = q.Check(ctx, s.verify, false, func(r *queue.Record) { done <- r }) })
	wait.Go(func() { _ = Work(ctx, q, []*models.Model{m}, 1, batch, "bench") })
	sizes := map[string]int64{}
	for range answers {
		r := <-done
		if r.State != queue.Proved {
			b.Fatalf("%+v", r)
		}
		sizes[r.SHA256] = r.Bytes
	}
	milliseconds = processorTime(b) - before
	cancel()
	wait.Wait()
	q.Close()
	for _, size := range sizes {
		bytes += float64(size)
	}
	return milliseconds, bytes
}

func processorTime(b *testing.B) (milliseconds float64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
}
