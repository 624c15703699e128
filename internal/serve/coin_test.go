package serve

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/prove-model/prove-model/internal/serve/queue"
	"github.com/prove-model/prove-model/internal/serve/receipt"
)

// A share of answers is proved: which, a coin says whose seed was committed to before, and is told when its day is over. All servers of
// a store toss the same.
func TestCoin(t *testing.T) {
	const share = 0.3
	r := start(t, false, Options{Prove: share})
	other := New(r.q, r.s.signing, Options{Prove: share})
	coin, err := r.q.Coin(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	seed, proved := hex.EncodeToString(coin.Seed), 0
	const requests = 40
	for n := range requests {
		body := fmt.Sprintf(question, fmt.Sprintf(`,"seed":%d`, n))
		a := r.ask("/v1/chat/completions", body)
		signed, err := receipt.Read(a.Receipt, r.s.PublicKey())
		if err != nil {
			t.Fatal(err)
		}
		due, err := signed.Due(seed)
		if err != nil || signed.Coin.Share != "0.3" || due != (a.Proof.State == queue.Queued) {
			t.Errorf("request %d: due: %t, %v; %s", n, due, err, a.Proof.State)
		}
		if now, said, err := other.toss(t.Context(), bodyDigest([]byte(body))); err != nil || now != due || *said != *signed.Coin {
			t.Errorf("request %d: another server tosses %t, %+v, %v", n, now, said, err)
		}
		if due {
			proved++
		}
		if _, err := signed.Due("00" + seed[2:]); err == nil && seed[:2] != "00" {
			t.Error("another seed is taken")
		}
	}
	if proved == 0 || proved == requests {
		t.Errorf("%d of %d are proved", proved, requests)
	}
	a := r.ask("/v1/chat/completions", fmt.Sprintf(question, `,"prove":false`))
	if signed, err := receipt.Read(a.Receipt, ""); err != nil || signed.Coin != nil {
		t.Errorf("the request has said: %+v, %v", signed, err)
	} else if _, err := signed.Due(seed); err == nil {
		t.Error("a receipt without a coin was due")
	}
	// What is told of coins, of today's and of one that is over.
	past, err := r.q.Coin(t.Context(), time.Now().AddDate(0, 0, -2))
	if err != nil {
		t.Fatal(err)
	}
	status, _, data := r.do("GET", "/v1/coins", "")
	var list struct {
		Data []struct{ Day, Commitment, Seed string }
	}
	if err := json.Unmarshal(data, &list); err != nil || status != http.StatusOK || len(list.Data) != 2 {
		t.Fatalf("status %d, %v: %s", status, err, data)
	}
	if c := list.Data[0]; c.Day != past.Day || c.Seed != hex.EncodeToString(past.Seed) || c.Commitment != receipt.CommitSeed(past.Seed) {
		t.Errorf("%+v", c)
	}
	if c := list.Data[1]; c.Day != coin.Day || c.Seed != "" || c.Commitment != receipt.CommitSeed(coin.Seed) {
		t.Errorf("%+v", c)
	}
}
