package gguf

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf/weights"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
)

// architecture describes how GGUF files store models of a family.
type architecture struct {
	kind string // the family's model_type in the Hugging Face layout
	// turned says that in the rows of queries and keys the two elements of a rotary
	// pair are neighbours. In the Hugging Face layout they are half a head apart.
	turned bool
	usual  map[string]any // fields of the configuration that GGUF has no metadata for
}

// architectures by "general.architecture".
var architectures = map[string]architecture{
	"llama": {kind: "llama", turned: true},
	"qwen2": {kind: "qwen2"},
	"qwen3": {kind: "qwen3"},
	"olmo2": {kind: "olmo2"},
	"phi3":  {kind: "phi3"},
}

// fieldNames are the fields of a configuration by the metadata key, without the
// architecture's name in front, or "" for keys that do not change the arithmetic.
var fieldNames = map[string]string{
	"context_length": "max_position_embeddings", "embedding_length": "hidden_size", "block_count": "num_hidden_layers",
	"feed_forward_length": "intermediate_size", "attention.head_count": "num_attention_heads", "attention.head_count_kv": "num_key_value_heads",
	"attention.layer_norm_rms_epsilon": "rms_norm_eps", "attention.key_length": "head_dim", "rope.freq_base": "rope_theta",
	"attention.sliding_window": "sliding_window", "vocab_size": "vocab_size",
	"attention.value_length": "", "rope.dimension_count": "",
}

// tensorNames are the names of tensors in the Hugging Face layout by those in GGUF, without suffixes, and without the prefix of the layer,
// which is "blk.N." in GGUF.
var tensorNames = map[string]string{
	"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head",
	"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
	"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_qkv": "self_attn.qkv_proj",
	"attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
	"ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
	"post_attention_norm": "post_attention_layernorm", "post_ffw_norm": "post_feedforward_layernorm",
}

// Model returns a file's configuration and weights as the Hugging Face layout has them: under its
// names, and with its order of the rows of queries and keys.
func Model(f *File) (_ map[string]any, _ weights.Set, err error) {
	defer must.Catch(&err)
	name, _ := f.Meta["general.architecture"].(string)
	arch, ok := architectures[name]
	if !ok {
		refuse.With("architecture %s is not supported in GGUF files; understood: %s",
			graph.Quote(name), strings.Join(slices.Sorted(maps.Keys(architectures)), ", "))
	}
	fields := f.fields(name, arch)
	out := &weights.Tensors{ByName: map[string]*weights.Tensor{}, From: f.Files()}
	for _, from := range f.Names() {
		to := layoutName(from, arch)
		t := *f.ByName[from]
		t.Name = to
		if arch.turned && (strings.HasSuffix(to, "q_proj.weight") || strings.HasSuffix(to, "k_proj.weight")) {
			heads, _ := f.Meta[name+".attention.head_count"].(int64)
			if n, ok := f.Meta[name+".attention.head_count_kv"].(int64); ok && strings.HasSuffix(to, "k_proj.weight") {
				heads = n
			}
			turn(&t, int(heads))
		}
		if out.ByName[to] != nil {
			refuse.With("two tensors are %s of the model", graph.Quote(to))
		}
		out.ByName[to] = &t
	}
	e := out.ByName["model.embed_tokens.weight"]
	if e == nil || len(e.Shape) != 2 {
		refuse.With("there is no matrix of embeddings, token_embd.weight")
	}
	fields["vocab_size"] = json.Number(strconv.Itoa(e.Shape[0]))
	fields["tie_word_embeddings"] = out.ByName["lm_head.weight"] == nil
	return fields, out, nil
}

// fields returns the fields of the configuration, from the metadata of the architecture with this name. It refuses metadata that is not
// understood.
func (f *File) fields(name string, arch architecture) map[string]any {
	fields := map[string]any{"model_type": arch.kind}
	maps.Copy(fields, arch.usual)
	for key, v := range f.Meta {
		own, ok := strings.CutPrefix(key, name+".")
		if !ok {
			continue
		}
		field, known := fieldNames[own]
		switch {
		case !known && strings.HasPrefix(own, "rope.scaling."):
			if s, is := v.(string); own == "rope.scaling.type" && is && s == "none" {
				continue
			}
			refuse.With("metadata %s is %v: lengthened contexts of GGUF files are not supported; take the model in the Hugging Face layout", graph.Quote(key), v)
		case !known:
			refuse.With("metadata %s is not understood and may change the arithmetic", graph.Quote(key))
		case field != "":
			fields[field] = v
		}
	}
	if f.ByName["rope_freqs.weight"] != nil {
		refuse.With("tensor rope_freqs.weight: lengthened contexts of GGUF files are not supported; take the model in the Hugging Face layout")
	}
	heads, dim := fields["num_attention_heads"], fields["head_dim"]
	if dim == nil {
		w, okW := fields["hidden_size"].(int64)
		h, okH := heads.(int64)
		if !okW || !okH || h < 1 || w%h != 0 {
			refuse.With("%v heads of a width of %v", heads, fields["hidden_size"])
		}
		dim = w / h
	}
	for _, key := range []string{"rope.dimension_count", "attention.value_length"} {
		if v, ok := f.Meta[name+"."+key]; ok && v != dim {
			refuse.With("metadata %s is %v, where heads have %v", graph.Quote(name+"."+key), v, dim)
		}
	}
	return fields
}

// layoutName is the name in the Hugging Face layout of a tensor in GGUF. It refuses tensors that are not understood.
func layoutName(name string, arch architecture) string {
	dot := max(strings.LastIndexByte(name, '.'), 0)
	stem, suffix, prefix := name[:dot], name[dot:], ""
	if rest, is := strings.CutPrefix(stem, "blk."); is {
		number, own, _ := strings.Cut(rest, ".")
		if n, err := strconv.Atoi(number); err != nil || strconv.Itoa(n) != number {
			refuse.With("tensor %s is of no layer", graph.Quote(name))
		}
		prefix, stem = "model.layers."+number+".", own
	}
	to := tensorNames[stem]
	if arch.kind == "phi3" && stem == "ffn_up" {
		to = "mlp.gate_up_proj"
	}
	if to == "" || suffix != ".weight" && suffix != ".bias" {
		refuse.With("tensor %s is not understood and may change the arithmetic", graph.Quote(name))
	}
	return prefix + to + suffix
}

// turn reorders the rows of a matrix, in which the two rows of a rotary pair are neighbours, so
// that they are half a head apart: row i < half of a head is stored as row 2i, and row half + i as row 2i + 1.
func turn(t *weights.Tensor, heads int) {
	if len(t.Shape) != 2 || heads < 1 || t.Shape[0]%(2*heads) != 0 {
		refuse.With("tensor %s has shape %v for %d heads", graph.Quote(t.Name), t.Shape, heads)
	}
	half := t.Shape[0] / heads / 2
	t.Row = func(i int) int {
		head, at := i/(2*half), i%(2*half)
		return head*2*half + at%half*2 + at/half
	}
}
