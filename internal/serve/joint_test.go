package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/internal/serve/models"
	"github.com/prove-model/prove-model/internal/serve/queue"
	"github.com/prove-model/prove-model/internal/serve/receipt"
)

// works has a worker prove what waits, up to batch answers in one proof, and the server check it, until the test ends.
func (r *running) works(batch int) {
	list, err := bundled()
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() {
		if err := r.s.Check(ctx); err != nil {
			r.t.Error(err)
		}
	})
	wait.Go(func() {
		if err := Work(ctx, r.q, list, 1, batch, "test"); err != nil {
			r.t.Error(err)
		}
	})
	r.t.Cleanup(func() { cancel(); wait.Wait() })
}

// ofReceipt verifies a proof by a receipt, and returns the number of its text.
func (r *running) ofReceipt(file, signed []byte) (text int, err error) {
	r.t.Helper()
	rec, err := receipt.Read(signed, r.s.PublicKey())
	if err != nil {
		return 0, err
	}
	_, _, vk := r.do("GET", "/v1/keys/"+rec.Commitment, "")
	opts := &provemodel.VerifyOptions{MinBits: 30}
	if opts.Sampling, err = rec.Sampling.Sampling(); err != nil {
		return 0, err
	}
	s, err := provemodel.VerifyFiles(bytes.NewReader(vk), bytes.NewReader(file), opts)
	if err != nil {
		return 0, err
	}
	is := func(i int) bool {
		return slices.Equal(s.Texts[i].Prompt, rec.PromptTokens) && slices.Equal(s.Texts[i].Tokens, rec.Tokens)
	}
	text, err = rec.TextOf(s.Several, func() int {
		for i := range s.Texts {
			if is(i) {
				return i + 1
			}
		}
		return 0
	})
	if err == nil && text > 0 && !is(text-1) {
		err = fmt.Errorf("text %d has other tokens", text)
	}
	return text, err
}

// Answers that wait are proved in one proof, which every receipt, of each length and kind of answer, finds its text in, and no other's.
func TestJoint(t *testing.T) {
	heard := make(chan string, 16)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var rec queue.Record
		if json.NewDecoder(r.Body).Decode(&rec) == nil && rec.Joint != nil {
			heard <- rec.ID
		}
	}))
	defer hook.Close()
	r := start(t, false, Options{Prove: 1, Shared: receipt.SharedAll, Webhook: hook.URL})
	var answers []*answerBody
	for _, body := range []string{
		`{"model":"story","prompt":"The"}`,
		`{"model":"story","prompt":"The capital of France is","max_tokens":3}`,
		`{"model":"story","prompt":"The capital of","max_tokens":1}`,
		`{"model":"story","prompt":"The capital of France is","stop":"is."}`,
	} {
		answers = append(answers, r.ask("/v1/completions", body))
	}
	alone := r.ask("/v1/completions", `{"model":"story","prompt":"The capital","alone":true}`)
	weighed := []*answerBody{r.ask("/v1/completions", `{"model":"story","prompt":"The","logprobs":1}`), r.ask("/v1/completions", `{"model":"story","prompt":"The capital","logprobs":2}`)}
	seeded := []*answerBody{r.ask("/v1/completions", `{"model":"story","prompt":"The","seed":3}`), r.ask("/v1/completions", `{"model":"story","prompt":"The capital","seed":3}`)}
	unseeded := r.ask("/v1/completions", `{"model":"story","prompt":"The","temperature":1}`)
	r.works(16)

	seen := make(chan string, 1)
	go func() { // what becomes of it is told to who watches one of them
		_, _, data := r.do("GET", answers[1].Proof.URL+"/events", "")
		seen <- string(data)
	}()
	files := map[*answerBody][]byte{}
	for _, group := range [][]*answerBody{answers, weighed, seeded} {
		tags := map[string]bool{}
		for i, a := range group {
			files[a] = r.fetched(a.Proof.ID)
			_, h, _ := r.do("GET", a.Proof.URL+"/file", "")
			tags[h.Get("ETag")] = true
			if text, err := r.ofReceipt(files[a], a.Receipt); err != nil || text != i+1 {
				t.Errorf("%s: text %d, %v", a.Receipt, text, err)
			}
			var rec queue.Record
			_, _, data := r.do("GET", a.Proof.URL, "")
			if err := json.Unmarshal(data, &rec); err != nil || rec.State != queue.Proved || rec.Joint == nil || rec.Joint.TextID != i+1 || rec.Joint.Texts != len(group) {
				t.Errorf("%s, %v", data, err)
			}
		}
		if len(tags) != 1 {
			t.Errorf("one proof has %d ETags", len(tags))
		}
	}
	if text := <-seen; !strings.Contains(text, "event: progress") || !strings.Contains(text, `"proved"`) {
		t.Errorf("%s", text)
	}
	for _, a := range []*answerBody{alone, unseeded} {
		if text, err := r.ofReceipt(r.fetched(a.Proof.ID), a.Receipt); err != nil || text != 0 {
			t.Errorf("by itself: text %d, %v", text, err)
		}
	}
	for what, c := range map[string]struct {
		proofOf, receiptOf *answerBody
		want               string
	}{
		"one that was to be by itself": {answers[0], alone, "of its text alone"},
		"a text of another proof":      {seeded[0], answers[1], "other tokens|follow|another text"},
		"a rule of another proof":      {answers[0], seeded[0], "no logits"},
	} {
		if _, err := r.ofReceipt(r.fetched(c.proofOf.Proof.ID), c.receiptOf.Receipt); err == nil || !slices.ContainsFunc(strings.Split(c.want, "|"), func(s string) bool { return strings.Contains(err.Error(), s) }) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for range len(answers) + len(weighed) + len(seeded) { // each once
		select {
		case <-heard:
		case <-time.After(time.Minute):
			t.Fatal("the webhook hears too little")
		}
	}
	if _, _, text := r.do("GET", "/metrics", ""); !bytes.Contains(text, []byte(`prove_model_proof_texts_count{model="story"} 5`)) || !bytes.Contains(text, []byte(`prove_model_proof_texts_sum{model="story"} 10`)) {
		t.Errorf("%s", text)
	}

	t.Run("a receipt with its place", func(t *testing.T) {
		status, _, placed := r.do("POST", answers[2].Proof.URL+"/receipt", string(answers[2].Receipt))
		if text, err := r.ofReceipt(files[answers[2]], placed); status != http.StatusOK || err != nil || text != 3 {
			t.Errorf("status %d, text %d, %v: %s", status, text, err, placed)
		}
		// A server that names another text, or none that there is.
		signed, err := receipt.Read(placed, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []receipt.Place{{TextID: 1, Texts: 4}, {TextID: 0, Texts: 4}, {TextID: 5, Texts: 4}, {TextID: -1, Texts: 4}, {TextID: 1 << 62, Texts: 4}, {TextID: 3, Texts: 5}, {TextID: 3}} {
			signed.Joint = &p
			other, err := receipt.Sign(&signed.Receipt, r.s.signing)
			if err != nil {
				t.Fatal(err)
			}
			data, _ := json.Marshal(other)
			if _, err := r.ofReceipt(files[answers[2]], data); err == nil {
				t.Errorf("%+v holds", p)
			}
			if _, err := r.ofReceipt(r.fetched(alone.Proof.ID), data); err == nil {
				t.Errorf("%+v holds of a proof of one text", p)
			}
		}
		for what, c := range map[string]struct {
			path, body string
			status     int
		}{
			"of one text":     {alone.Proof.URL, string(alone.Receipt), http.StatusOK},
			"of another":      {answers[0].Proof.URL, string(answers[1].Receipt), http.StatusBadRequest},
			"altered":         {answers[0].Proof.URL, strings.Replace(string(answers[0].Receipt), `"shared":"all"`, `"shared":"key"`, 1), http.StatusBadRequest},
			"huge":            {answers[0].Proof.URL, strings.Replace(string(placed), `"text_id":3`, `"text_id":99999999999999999999`, 1), http.StatusBadRequest},
			"nothing":         {answers[0].Proof.URL, " ", http.StatusBadRequest},
			"of an unknown":   {"/v1/proofs/" + strings.Repeat("0", 64), string(answers[0].Receipt), http.StatusNotFound},
			"its bytes again": {answers[2].Proof.URL, string(placed), http.StatusOK},
		} {
			if status, _, data := r.do("POST", c.path+"/receipt", c.body); status != c.status {
				t.Errorf("%s: status %d: %s", what, status, data)
			}
		}
	})
}

// Texts of two keys stand in one proof only if the operator says so, and each sees the proof of its own alone.
func TestJointKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("anna anna-0123456789abcdef\nbert bert-0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := ReadKeys(file)
	if err != nil {
		t.Fatal(err)
	}
	for shared, texts := range map[string]int{receipt.SharedKey: 2, receipt.SharedAll: 4, "": 0} {
		r := start(t, false, Options{Prove: 1, Shared: shared, Keys: keys})
		var ids []string
		for i, prompt := range []string{"The", "The capital", "The capital of", "The capital of France"} {
			r.key = []string{"anna-0123456789abcdef", "bert-0123456789abcdef"}[i%2]
			ids = append(ids, r.ask("/v1/completions", fmt.Sprintf(`{"model":"story","prompt":%q}`, prompt)).Proof.ID)
		}
		r.works(16)
		for i, id := range ids {
			r.key = []string{"anna-0123456789abcdef", "bert-0123456789abcdef"}[i%2]
			r.fetched(id)
			var rec queue.Record
			_, _, data := r.do("GET", "/v1/proofs/"+id, "")
			if err := json.Unmarshal(data, &rec); err != nil || (rec.Joint != nil) != (texts > 0) || rec.Joint != nil && rec.Joint.Texts != texts {
				t.Errorf("%q: %s", shared, data)
			}
			if status, _, _ := r.do("GET", "/v1/proofs/"+ids[(i+1)%4]+"/file", ""); status != http.StatusNotFound {
				t.Errorf("%q: another's proof: status %d", shared, status)
			}
		}
	}
}

// A joint job fits if there is memory for all of its texts, and if there is a proof of each.
func TestFits(t *testing.T) {
	list, err := bundled()
	if err != nil {
		t.Fatal(err)
	}
	m := list[slices.IndexFunc(list, func(m *models.Model) bool { return m.Name == "story" })]
	of := func(texts ...*queue.Text) *queue.Job {
		j := &queue.Job{Model: m.Name, Commitment: m.Commitment, Shared: receipt.SharedAll}
		for _, text := range texts {
			j.Joint = append(j.Joint, queue.Part{Text: text})
		}
		return j
	}
	short, long := &queue.Text{Prompt: []int{1, 2}, Tokens: []int{3}}, &queue.Text{Prompt: make([]int, 30), Tokens: []int{3, 4, 5}}
	if !m.Fits(of(short, long)) {
		t.Error("two small texts do not fit")
	}
	for name, text := range map[string]*queue.Text{
		"too long": {Prompt: make([]int, 70), Tokens: []int{1}}, "no token": {Prompt: []int{1}, Tokens: []int{99}}, "nothing": {},
	} {
		if m.Fits(of(short, text)) {
			t.Errorf("%s: it fits", name)
		}
	}
	end, err := provemodel.LimitMemory(400<<20, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = end() }()
	if !m.Fits(of(short, long)) || m.Fits(of(slices.Repeat([]*queue.Text{long}, 1024)...)) {
		t.Error("within 400 MB two texts do not fit, or 1024 do")
	}
}
