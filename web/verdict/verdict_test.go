package verdict

import (
	"bytes"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/statement"
	"github.com/prove-model/prove-model/prover/verifier"
)

// golden reads a kept key with its proof.
func golden(t testing.TB, name string) (key, file []byte) {
	t.Helper()
	var parts [2][]byte
	for i, of := range []string{"key.vk", "run.proof"} {
		b, err := os.ReadFile(filepath.Join("../../testdata/golden", name, of))
		if err != nil {
			t.Fatal(err)
		}
		parts[i] = b
	}
	return parts[0], parts[1]
}

func quiet(int, int) {}

// A proof of several texts states each of them.
func TestTexts(t *testing.T) {
	key, file := golden(t, "texts")
	v, err := Of(key, file, &Options{MinBits: 1}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if v.Text != nil || len(v.Texts) != v.Circuit.Texts || len(v.Texts) < 2 {
		t.Fatalf("%d texts of %d, and one: %v", len(v.Texts), v.Circuit.Texts, v.Text != nil)
	}
	for i, text := range v.Texts {
		var want []int
		for _, id := range model.OfText(v.Inputs[0], i, len(v.Texts)) {
			want = append(want, int(id))
		}
		if v.Result.Texts != nil {
			if w := v.Result.Texts[i]; !slices.Equal(text.PromptTokens, w.Prompt) || len(text.Tokens) != len(w.Tokens) || text.Tokens[0].ID != w.Tokens[0] {
				t.Errorf("text %d: %+v, and %+v is proved", i+1, text, w)
			}
		} else if !slices.Equal(text.PromptTokens, want) {
			t.Errorf("text %d: %v, and %v is proved", i+1, text.PromptTokens, want)
		}
	}
	if _, err := Of(key, file, &Options{MinBits: 1, Tokenizer: []byte("{}")}, quiet); err == nil {
		t.Error("a tokenizer that is none")
	}
}

func TestOf(t *testing.T) {
	key, file := golden(t, "elementwise")
	read := 0
	v, err := Of(key, file, &Options{MinBits: 100}, func(n, size int) {
		if read = n; size != len(file) {
			t.Errorf("of %d bytes", size)
		}
	})
	if err != nil || read != len(file) {
		t.Fatal(read, err)
	}
	in := statement.Inputs(v.Result)
	given := &Options{MinBits: 100, Commitment: &v.Commitment}
	for _, x := range in {
		given.Input = append(given.Input, statement.Array{Name: x.Name, Shape: x.Shape, Values: x.Values})
	}
	if _, err := Of(key, file, given, quiet); err != nil {
		t.Error(err)
	}
	misnamed := slices.Clone(given.Input)
	misnamed[0].Name += "x"
	given.Input[0].Values = slices.Clone(given.Input[0].Values)
	given.Input[0].Values[0]++
	other, rule := strings.Repeat("0", 64), verifier.Sampling{Temperature: 1, TopP: 1}
	for _, c := range []struct {
		kind string
		o    *Options
	}{
		{"input", given}, {"input", &Options{Input: misnamed}}, {"model", &Options{MinBits: 100, Commitment: &other}}, {"weak", &Options{MinBits: 120}},
		{"option", &Options{Commitment: new(string)}}, {"option", &Options{Sampling: &Sampling{"x", rule}}},
		{"option", &Options{Sampling: &Sampling{Seed: "1"}}}, {"proof", &Options{Sampling: &Sampling{"1", rule}}},
		{"proof", &Options{Tokenizer: []byte("{}")}},
	} {
		if _, err := Of(key, file, c.o, quiet); err == nil || Reason(err) == "" || Kind(err) != c.kind {
			t.Errorf("%s: %v", c.kind, err)
		}
	}
	if _, err := Of(key[:len(key)-1], file, &Options{}, quiet); err == nil || Kind(err) != "malformed" {
		t.Error(err)
	}
}

// FuzzOf gives the page's verifier files and options of any kind: it says why, and accepts nothing
// but the kept proofs with their keys.
func FuzzOf(f *testing.F) {
	kept := map[string][]byte{}
	for _, name := range []string{"elementwise", "linear", "gather", "tokens", "stretched"} {
		key, file := golden(f, name)
		kept[string(key)] = file
		f.Add(key, file, 100, "", "", []byte{})
		k, err := proof.DecodeKey(key)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(key, file[:len(file)/2], 1, hex.EncodeToString(k.Digest[:]), "x", []byte{1, 2, 3})
	}
	f.Fuzz(func(t *testing.T, key, file []byte, bits int, commitment, name string, values []byte) {
		o := &Options{MinBits: bits}
		if commitment != "" {
			o.Commitment = &commitment
		}
		if name != "" {
			o.Input = []statement.Array{{Name: name}}
			for i, b := range values {
				x := float64(b)
				if b == 255 {
					x = math.Inf(i%2 - 1)
				}
				o.Input[0].Values = append(o.Input[0].Values, x)
			}
		}
		v, err := Of(key, file, o, quiet)
		if err != nil {
			if Reason(err) == "" || strings.Contains(err.Error(), "the verifier failed on it") {
				t.Fatalf("%v", err)
			}
			return
		}
		if of, ok := kept[string(key)]; (!ok || !bytes.Equal(of, file)) && bits > 40 {
			t.Fatalf("another proof is valid, with %v", v.Strength)
		}
	})
}
