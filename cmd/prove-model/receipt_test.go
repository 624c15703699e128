package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/serve/receipt"
	"github.com/prove-model/prove-model/prover/verifier"
)

// TestReceiptLogprobs: logprobs of an answer are computed again from what its proof states, and others are refused.
func TestReceiptLogprobs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := started(t, append([]string{"serve", "--model", "../../testdata/story", "--data", filepath.Join(dir, "data"), "--no-cache", "--listen", "127.0.0.1:0", "--quiet"}, quick...)...)
	ask := func(path, body string) (answer map[string]any) {
		resp, err := http.Post(p.url+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, _ := io.ReadAll(resp.Body)
		if err := json.Unmarshal(data, &answer); err != nil || answer["receipt"] == nil {
			t.Fatalf("%v: %s", err, data)
		}
		return answer
	}
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	verify := func(answer map[string]any, proofOf map[string]any) (int, string) {
		data, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		ref := proofOf["proof"].(map[string]any)
		_, vk := p.get("/v1/keys/" + ref["model_commitment"].(string))
		var out, log bytes.Buffer
		code := run([]string{"verify", "--proof", write("x.proof", p.proof(ref["id"].(string))), "--vk", write("x.vk", vk), "--receipt", write("answer.json", data), "--min-bits", "20"}, &out, &log)
		return code, out.String() + log.String()
	}
	choice := func(answer map[string]any) map[string]any { return answer["choices"].([]any)[0].(map[string]any) }
	token := func(answer map[string]any) map[string]any {
		return choice(answer)["logprobs"].(map[string]any)["content"].([]any)[1].(map[string]any)
	}
	const chat = `{"model":"story","messages":[{"role":"user","content":"The capital of France is"}],"logprobs":true,"top_logprobs":2}`
	const text = `{"model":"story","prompt":"The capital of","logprobs":3}`
	plain := ask("/v1/chat/completions", strings.Replace(chat, `,"logprobs":true,"top_logprobs":2`, "", 1))
	for _, c := range []struct {
		name, path, body string
		change           func(answer map[string]any)
		want             string // in what is printed; "": the proof holds
	}{
		{"a conversation", "/v1/chat/completions", chat, func(map[string]any) {}, ""},
		{"a text", "/v1/completions", text, func(map[string]any) {}, ""},
		{"drawn", "/v1/completions", strings.Replace(text, "3}", `3,"seed":4,"temperature":2}`, 1), func(map[string]any) {}, ""},
		{"another number", "/v1/chat/completions", chat, func(a map[string]any) { token(a)["logprob"] = -0.5 }, "other logprobs for its token 2"},
		{"another likeliest", "/v1/chat/completions", chat, func(a map[string]any) { token(a)["top_logprobs"].([]any)[1].(map[string]any)["logprob"] = -0.5 }, "other logprobs for its token 2"},
		{"one less", "/v1/chat/completions", chat, func(a map[string]any) {
			l := choice(a)["logprobs"].(map[string]any)
			l["content"] = l["content"].([]any)[1:]
		}, "logprobs of 8 tokens, and the proof is about 9"},
		{"another number of a text", "/v1/completions", text, func(a map[string]any) {
			choice(a)["logprobs"].(map[string]any)["top_logprobs"].([]any)[0].(map[string]any)["x"] = -0.5
		}, "other logprobs for its token 1"},
		{"of both kinds", "/v1/completions", text, func(a map[string]any) {
			choice(a)["logprobs"].(map[string]any)["content"] = []any{}
		}, "logprobs of both kinds"},
		{"logprobs that nobody has asked for", "", "", func(a map[string]any) {
			choice(a)["logprobs"] = map[string]any{"content": []any{}}
		}, "the proof states no logits"},
	} {
		answer := plain
		if c.path != "" {
			answer = ask(c.path, c.body)
		}
		c.change(answer)
		code, said := verify(answer, answer)
		if c.want == "" && (code != exitOK || !strings.Contains(said, "compared: logprobs")) || c.want != "" && (code != exitNotValid || !strings.Contains(said, c.want)) {
			t.Errorf("%s: code %d: %s", c.name, code, said)
		}
	}
}

// FuzzLogprobs holds logprobs of any content against a proof's logits.
func FuzzLogprobs(f *testing.F) {
	values := []float64{0, 1, 2, 3, 2, 1, 5, 5, 5}
	l := func(i, token int) float64 { return receipt.Logprobs(values[3*i:][:3])[token] }
	for _, s := range []string{
		fmt.Sprintf(`{"content": [{"logprob": %v, "top_logprobs": [{"logprob": %v}]}, {"logprob": %v}, {"logprob": %v}]}`, l(0, 2), l(0, 2), l(1, 0), l(2, 0)),
		fmt.Sprintf(`{"token_logprobs": [%v, %v, %v], "top_logprobs": [{"a": %v}, {}, null]}`, l(0, 2), l(1, 0), l(2, 0), l(0, 2)),
		`{"content": [{}], "token_logprobs": [1, 2], "top_logprobs": [{}, {}]}`, `{"content": [], "token_logprobs": [1, 2, 3], "top_logprobs": [{}, {}, {}]}`,
	} {
		f.Add([]byte(s))
	}
	proved := &provemodel.Statement{Generated: &verifier.Written{Tokens: []int{2, 0, 0}},
		Outputs: []provemodel.Tensor{{Shape: []int{3, 3}, Values: values}}}
	f.Fuzz(func(t *testing.T, data []byte) {
		w := &weighed{}
		if json.Unmarshal(data, w) != nil || w.hold(proved) != nil {
			return
		}
		if len(w.Content) != 3 && len(w.Values) != 3 {
			t.Errorf("logprobs of other than three tokens hold: %s", data)
		}
	})
}

// TestReceiptOfHidden: the receipt of a server that answers a text with a proof which hides its input is refused.
func TestReceiptOfHidden(t *testing.T) {
	a := &answered{receipt: &receipt.Signed{}, request: []byte(`{"input": [1, 5]}`)}
	proved := &provemodel.Statement{}
	a.receipt.Commitment = proved.Commitment.String()
	if _, err := a.hold(&config.Config{}, proved, nil); !errors.Is(err, provemodel.ErrInvalid) {
		t.Error(err)
	}
}

// TestIsBeginning: an answer is a beginning of what the model wrote, which is found in time that grows with its length alone.
func TestIsBeginning(t *testing.T) {
	text := strings.Repeat("é", 1<<19)
	for n, want := range map[string]bool{"": true, text[:3]: true, text: true, "e": false, text + "é": false} {
		if isBeginning(text, receipt.TextDigest(n)) != want {
			t.Errorf("%d bytes of %d: not %v", len(n), len(text), want)
		}
	}
}
