package main

import (
	"encoding/json"
	"errors"
	"fmt"
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
