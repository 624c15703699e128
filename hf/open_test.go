package hf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// altered copies a model of testdata with its configuration changed.
func altered(t *testing.T, model string, change func(config map[string]any)) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", model))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&config); err != nil {
		t.Fatal(err)
	}
	change(config)
	if data, err = json.Marshal(config); err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// The published form of Gemma 3n has a part for texts, which gives the logits that it gives alone. Tokens of images and sounds are refused.
func TestPartForTexts(t *testing.T) {
	dir := altered(t, "gemma3n", func(c map[string]any) {
		text := map[string]any{}
		for name, v := range c {
			text[name] = v
			delete(c, name)
		}
		text["vocab_size_per_layer_input"] = 48
		c["model_type"], c["text_config"], c["vision_config"], c["audio_config"] = "gemma3n", text, map[string]any{"a": 1}, map[string]any{"b": 2}
		c["image_token_id"], c["tie_word_embeddings"] = 47, true
	})
	path := filepath.Join(dir, "model.safetensors")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := binary.LittleEndian.Uint64(data)
	header := bytes.ReplaceAll(data[8:8+n], []byte(`"model.`), []byte(`"model.language_model.`))
	if err := os.WriteFile(path, slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header, data[8+n:]), 0o600); err != nil {
		t.Fatal(err)
	}
	compare(t, dir, dir, "")

	few := altered(t, "gemma3n", func(c map[string]any) { c["vocab_size"] = 50 })
	m, err := Open(few)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.Refuse([]float64{1, 47}); err != nil {
		t.Error(err)
	}
	if err := m.Refuse([]float64{1, 48}); err == nil || !strings.Contains(err.Error(), "images and sounds") {
		t.Error(err)
	}
}

// What would change the arithmetic and is not understood is refused by name.
func TestRefused(t *testing.T) {
	set := func(name string, v any) func(map[string]any) { return func(c map[string]any) { c[name] = v } }
	for name, c := range map[string]struct {
		model  string
		change func(map[string]any)
		want   string
	}{
		"unknown field":  {"llama", set("attention_sink_size", 4), `"attention_sink_size"`},
		"rope":           {"llama", set("rope_parameters", map[string]any{"rope_type": "proportional", "rope_theta": 1e4}), `"proportional"`},
		"rope field":     {"llama", set("rope_parameters", map[string]any{"rope_type": "default", "rope_theta": 1e4, "twist": 1}), `"rope_parameters.twist"`},
		"activation":     {"llama", set("hidden_act", "xielu"), `"xielu"`},
		"family":         {"llama", set("model_type", "llama9"), `"llama9" is not supported; understood: albert, `},
		"not yet":        {"llama", set("model_type", "gemma3"), "models of text and images are not supported yet"},
		"versions":       {"llama", set("model_type", "rwkv7"), "versions of RWKV from 5 on"},
		"whole model":    {"gemma3n", set("model_type", "gemma3n"), `"text_config" is missing`},
		"shared keys":    {"gemma3n", set("num_kv_shared_layers", 5), "shares the keys of an earlier one of its kind"},
		"sparsity":       {"gemma3n", set("activation_sparsity_pattern", []float64{0.5, 0, 0, 0, 0, 1}), "where parts of 1 are expected"},
		"blocks":         {"gpt-oss-mxfp4", set("quantization_config", map[string]any{"quant_method": "awq"}), `"awq"`},
		"no family":      {"llama", func(c map[string]any) { delete(c, "model_type") }, `model_type "" is not supported`},
		"quantised":      {"llama", set("quantization_config", map[string]any{}), "quantization_config"},
		"heads":          {"llama", set("num_key_value_heads", 3), "do not share"},
		"no width":       {"llama", func(c map[string]any) { delete(c, "hidden_size") }, `"hidden_size" is missing`},
		"positions":      {"bert", set("position_embedding_type", "relative_key"), "relative_key"},
		"decoder":        {"bert", set("is_decoder", true), `"is_decoder" is "true"`},
		"rope layers":    {"smollm3", set("no_rope_layers", []int{1}), "1 entries for 4 layers"},
		"rope kind":      {"olmo3", set("rope_parameters", map[string]any{"full_attention": map[string]any{"rope_type": "default"}}), "sliding_attention"},
		"scaling":        {"granite", set("logits_scaling", 0), "logits_scaling"},
		"first position": {"roberta", set("pad_token_id", 99), "positions begin at 100"},
		"shared layers":  {"albert", set("num_hidden_layers", 1<<20), "1048576 layers"},
		"windows":        {"gpt-neo", set("attention_layers", []string{"global"}), "1 entries for 2 layers"},
		"pooling":        {"modernbert-classifier", set("classifier_pooling", "max"), "classifier_pooling"},
		"layers":         {"qwen2-window", set("layer_types", []string{"full_attention"}), "1 entries for 4 layers"},
		"layer type":     {"qwen3", set("layer_types", []string{"full_attention", "linear_attention"}), "linear_attention"},
		"biases":         {"phi3", set("attention_bias", true), "attention_bias"},
		"slopes":         {"bloom", set("n_head", 1<<31), "2147483648 heads with ALiBi are more than the embeddings"},
		"more slopes":    {"falcon-alibi", set("num_attention_heads", 1<<31), "2147483648 heads with ALiBi are more than the embeddings"},
	} {
		if m, err := Open(altered(t, c.model, c.change)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				m.Close()
			}
		}
	}
	// What the weights do not fit is found when the graph is built.
	for name, c := range map[string]struct {
		model  string
		change func(map[string]any)
		tokens int
		want   string
	}{
		"width":       {"llama", set("intermediate_size", 25), 4, "the configuration asks for"},
		"layers":      {"llama", set("num_hidden_layers", 3), 4, "have no tensor"},
		"fewer":       {"llama", set("num_hidden_layers", 1), 4, "does not use these tensors"},
		"no bias":     {"llama-bias", set("attention_bias", false), 4, "does not use these tensors"},
		"no tokens":   {"llama", func(map[string]any) {}, 0, "takes 1 to 32"},
		"many tokens": {"llama", func(map[string]any) {}, 33, "takes 1 to 32"},
		"long":        {"phi3-longrope", func(map[string]any) {}, 17, "takes 1 to 16"},
	} {
		m, err := Open(altered(t, c.model, c.change))
		if err != nil {
			t.Fatal(name, err)
		}
		if _, err := m.Graph(c.tokens, 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	empty := t.TempDir()
	if _, err := Open(empty); err == nil || !strings.Contains(err.Error(), "neither model.safetensors") {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(empty, "pytorch_model.bin"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(empty); err == nil || !strings.Contains(err.Error(), "convert them to SafeTensors") {
		t.Error(err)
	}
}

// A graph for another number of tokens has the same weights, and gives the same
// numbers for a prefix.
func TestRebind(t *testing.T) {
	for _, model := range []string{"llama", "gemma3", "gpt2", "qwen3-moe"} {
		m, err := Open(filepath.Join("testdata", model))
		if err != nil {
			t.Fatal(err)
		}
		long, err := m.Graph(9, 0)
		if err != nil {
			t.Fatal(err)
		}
		short, err := long.Rebind(map[string]int{"tokens": 6})
		if err != nil {
			t.Fatal(err)
		}
		shared := 0
		for name, c := range long.Consts {
			if o := short.Consts[name]; len(c.F32) > 0 && o != nil && len(o.F32) > 0 && &c.F32[0] == &o.F32[0] {
				shared++
			}
		}
		if shared < 10 {
			t.Errorf("%s: %d constants are shared", model, shared)
		}
		ids := []float64{3, 14, 15, 9, 2, 6, 5, 35, 8}
		a, err := long.RunFloat([][]float64{ids})
		if err != nil {
			t.Fatal(err)
		}
		b, err := short.RunFloat([][]float64{ids[:6]})
		if err != nil {
			t.Fatal(err)
		}
		x, y := a["logits"], b["logits"]
		if worst := difference(x[:len(y)], y); !(worst < 1e-12) {
			t.Errorf("%s: a prefix differs by %g", model, worst)
		}
		if err := long.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestIs(t *testing.T) {
	for path, want := range map[string]bool{
		"testdata/llama": true, "a/model.safetensors": true, "b.GGUF": true, "x.onnx": false, "testdata/llama/config.json": false, "nowhere": false,
	} {
		if Is(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}

// What is odd about tensors is told.
func TestSummarise(t *testing.T) {
	m, err := Open("testdata/gemma3")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s := m.Summarise()
	if s.Kind != "gemma3_text" || s.Layers != 7 || s.Context != 32 || s.Vocabulary != 48 || s.Parameters != 20160 || len(s.Stored) != 1 || s.Stored[0] != (Stored{"BF16", 93, 40320}) {
		t.Errorf("%+v", s)
	}
	want := Odd{"model.embed_tokens.weight", "1 of 48 rows are zeros"}
	if len(s.Odd) != 1 || s.Odd[0] != want {
		t.Errorf("%v", s.Odd)
	}
}

// An answer begins with what the files say: generation_config.json before config.json, and the token that is forced behind the first.
func TestStart(t *testing.T) {
	for _, c := range []struct {
		config, generation string
		want               []int
	}{
		{"", "", []int{2}},
		{`"decoder_start_token_id": 3, "forced_bos_token_id": 5`, "", []int{3, 5}},
		{`"decoder_start_token_id": 3, "forced_bos_token_id": 5`, `{"decoder_start_token_id": 4, "forced_bos_token_id": 0}`, []int{4, 0}},
		{"", `{"forced_bos_token_id": null, "eos_token_id": 2}`, []int{2}},
		{"", `{"forced_bos_token_id": 48}`, nil},
		{"", `{"forced_bos_token_id": "x"}`, nil},
	} {
		dir := altered(t, "bart", func(fields map[string]any) {
			if err := json.Unmarshal([]byte("{"+c.config+"}"), &fields); err != nil {
				t.Fatal(err)
			}
		})
		if c.generation != "" {
			if err := os.WriteFile(filepath.Join(dir, "generation_config.json"), []byte(c.generation), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m, err := Open(dir)
		if c.want == nil {
			if err == nil {
				t.Errorf("%v: opened", c)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(m.Start, c.want) {
			t.Errorf("%v: it begins with %v", c, m.Start)
		}
		m.Close()
	}
}
