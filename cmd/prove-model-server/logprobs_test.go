package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/internal/program"
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
		code := proveModel([]string{"verify", "--proof", write("x.proof", p.proof(ref["id"].(string))), "--vk", write("x.vk", vk), "--receipt", write("answer.json", data), "--min-bits", "20"}, &out, &log)
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
		if c.want == "" && (code != program.ExitOK || !strings.Contains(said, "compared: logprobs")) || c.want != "" && (code != program.ExitNotValid || !strings.Contains(said, c.want)) {
			t.Errorf("%s: code %d: %s", c.name, code, said)
		}
	}
}
