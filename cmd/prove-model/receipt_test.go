package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/serve/receipt"
	"github.com/prove-model/prove-model/prover/verifier"
)

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

// TestInputAndRequest: arrays of a request are not left out because --input gives others, with which alone the proof would then be
// compared.
func TestInputAndRequest(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	body := []byte(`{"inputs": [{"name": "x", "shape": [2], "datatype": "FP32", "data": [1, 2]}]}`)
	key, err := receipt.OpenKey(filepath.Join(dir, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]string{"x": receipt.Digest([]float64{1, 2})}
	signed, err := receipt.Sign(&receipt.Receipt{Request: receipt.TextDigest(string(body)), Inputs: inputs}, key)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(signed)
	if err != nil {
		t.Fatal(err)
	}
	cfg := &config.Config{Receipt: file("receipt.json", data), Request: file("request.json", body)}
	if _, opts, err := asked(cfg); err != nil || len(opts.Input) != 1 {
		t.Fatalf("%v, %v", opts, err)
	}
	cfg.Input = []string{file("other.json", []byte(`{"x": [3, 4]}`))}
	if _, opts, err := asked(cfg); err == nil {
		t.Errorf("the proof would be compared with %v alone", opts.Input)
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

// An answer that other readers may take for another one than its receipt is about is refused.
func TestOtherAnswer(t *testing.T) {
	proved := &provemodel.Statement{Generated: &verifier.Written{Prompt: []int{1}, Tokens: []int{2}}}
	signed := &receipt.Signed{Receipt: receipt.Receipt{
		Commitment: proved.Commitment.String(),
		Text:       &receipt.Text{AnswerSHA256: receipt.TextDigest("right"), PromptTokens: []int{1}, Tokens: []int{2}},
	}}
	vector := []float64{0.1, 0.5}
	infinite := &provemodel.Statement{Outputs: []provemodel.Tensor{{Name: "v", Values: []float64{math.Inf(-1), math.NaN()}}}}
	a, _, err := parseAnswer([]byte(`{"receipt":{},"outputs":[{"name":"v","data":["-Infinity","NaN"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	a.receipt = &receipt.Signed{Receipt: receipt.Receipt{
		Commitment: infinite.Commitment.String(), Outputs: map[string]string{"v": receipt.Digest(infinite.Outputs[0].Values)},
	}}
	if _, err := a.hold(&config.Config{}, infinite, nil); err != nil {
		t.Error(err)
	}
	encoded := &provemodel.Statement{Outputs: []provemodel.Tensor{{Name: "v", Values: vector}}}
	ofVector := &receipt.Signed{Receipt: receipt.Receipt{
		Commitment: encoded.Commitment.String(), Outputs: map[string]string{"v": receipt.Digest(vector)},
	}}
	for name, c := range map[string]struct {
		answer string
		holds  bool
	}{
		"a text":                   {`{"receipt":{},"choices":[{"text":"right"}]}`, true},
		"a conversation":           {`{"receipt":{},"choices":[{"message":{"role":"assistant","content":"right"}}]}`, true},
		"names of tokens":          {`{"receipt":{},"choices":[{"text":"right","logprobs":null,"x":[{"a":1}]}]}`, true},
		"another text":             {`{"receipt":{},"choices":[{"text":"wrong"}]}`, false},
		"a text and a message":     {`{"receipt":{},"choices":[{"text":"wrong","message":{"content":"right"}}]}`, false},
		"a message and a text":     {`{"receipt":{},"choices":[{"text":"right","message":{"content":"wrong"}}]}`, false},
		"two choices":              {`{"receipt":{},"choices":[{"text":"wrong"},{"text":"right"}]}`, false},
		"another case":             {`{"receipt":{},"choices":[{"text":"wrong","Text":"right"}]}`, false},
		"another case of a letter": {`{"receipt":{},"choices":[{"text":"wrong"}],"choice\u017f":[{"text":"right"}]}`, false},
		"twice":                    {`{"receipt":{},"choices":[{"text":"wrong","text":"right"}]}`, false},
		"a vector":                 {`{"receipt":{},"data":[{"embedding":[0.1,0.5]}]}`, true},
		"a vector in base64":       {`{"receipt":{},"data":[{"embedding":"zczMPQAAAD8="}]}`, true},
		"a vector out of base64":   {`{"receipt":{},"data":[{"embedding":[0.10000000149011612,0.5]}]}`, true},
		"another vector":           {`{"receipt":{},"data":[{"embedding":[0.2,0.5]}]}`, false},
		"another one in base64":    {`{"receipt":{},"data":[{"embedding":"zczMPQAAAAA="}]}`, false},
		"two vectors":              {`{"receipt":{},"data":[{"embedding":[0.2,0.5]},{"embedding":[0.1,0.5]}]}`, false},
		"no vector":                {`{"receipt":{},"data":[{"embedding":null}]}`, false},
		"an output twice":          {`{"receipt":{},"outputs":[{"name":"v","data":[1]},{"name":"v","data":[0.1,0.5]}]}`, false},
		"data of another case":     {`{"receipt":{},"outputs":[{"name":"v","data":[1],"Data":[0.1,0.5]}]}`, false},
		"an output":                {`{"receipt":{},"outputs":[{"name":"v","data":[0.1,0.5]}]}`, true},
	} {
		a, _, err := parseAnswer([]byte(c.answer))
		if err == nil {
			s := proved
			if a.receipt = signed; strings.Contains(c.answer, "embedding") || strings.Contains(c.answer, "outputs") {
				a.receipt, s = ofVector, encoded
			}
			_, err = a.hold(&config.Config{}, s, nil)
		}
		if (err == nil) != c.holds {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Names of tokens and outputs may differ in case alone.
	for _, answer := range []string{
		`{"receipt":{"outputs":{"a":"","A":""}},"choices":[{"text":"","logprobs":{"top_logprobs":[{"Text":-1,"text":-2}]}}]}`,
		`{"version":1,"outputs":{"a":"","A":""},"inputs":{"a":"","A":""}}`,
	} {
		if _, _, err := parseAnswer([]byte(answer)); err != nil {
			t.Errorf("%s: %v", answer, err)
		}
	}
}
