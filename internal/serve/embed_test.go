package serve

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/prove-model/prove-model/internal/serve/receipt"
)

// sentenceFolder is a sentence encoder with a tokenizer.
var sentenceFolder string

func TestMain(m *testing.M) {
	code, err := withSentence(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func withSentence(run func() int) (int, error) {
	var err error
	if sentenceFolder, err = os.MkdirTemp("", "sentence"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(sentenceFolder)
	if err := os.CopyFS(sentenceFolder, os.DirFS("../../hf/testdata/sentence")); err != nil {
		return 0, err
	}
	script, err := txtar.ParseFile("../../cmd/prove-model/testdata/script/embedding.txtar")
	if err != nil {
		return 0, err
	}
	for _, f := range script.Files {
		if f.Name == "tokenizer.json" {
			if err := os.WriteFile(filepath.Join(sentenceFolder, f.Name), f.Data, 0o644); err != nil {
				return 0, err
			}
		}
	}
	return run(), nil
}

func TestEmbed(t *testing.T) {
	r := start(t, true, Options{Prove: 1})
	type vectors struct {
		Data []struct {
			Embedding json.RawMessage `json:"embedding"`
		}
		Usage map[string]int
	}
	read := func(body string) (*answerBody, *vectors) {
		status, _, data := r.do("POST", "/v1/embeddings", body)
		var a answerBody
		var v vectors
		_ = json.Unmarshal(data, &v)
		if err := json.Unmarshal(data, &a); status != http.StatusOK || err != nil || len(v.Data) != 1 {
			t.Fatalf("status %d, %v: %s", status, err, data)
		}
		return &a, &v
	}
	a, v := read(`{"model":"sentence","input":"a sentence"}`)
	var vector []float64
	if err := json.Unmarshal(v.Data[0].Embedding, &vector); err != nil || len(vector) != 16 || v.Usage["prompt_tokens"] != 10 {
		t.Fatalf("%v, %v, %v", vector, v.Usage, err)
	}
	s, signed := r.verified(a)
	if fmt.Sprint([]float64(s.Outputs[0].Values)) != fmt.Sprint(vector) || signed.Outputs["sentence_embedding"] != receipt.Digest(vector) {
		t.Errorf("%v is answered and %v proved", vector, s.Outputs[0].Values)
	}
	// As clients ask for it by default: float32 in base64; of a list of one.
	_, v = read(`{"model":"sentence","input":["a sentence"],"encoding_format":"base64"}`)
	var text string
	if err := json.Unmarshal(v.Data[0].Embedding, &text); err != nil {
		t.Fatal(err)
	}
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(packed) != 4*16 {
		t.Fatalf("%d bytes, %v", len(packed), err)
	}
	for i, want := range vector {
		if got := math.Float32frombits(binary.LittleEndian.Uint32(packed[4*i:])); got != float32(want) {
			t.Errorf("entry %d is %v, not %v", i, got, want)
		}
	}
	r.refused(400, "invalid_type", "POST", "/v1/embeddings", `{"model":"sentence","input":["a","b"]}`)
	r.refused(400, "invalid_value", "POST", "/v1/embeddings", `{"model":"sentence"}`)
	r.refused(400, "invalid_value", "POST", "/v1/embeddings", `{"model":"sentence","input":[99999999]}`)
	r.refused(400, "invalid_value", "POST", "/v1/embeddings", `{"model":"sentence","input":"a","encoding_format":"hex"}`)
	r.refused(400, "unsupported_parameter", "POST", "/v1/embeddings", `{"model":"sentence","input":"a","dimensions":3}`)
	r.refused(400, "model_not_supported", "POST", "/v1/embeddings", `{"model":"story","input":"a"}`)
}
