package hf

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// FuzzOpen opens folders of any configuration, index and shard: what is opened has a graph or a
// reason why not.
func FuzzOpen(f *testing.F) {
	shard := func(header string, n int) []byte {
		b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
		return append(append(b, header...), make([]byte, n)...)
	}
	llama := `{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "vocab_size": 16, "rms_norm_eps": 1e-5, "max_position_embeddings": 64,
		"num_hidden_layers": 1, "hidden_size": 4, "intermediate_size": 4, "num_attention_heads": 2, "num_key_value_heads": 1, "tie_word_embeddings": true}`
	f.Add([]byte(llama), []byte(`{"weight_map": {"model.norm.weight": "a.safetensors"}}`), shard(`{"model.norm.weight":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}`, 16))
	f.Add([]byte(`{"model_type": "gpt2", "n_layer": 1, "n_embd": 4, "n_head": 2, "vocab_size": 16, "n_positions": 8}`), []byte(`{"weight_map": {"wte.weight": "a.safetensors", "x": "../a"}}`),
		shard(`{"wte.weight":{"dtype":"F16","shape":[16,4],"data_offsets":[0,128]}}`, 128))
	f.Add([]byte(`{"model_type": "bert", "hidden_size": 4}`), []byte(nil), shard(`{}`, 0))
	dir := f.TempDir() // one: most of the time goes to files
	f.Fuzz(func(t *testing.T, config, index, shard []byte) {
		files := map[string][]byte{"config.json": config, "model.safetensors": shard}
		if len(index) > 0 {
			files = map[string][]byte{"config.json": config, "model.safetensors.index.json": index, "a.safetensors": shard}
		}
		if err := os.RemoveAll(filepath.Join(dir, "model.safetensors.index.json")); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(dir, "model.safetensors")); err != nil {
			t.Fatal(err)
		}
		for name, data := range files {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m, err := Open(dir)
		if err != nil {
			return
		}
		defer m.Close()
		if g, err := m.Graph(4, 0); err == nil && g == nil {
			t.Fatal("neither a graph nor an error")
		}
	})
}
