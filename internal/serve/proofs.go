package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/serve/queue"
	"github.com/prove-model/prove-model/internal/serve/receipt"
)

// record returns the record of the proof that a request names, if its owner is the one who asks.
func (s *Server) record(r *http.Request) (_ *queue.Record, err error) {
	defer must.Catch(&err)
	rec := must.Get(s.queue.Record(r.Context(), r.PathValue("id")))
	if rec.Owner != ownerOf(r) {
		return nil, queue.ErrUnknown
	}
	return rec, nil
}

// proof answers with the record of a proof.
func (s *Server) proof(w http.ResponseWriter, r *http.Request) error {
	rec := must.Get(s.record(r))
	writeJSON(w, http.StatusOK, rec)
	return nil
}

// prove queues a job that nobody has asked to prove before, or whose proof failed.
func (s *Server) prove(w http.ResponseWriter, r *http.Request) error {
	rec := must.Get(s.record(r))
	must.OK(s.admit(r.Context()))
	rec, err := s.queue.Prove(r.Context(), rec.ID)
	if err != nil {
		return unavailable(err)
	}
	writeJSON(w, http.StatusAccepted, rec)
	return nil
}

// proofFile answers with the proof itself, or with the state of its record while there is none.
func (s *Server) proofFile(w http.ResponseWriter, r *http.Request) error {
	rec := must.Get(s.record(r))
	switch rec.State {
	case queue.Queued, queue.Proving:
		w.Header().Set("Retry-After", "1")
		writeJSON(w, http.StatusAccepted, rec)
		return nil
	case queue.Kept:
		return &apiError{Status: http.StatusConflict, Type: invalidRequest, Code: "not_asked_for", Message: "nobody has asked for this proof: POST to its address does"}
	case queue.Failed:
		return &apiError{Status: http.StatusConflict, Type: serverError, Code: "proof_failed", Message: "the proof could not be made: " + rec.Error}
	}
	tag := fmt.Sprintf("%q", rec.SHA256)
	kept := func() { // but an error is not to be kept
		w.Header().Set("ETag", tag)
		w.Header().Set("Cache-Control", "private, immutable")
	}
	if r.Header.Get("If-None-Match") == tag {
		kept()
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	file := must.Get(s.queue.Proof(r.Context(), rec))
	defer file.Close()
	kept()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", "attachment; filename="+strconv.Quote(rec.File()[:16]+".proof"))
	w.Header().Set("Content-Length", strconv.FormatInt(rec.Bytes, 10))
	for part := make([]byte, partBytes); ; {
		n, err := file.Read(part)
		if n > 0 {
			if _, err := w.Write(part[:n]); err != nil {
				return nil // the client is gone, or too slow
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil { // the client notices that the answer is shorter than its Content-Length
			s.opts.Log.Error("a proof cannot be read", "proof", rec.ID, "error", err)
			panic(http.ErrAbortHandler)
		}
	}
}

// placed answers a receipt of this server with the same receipt, signed again, to which it adds the place of its text
// in a proof of several texts. If the text is proved by itself the receipt does not change.
func (s *Server) placed(w http.ResponseWriter, r *http.Request) error {
	rec := must.Get(s.record(r))
	body := must.Get(s.body(w, r))
	signed, err := receipt.Read(body, s.PublicKey())
	if err == nil && signed.Proof != rec.ID {
		err = errors.New("the receipt is of another proof")
	}
	if err != nil {
		return bad("", "invalid_receipt", err)
	}
	if rec.State != queue.Proved {
		return &apiError{Status: http.StatusConflict, Type: invalidRequest, Code: "not_proved", Message: "the proof has not been made: what it is of is known then"}
	}
	if rec.Joint != nil {
		signed.Joint = rec.Joint
		signed = must.Get(receipt.Sign(&signed.Receipt, s.signing))
	}
	writeJSON(w, http.StatusOK, signed)
	return nil
}

// proofEvents streams the progress of a proof: an event "proof" with the record whenever that changes, and events
// "progress" in between.
func (s *Server) proofEvents(w http.ResponseWriter, r *http.Request) error {
	rec := must.Get(s.record(r))
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		select {
		case <-s.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	e := &events{w: w}
	err := s.queue.Watch(ctx, rec.ID, func(rec *queue.Record, p *queue.Progress) error {
		if rec != nil {
			e.send("proof", rec)
		} else {
			e.send("progress", p)
		}
		return e.err
	})
	if err != nil && !e.started {
		return err
	}
	return nil
}

// key answers with the verification key of a commitment.
func (s *Server) key(w http.ResponseWriter, r *http.Request) error {
	file := must.Get(s.queue.Key(r.Context(), r.PathValue("commitment")))
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Cache-Control", "private, immutable")
	_, _ = w.Write(file)
	return nil
}

// receiptKey answers with the public key that receipts are verified with.
func (s *Server) receiptKey(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, map[string]any{"algorithm": "Ed25519", "public_key": s.PublicKey()})
	return nil
}

// live says that the process answers.
func (s *Server) live(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"live": true})
}

// readyz says whether requests are answered: all models are committed to, the store can be reached, and the server is
// not shutting down.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	if err := s.serving(); err != nil {
		fail(w, asAPI(err))
		return
	}
	if !s.queue.Alive() {
		fail(w, unavailable(nil))
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"ready": true, "models": len(s.Models())})
}
