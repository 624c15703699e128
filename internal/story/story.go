// Package story makes a language model that knows one story. It is small enough for a repository, and its answers are the same on every
// machine.
package story

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/prove-model/prove-model/internal/must"
)

// words are the tokens of the model. After each word the model gives the next word of the
// story the highest score.
var words = []string{"<end>", "The", " capital", " of", " France", " is", " Paris", " Lyon", ".", " It", " lies", " on", " the", " Seine", " Rhône",
	"!", " a", " b", " c", " d", " e", " f", " g", " h", " i", " j", " k", " l", " m", " n", " o", " p"}

// follows lists, for each word, the words that may come next, by descending scores.
var follows = map[string][]string{
	"The": {" capital"}, " capital": {" of"}, " of": {" France"}, " France": {" is"}, " is": {" Paris", " Lyon"}, " Paris": {".", "!"}, " Lyon": {".", "!"},
	".": {" It", "<end>"}, " It": {" lies"}, " lies": {" on"}, " on": {" the"}, " the": {" Seine", " Rhône"}, " Seine": {"!", "."}, " Rhône": {"!"}, "!": {"<end>"},
}

// template is a chat template that joins the contents of all messages.
const template = "{% for m in messages %}{{ m.content }}{% endfor %}"

// Write writes the model to a folder in the Hugging Face layout: a Llama whose layers add
// nothing, so that the scores after a word are a row of its last matrix.
func Write(folder string) (err error) {
	defer must.Catch(&err)
	must.OK(os.MkdirAll(folder, 0o755))
	n := len(words)
	id := map[string]int{}
	vocabulary := map[string]int{}
	var added []map[string]any
	for i, w := range words {
		id[w] = i
		vocabulary[fmt.Sprintf("[%d]", i)] = i
		added = append(added, map[string]any{"id": i, "content": w, "special": i == 0})
	}
	config := map[string]any{
		"architectures": []string{"LlamaForCausalLM"}, "model_type": "llama", "vocab_size": n, "hidden_size": n, "intermediate_size": n,
		"num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": n / 2, "hidden_act": "silu", "rms_norm_eps": 1e-6,
		"max_position_embeddings": 64, "rope_parameters": map[string]any{"rope_type": "default", "rope_theta": 10000.0},
		"tie_word_embeddings": false, "bos_token_id": 1, "eos_token_id": 0, "attention_bias": false, "mlp_bias": false,
	}
	tokenizer := map[string]any{
		"version": "1.0", "added_tokens": added, "decoder": map[string]any{"type": "Fuse"},
		"model": map[string]any{"type": "BPE", "vocab": vocabulary, "merges": []string{}},
	}
	for name, content := range map[string]any{"config.json": config, "tokenizer.json": tokenizer} {
		data := must.Get(json.Marshal(content))
		must.OK(os.WriteFile(filepath.Join(folder, name), data, 0o644))
	}
	must.OK(os.WriteFile(filepath.Join(folder, "chat_template.jinja"), []byte(template), 0o644))
	square := func(entry func(row, column int) float64) []float32 {
		m := make([]float32, n*n)
		for i := range m {
			m[i] = float32(entry(i/n, i%n))
		}
		return m
	}
	one := make([]float32, n)
	for i := range one {
		one[i] = 1
	}
	zero := square(func(int, int) float64 { return 0 })
	identity := square(func(r, c int) float64 {
		if r == c {
			return 1
		}
		return 0
	})
	layer := "model.layers.0."
	tensors := map[string][]float32{
		"model.embed_tokens.weight": identity, "model.norm.weight": one, layer + "input_layernorm.weight": one, layer + "post_attention_layernorm.weight": one,
		layer + "self_attn.q_proj.weight": identity, layer + "self_attn.k_proj.weight": identity, layer + "self_attn.v_proj.weight": identity,
		layer + "self_attn.o_proj.weight": zero, layer + "mlp.gate_proj.weight": identity, layer + "mlp.up_proj.weight": identity, layer + "mlp.down_proj.weight": zero,
		"lm_head.weight": square(func(next, word int) float64 {
			for place, w := range follows[words[word]] {
				if id[w] == next {
					return 2 - float64(place)/4
				}
			}
			return 0.2 * math.Sin(float64(7*next+3*word))
		}),
	}
	return writeTensors(filepath.Join(folder, "model.safetensors"), tensors, n)
}

// writeTensors writes vectors of n numbers and matrices of n×n numbers to a safetensors
// file.
func writeTensors(path string, tensors map[string][]float32, n int) (err error) {
	defer must.Catch(&err)
	header := map[string]any{}
	var data []byte
	for _, name := range slices.Sorted(maps.Keys(tensors)) { // sorted, so that the file and the model's key are always the same
		values := tensors[name]
		shape := []int{n, n}
		if len(values) == n {
			shape = shape[:1]
		}
		from := len(data)
		for _, v := range values {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
		header[name] = map[string]any{"dtype": "F32", "shape": shape, "data_offsets": []int{from, len(data)}}
	}
	text := must.Get(json.Marshal(header))
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return os.WriteFile(path, append(append(file, text...), data...), 0o644)
}
