// Package serve answers requests over HTTP with the models that it has committed to, and proves the answers. It speaks OpenAI's API for
// language models and the Open Inference Protocol for other models. Every answer names its proof. What has to be proved is on disk
// (package queue) before the answer is sent, and is proved even if the process is killed.
//
// A handler turns a request into an answer and a job. Workers, which may be other processes, prove the jobs. docs/serve.md describes the
// API.
package serve

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prove-model/prove-model/internal/serve/models"
	"github.com/prove-model/prove-model/internal/serve/queue"
)

// Options say how a server behaves.
type Options struct {
	// Prove is the share of answers that are proved at once, from 0 to 1. The others are stored, and proved if somebody
	// asks for it.
	Prove float64
	// Keys are the API keys of which requests must have one; nil: everybody may ask.
	Keys *Keys
	// Local says that only this machine reaches the server. Requests must then be addressed to localhost, so that web pages of other
	// sites cannot make a browser send requests here.
	Local bool
	// Shared says which answers may be proved together: those of one API key (receipt.SharedKey) or of everybody
	// (receipt.SharedAll); "": each is proved by itself.
	Shared string
	// Rate is the greatest number of requests a minute of an API key, or of an address if there are no keys; 0: any
	// number.
	Rate float64
	// MaxBody is the greatest size of a request in bytes.
	MaxBody int64
	// MaxQueue is how many jobs may wait for their proofs. While there are more, requests are refused.
	MaxQueue int
	// Parallel is how many answers are computed at once. Up to mostWaiting other requests wait.
	Parallel int
	// Webhook is the URL to which the record of each proof is posted when the proof is done; "": none.
	Webhook string
	// Patience is how long a client may take to send a request, and to take each part of an answer (partBytes); 0 is half a minute. It
	// also limits calls of the store and of the webhook.
	Patience time.Duration
	Log      *slog.Logger
}

// Server answers requests. Its handlers may be called before the models are ready; they then answer with an error.
type Server struct {
	opts    Options
	queue   *queue.Queue
	signing ed25519.PrivateKey
	metrics *metrics
	limits  *limits
	slots   chan struct{} // holds an element for each answer that is being computed
	waiting atomic.Int64  // requests that wait for a slot

	mu     sync.RWMutex
	models []*models.Model
	today  *queue.Coin // the coin that was tossed last

	ready    atomic.Bool
	draining atomic.Bool
	ended    chan struct{} // closed when streams of events are to end
}

// New makes a server. Add adds models, and Ready says that all have been added.
func New(q *queue.Queue, signing ed25519.PrivateKey, opts Options) *Server {
	opts.Patience = cmp.Or(opts.Patience, patience)
	s := &Server{opts: opts, queue: q, signing: signing, limits: newLimits(opts.Rate), slots: make(chan struct{}, max(1, opts.Parallel)), ended: make(chan struct{})}
	s.metrics = newMetrics(s)
	return s
}

// Add adds a committed model to the server, and puts its key into the store.
func (s *Server) Add(ctx context.Context, m *models.Model) error {
	if err := s.queue.Announce(ctx, m.Commitment, m.KeyFile()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models = append(s.models, m)
	return nil
}

// Ready says that all models have been added.
func (s *Server) Ready() { s.ready.Store(true) }

// Drain makes the server refuse new requests for models, and ends streams of events.
func (s *Server) Drain() {
	if !s.draining.Swap(true) {
		close(s.ended)
	}
}

// Models lists the models.
func (s *Server) Models() []*models.Model {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.models)
}

// model returns the model of a name, nil if there is none.
func (s *Server) model(name string) *models.Model {
	for _, m := range s.Models() {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// PublicKey returns the key that receipts are verified with, in base64.
func (s *Server) PublicKey() string {
	return base64.StdEncoding.EncodeToString(s.signing.Public().(ed25519.PublicKey))
}

// slot waits until an answer may be computed; release frees the slot. It fails if too many requests wait already, or
// too many jobs for their proofs.
func (s *Server) slot(ctx context.Context) (release func(), err error) {
	if err := s.admit(ctx); err != nil {
		return nil, err
	}
	if s.waiting.Add(1) > mostWaiting {
		s.waiting.Add(-1)
		return nil, errBusy
	}
	defer s.waiting.Add(-1)
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// admit returns an error if MaxQueue jobs or more wait for their proofs.
func (s *Server) admit(ctx context.Context) error {
	n, err := s.queue.Waiting(ctx)
	if err != nil {
		return unavailable(err)
	}
	if n >= s.opts.MaxQueue {
		return errBusy
	}
	return nil
}

// Handler returns the handler of all routes.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	open := func(pattern string, h http.HandlerFunc) { mux.Handle(pattern, s.observed(pattern, h)) }
	guarded := func(pattern string, h handler) { open(pattern, s.guarded(h)) }

	open("GET /{$}", s.page)
	open("GET /page/{file}", s.pageFile)
	open("GET /livez", s.live)
	open("GET /readyz", s.readyz)
	open("GET /metrics", s.metrics.handler.ServeHTTP)

	guarded("GET /v1/models", s.listModels)
	guarded("GET /v1/models/{model}", s.showModel)
	guarded("GET /v1/models/{model}/tokenizer", s.tokenizer)
	guarded("GET /v1/models/{model}/vocabulary", s.vocabulary)
	guarded("POST /v1/chat/completions", s.chat)
	guarded("POST /v1/completions", s.complete)
	guarded("POST /v1/embeddings", s.embed)
	guarded("GET /v1/keys/{commitment}", s.key)
	guarded("GET /v1/receipts/key", s.receiptKey)
	guarded("GET /v1/coins", s.coins)
	guarded("GET /v1/proofs/{id}", s.proof)
	guarded("POST /v1/proofs/{id}", s.prove)
	guarded("GET /v1/proofs/{id}/file", s.proofFile)
	guarded("GET /v1/proofs/{id}/events", s.proofEvents)
	guarded("POST /v1/proofs/{id}/receipt", s.placed)

	guarded("GET /v2", s.v2Server)
	open("GET /v2/health/live", s.live)
	open("GET /v2/health/ready", s.readyz)
	guarded("GET /v2/models/{model}", s.v2Model)
	guarded("GET /v2/models/{model}/ready", s.v2Ready)
	guarded("POST /v2/models/{model}/infer", s.infer)

	unknown := s.observed("/", s.guarded(func(_ http.ResponseWriter, r *http.Request) error {
		return &apiError{Status: http.StatusNotFound, Type: invalidRequest, Code: "unknown_url", Message: "there is no " + r.Method + " of this address; docs/serve.md lists what there is"}
	}))
	mux.Handle("/", unknown)
	return s.patient(s.local(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect { // its address has no path for the mux
			unknown.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})))
}

// mostWaiting is how many requests may wait for a slot.
const mostWaiting = 512

// patience is the default of Options.Patience.
const patience = 30 * time.Second
