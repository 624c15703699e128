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

	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/statement"
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
		given.Input = append(given.Input, statement.Array{Name: x.Name, Values: x.Values})
	}
	if _, err := Of(key, file, given, quiet); err != nil {
		t.Error(err)
	}
	given.Input[0].Values = slices.Clone(given.Input[0].Values)
	given.Input[0].Values[0]++
	other := strings.Repeat("0", 64)
	for what, o := range map[string]*Options{
		"another input": given, "another model": {MinBits: 100, Commitment: &other}, "more bits": {MinBits: 120},
		"no commitment": {Commitment: new(string)}, "a tokenizer": {Tokenizer: []byte{}}, "a seed": {Sampling: &Sampling{Seed: "1"}},
		"no seed": {Sampling: &Sampling{Seed: "x"}},
	} {
		if _, err := Of(key, file, o, quiet); err == nil || Reason(err) == "" || Kind(err) == "" {
			t.Errorf("%s: %v", what, err)
		}
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
