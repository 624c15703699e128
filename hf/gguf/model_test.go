package gguf

import (
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/hf/safetensors"
)

// A GGUF file has the configuration and the weights of the folder that it was made
// of, queries and keys included.
func TestModel(t *testing.T) {
	f, err := Open("../testdata/llama-gguf/model.gguf")
	if err != nil {
		t.Fatal(err)
	}
	fields, set, err := Model(f)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"model_type": "llama", "hidden_size": int64(16), "num_key_value_heads": int64(2), "rope_theta": 500000.0, "tie_word_embeddings": false,
	} {
		if fields[name] != want {
			t.Errorf("%s is %v", name, fields[name])
		}
	}
	of, err := safetensors.Open("../testdata/llama/model.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(set.Names(), of.Names()) {
		t.Fatalf("tensors %v of %v", set.Names(), of.Names())
	}
	for _, name := range set.Names() {
		got, err := set.Get(name).Floats()
		if err != nil {
			t.Fatal(err)
		}
		want, err := of.Get(name).Floats()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(set.Get(name).Shape, of.Get(name).Shape) || !slices.Equal(got, want) {
			t.Errorf("%s differs", name)
		}
	}
}

func TestModelRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(f *File)
		want   string
	}{
		"architecture": {func(f *File) { f.Meta["general.architecture"] = "mamba" }, `"mamba" is not supported`},
		"metadata":     {func(f *File) { f.Meta["llama.attention.sinks"] = true }, `"llama.attention.sinks" is not understood`},
		"context":      {func(f *File) { f.Meta["llama.rope.scaling.type"] = "yarn" }, "lengthened contexts"},
		"factors":      {func(f *File) { f.ByName["rope_freqs.weight"] = f.ByName["output_norm.weight"] }, "lengthened contexts"},
		"partial":      {func(f *File) { f.Meta["llama.rope.dimension_count"] = int64(2) }, "where heads have 4"},
		"tensor":       {func(f *File) { f.ByName["blk.0.attn_sinks.weight"] = f.ByName["output_norm.weight"] }, "attn_sinks"},
		"layer":        {func(f *File) { f.ByName["blk.x.attn_q.weight"] = f.ByName["output_norm.weight"] }, "of no layer"},
		"heads":        {func(f *File) { f.Meta["llama.attention.head_count"] = int64(3) }, "3 heads"},
		"keys":         {func(f *File) { f.Meta["llama.attention.head_count_kv"] = int64(3) }, "for 3 heads"},
		"embeddings":   {func(f *File) { delete(f.ByName, "token_embd.weight") }, "no matrix of embeddings"},
	} {
		f, err := Open("../testdata/llama-gguf/model.gguf")
		if err != nil {
			t.Fatal(err)
		}
		c.change(f)
		if _, _, err := Model(f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
