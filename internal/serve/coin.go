package serve

import (
	"context"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/serve/queue"
	"github.com/prove-model/prove-model/internal/serve/receipt"
)

// secretAfter is how long after the end of its day a coin's seed is published. By then no server's clock is still
// before the end of that day.
const secretAfter = time.Hour

// tosses says whether chance decides which answers are proved.
func (s *Server) tosses() bool { return s.opts.Prove > 0 && s.opts.Prove < 1 }

// toss decides whether the answer to a request is proved, and returns what the receipt says about that. The decision depends on the
// request and on the coin's seed, to which the server committed before the request came, so the server cannot influence it.
func (s *Server) toss(ctx context.Context, request string) (now bool, said *receipt.Coin, err error) {
	defer must.Catch(&err)
	if !s.tosses() {
		return s.opts.Prove > 0, nil, nil
	}
	coin := must.Get(s.coin(ctx, time.Now()))
	said = &receipt.Coin{Commitment: receipt.CommitSeed(coin.Seed), Share: strconv.FormatFloat(s.opts.Prove, 'g', -1, 64)}
	return receipt.Toss(coin.Seed, request) < s.opts.Prove, said, nil
}

// coin returns the coin of the day of a time.
func (s *Server) coin(ctx context.Context, at time.Time) (_ *queue.Coin, err error) {
	defer must.Catch(&err)
	s.mu.RLock()
	c := s.today
	s.mu.RUnlock()
	if c != nil && c.Day == at.UTC().Format(time.DateOnly) {
		return c, nil
	}
	c = must.Get(s.queue.Coin(ctx, at))
	s.mu.Lock()
	s.today = c
	s.mu.Unlock()
	return c, nil
}

// mint makes the coins of today and tomorrow, and goes on until the context ends. So the commitment to a coin is known
// before its day begins.
func (s *Server) mint(ctx context.Context) error {
	for {
		for _, at := range []time.Time{time.Now(), time.Now().AddDate(0, 0, 1)} {
			if _, err := s.queue.Coin(ctx, at); err != nil && ctx.Err() == nil {
				s.opts.Log.Error("coins cannot be stored", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(10 * time.Minute):
		}
	}
}

// coins answers with a list of the coins, with the seeds of those whose days are over.
func (s *Server) coins(w http.ResponseWriter, r *http.Request) error {
	list, err := s.queue.Coins(r.Context())
	if err != nil {
		return unavailable(err)
	}
	type entry struct {
		Day        string `json:"day"`
		Commitment string `json:"commitment"`
		Seed       string `json:"seed,omitempty"`
	}
	out := make([]entry, len(list))
	for i, c := range list {
		out[i] = entry{Day: c.Day, Commitment: receipt.CommitSeed(c.Seed)}
		if time.Now().After(c.Over().Add(secretAfter)) {
			out[i].Seed = hex.EncodeToString(c.Seed)
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"data": out})
	return nil
}
