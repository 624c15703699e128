package serve

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/prove-model/prove-model/internal/serve/traces"
)

// metrics are the Prometheus metrics of a server, which /metrics shows.
type metrics struct {
	handler  http.Handler
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	tokens   *prometheus.CounterVec
	proofs   *prometheus.CounterVec
	proving  *prometheus.HistogramVec
	texts    *prometheus.HistogramVec
}

// newMetrics registers the metrics of a server. Two are computed when they are asked for: the number of jobs in the
// queue, −1 if the store cannot be reached, and the number of answers that are being computed.
func newMetrics(s *Server) *metrics {
	r := prometheus.NewRegistry()
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "prove_model_requests_total", Help: "Requests that were answered, by route and status."}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "prove_model_request_seconds", Help: "Time until an answer was complete.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 10)}, []string{"route"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "prove_model_tokens_total", Help: "Tokens of prompts that were read and of answers that were written."}, []string{"model", "kind"}),
		proofs: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "prove_model_proofs_total", Help: "Proofs that were done, by how: proved or failed."}, []string{"model", "state"}),
		proving: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "prove_model_proof_seconds", Help: "Time from an answer to its verified proof.", Buckets: prometheus.ExponentialBuckets(0.05, 4, 10)}, []string{"model"}),
		texts: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "prove_model_proof_texts", Help: "Answers that one proof is of.", Buckets: prometheus.ExponentialBuckets(1, 2, 11)}, []string{"model"}),
	}
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "prove_model_queue_jobs", Help: "Jobs that are not proved yet; answers that are proved together are one."}, func() float64 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		n, err := s.queue.Waiting(ctx)
		if err != nil {
			return -1
		}
		return float64(n)
	})
	answering := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "prove_model_answers_running", Help: "Answers that are being computed."}, func() float64 { return float64(len(s.slots)) })
	r.MustRegister(m.requests, m.seconds, m.tokens, m.proofs, m.proving, m.texts, waiting, answering, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(r, promhttp.HandlerOpts{})
	return m
}

// note collects what the handlers of a request want logged: the owner of the API key, and the id of the proof.
type note struct {
	owner string
	proof string
}

type noteKey struct{}

// noteOf returns the note of a request.
func noteOf(r *http.Request) *note {
	n, _ := r.Context().Value(noteKey{}).(*note)
	if n == nil {
		return &note{}
	}
	return n
}

// observed counts, times and logs the requests of a route.
func (s *Server) observed(pattern string, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start, n, rec := time.Now(), &note{}, &recorder{w, http.StatusOK, s.opts.Patience}
		ctx, span := traces.Start(traces.Received(r.Context(), r.Header), pattern)
		defer span.End()
		next(rec, r.WithContext(context.WithValue(ctx, noteKey{}, n)))
		rec.wait() // for the rest of the answer, which package http writes now
		span.SetAttributes(attribute.String("http.route", pattern), attribute.Int("http.response.status_code", rec.status))
		if n.proof != "" {
			span.SetAttributes(traces.Proof.String(n.proof))
		}
		took := time.Since(start)
		s.metrics.requests.WithLabelValues(pattern, strconv.Itoa(rec.status)).Inc()
		s.metrics.seconds.WithLabelValues(pattern).Observe(took.Seconds())
		level := slog.LevelInfo
		if rec.status < 400 && r.Method == http.MethodGet {
			level = slog.LevelDebug // probes and polls are frequent
		}
		// This logs the route's pattern. It logs neither the address nor headers, which may hold secrets.
		s.opts.Log.Log(r.Context(), level, "request", "route", pattern, "status", rec.status, "milliseconds", took.Milliseconds(), "key", n.owner, "proof", n.proof)
	})
}

// recorder is a ResponseWriter that remembers the status of an answer, and sets a deadline for each part of the answer
// that it writes.
type recorder struct {
	http.ResponseWriter
	status   int
	patience time.Duration
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.wait()
	r.ResponseWriter.WriteHeader(status)
}

// partBytes is the size of a part of an answer. A client has Options.Patience to take each part.
const partBytes = 64 << 10

// Write implements http.ResponseWriter.
func (r *recorder) Write(data []byte) (n int, err error) {
	for {
		r.wait()
		part := data[n:min(len(data), n+partBytes)]
		m, err := r.ResponseWriter.Write(part)
		if n += m; err != nil || n == len(data) {
			return n, err
		}
	}
}

// wait sets the deadline of the next write.
func (r *recorder) wait() {
	_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(time.Now().Add(r.patience))
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
