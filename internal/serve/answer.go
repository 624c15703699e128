package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/serve/models"
	"github.com/prove-model/prove-model/internal/serve/queue"
	"github.com/prove-model/prove-model/internal/serve/receipt"
	"github.com/prove-model/prove-model/internal/serve/traces"
)

// proofRef is the part of an answer that names its proof.
type proofRef struct {
	ID         string      `json:"id"`
	State      queue.State `json:"state"`
	URL        string      `json:"url"` // path on this server
	Commitment string      `json:"model_commitment"`
}

// refOf makes the proofRef of a record.
func refOf(r *queue.Record) *proofRef {
	return &proofRef{r.ID, r.State, "/v1/proofs/" + r.ID, r.Commitment}
}

// proven has the members that every answer has in addition to the answer itself.
type proven struct {
	Proof   *proofRef       `json:"proof"`
	Receipt *receipt.Signed `json:"receipt"`
}

// accept stores the job of an answer, completes the receipt and signs it. asked is what the request says about a proof;
// nil: nothing, so the server's settings decide.
func (s *Server) accept(r *http.Request, j *queue.Job, asked *bool, rec *receipt.Receipt) (_ *proven, err error) {
	defer must.Catch(&err)
	ctx, cancel := context.WithTimeout(r.Context(), s.opts.Patience)
	defer cancel()
	var now bool
	if asked != nil {
		now = *asked
	} else if now, rec.Coin, err = s.toss(ctx, rec.Request); err != nil {
		return nil, unavailable(err)
	}
	ctx, span := traces.Start(ctx, "accept")
	made, err := s.queue.Accept(ctx, j, now)
	traces.End(span, err)
	if err != nil {
		return nil, unavailable(err)
	}
	noteOf(r).proof = made.ID
	rec.Model, rec.Commitment, rec.Proof, rec.Shared = j.Model, j.Commitment, made.ID, j.Shared
	signed := must.Get(receipt.Sign(rec, s.signing))
	return &proven{refOf(made), signed}, nil
}

// writing is a request to a language model to write a text.
type writing struct {
	id, object string
	created    int64
	body       []byte
	model      *models.Model
	prompt     []int
	maxTokens  int
	sampling   *provemodel.Sampling
	stop       []string
	logprobs   *int // how many alternatives to tell with each token's logprob; nil: no logprobs
	prove      *bool
	alone      bool // its text may not be proved together with other requests' texts
	stream     bool
	usage      bool // whether a stream ends with the numbers of tokens
}

// write has the model answer, and accepts the job. It calls each with the parts of the text, and with their tokens if
// the request asks for logprobs.
func (s *Server) write(r *http.Request, q *writing, each func(text string, tokens []models.Weighed)) (_ *models.Written, _ *proven, err error) {
	defer must.Catch(&err)
	release := must.Get(s.slot(r.Context()))
	ctx, span := traces.Start(r.Context(), "answer", traces.Model.String(q.model.Name))
	w, err := q.model.Write(ctx, &models.Writing{Prompt: q.prompt, MaxTokens: q.maxTokens, Sampling: q.sampling, Stop: q.stop, Logprobs: q.logprobs, Each: each})
	traces.End(span, err)
	release()
	must.OK(err)
	s.metrics.tokens.WithLabelValues(q.model.Name, "prompt").Add(float64(len(q.prompt)))
	s.metrics.tokens.WithLabelValues(q.model.Name, "answer").Add(float64(len(w.Tokens)))
	text := &receipt.Text{AnswerSHA256: receipt.TextDigest(w.Text), PromptTokens: q.prompt, Tokens: w.Tokens, Sampling: receipt.RuleOf(q.sampling)}
	if t := q.model.Tokenizer; t != nil {
		d := t.Digest()
		text.TokenizerSHA256 = hex.EncodeToString(d[:])
	}
	shared := s.opts.Shared
	if q.alone {
		shared = ""
	}
	p, err := s.accept(r, &queue.Job{
		Model: q.model.Name, Commitment: q.model.Commitment, Owner: ownerOf(r), Shared: shared,
		Text: &queue.Text{Prompt: q.prompt, Tokens: w.Tokens, Sampling: q.sampling, Logits: q.logprobs != nil && q.sampling == nil},
	}, q.prove, &receipt.Receipt{Answer: q.id, Created: q.created, Request: bodyDigest(q.body), Text: text})
	return w, p, err
}

// bodyDigest returns the SHA-256 of a request's body in hexadecimal.
func bodyDigest(body []byte) string {
	d := sha256.Sum256(body)
	return hex.EncodeToString(d[:])
}

// newID returns a new random id of an answer.
func newID(kind string) string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return kind + "-" + hex.EncodeToString(b[:])
}

// seed returns a random seed for an answer whose request gives none: a whole number of at most 53 bits, which every
// JSON reader keeps exactly.
func seed() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return int64(binary.LittleEndian.Uint64(b[:]) >> 11)
}

// drawing returns the rule by which tokens are drawn, from the parameters of a request. It is nil, and each token the
// likeliest, if the temperature is 0 or none of the parameters is given.
func drawing(temperature, topP *float64, topK *int, given *int64) (*provemodel.Sampling, error) {
	if temperature == nil && topP == nil && topK == nil && given == nil || temperature != nil && *temperature == 0 {
		return nil, nil
	}
	rule := &provemodel.Sampling{Temperature: 1, TopP: 1}
	if temperature != nil {
		rule.Temperature = *temperature
	}
	if topP != nil {
		rule.TopP = *topP
	}
	if topK != nil {
		rule.TopK = *topK
	}
	if given != nil {
		rule.Seed = *given
	} else {
		rule.Seed = seed()
	}
	if err := rule.Validate(); err != nil {
		return nil, errors.New("the request asks for " + err.Error())
	}
	return rule, nil
}

func now() int64 { return time.Now().Unix() }
