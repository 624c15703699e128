// Package serve answers requests over HTTP with the models that it has committed to, and proves the answers. It speaks the API of OpenAI
// for language models and the Open Inference Protocol for others. Every answer names the proof that is made of it; what was answered is in
// a store (package queue) before the answer says so, and is proved even if the process ends.
//
// A handler turns a request into a job and an answer; workers, which may be other processes, prove jobs. docs/serve.md describes the API.
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
	// Prove is the share of answers that are proved at once, 0 to 1. The others are kept, and proved when somebody asks for it.
	Prove float64
	// Keys are those that requests must have; nil: everybody may ask.
	Keys *Keys
	// Local says that the server listens on the loopback alone: requests must then be addressed to it, which those of other sites that a
	// browser has open are not.
	Local bool
	// Shared says with whose answers one may be proved together (receipt.SharedKey, receipt.SharedAll); "": each is proved by itself.
	Shared string
	// Rate is the most requests a minute of a key, or of an address where there are no keys; 0: any number.
	Rate float64
	// MaxBody is the most bytes of a request.
	MaxBody int64
	// MaxQueue is how many jobs may wait for their proofs: more answers are refused.
	MaxQueue int
	// Parallel is how many answers are computed at once. Some hundred others wait.
	Parallel int
	// Webhook is where records of proofs are posted when they are done; "": nowhere.
	Webhook string
	// Patience is how long a client may take to send a request, and to take a part of an answer; 0 is half a minute. The store and the
	// webhook have as long.
	Patience time.Duration
	Log      *slog.Logger
}

// Server answers requests. Its handlers may be called before models are there, and say so.
type Server struct {
	opts    Options
	queue   *queue.Queue
	signing ed25519.PrivateKey
	metrics *metrics
	limits  *limits
	slots   chan struct{} // of answers that are computed
	waiting atomic.Int64  // requests that wait for a slot

	mu     sync.RWMutex
	models []*models.Model
	today  *queue.Coin // the one that was tossed last

	ready    atomic.Bool
	draining atomic.Bool
	ended    chan struct{} // closed when streams should end
}

// New makes a server. Models are added with Add, and Ready says that these are all.
func New(q *queue.Queue, signing ed25519.PrivateKey, opts Options) *Server {
	opts.Patience = cmp.Or(opts.Patience, patience)
	s := &Server{opts: opts, queue: q, signing: signing, limits: newLimits(opts.Rate), slots: make(chan struct{}, max(1, opts.Parallel)), ended: make(chan struct{})}
	s.metrics = newMetrics(s)
	return s
}

// Add puts a committed model into the server, and its key into the store.
func (s *Server) Add(ctx context.Context, m *models.Model) error {
	if err := s.queue.Announce(ctx, m.Commitment, m.KeyFile()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models = append(s.models, m)
	return nil
}

// Ready says that all models are there.
func (s *Server) Ready() { s.ready.Store(true) }

// Drain has the server say that it takes no more requests, and ends streams of events.
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

// PublicKey is what receipts are verified with, in base64.
func (s *Server) PublicKey() string {
	return base64.StdEncoding.EncodeToString(s.signing.Public().(ed25519.PublicKey))
}

// slot waits until an answer may be computed. It fails if too many wait already, for that or to be proved.
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

// admit refuses an answer whose proof would have to wait behind too many.
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

// Handler returns the routes.
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
	return s.local(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect { // whose address has no path
			unknown.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}))
}

// mostWaiting is how many requests may wait to be answered.
const mostWaiting = 512

// patience is Options.Patience where nothing is said.
const patience = 30 * time.Second
