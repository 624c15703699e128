package hf

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/hf/safetensors"
)

// alteredAdapter is the adapter to llama with another configuration, and with tensors of other names.
func alteredAdapter(t *testing.T, change func(config map[string]any), rename func(string) string) string {
	t.Helper()
	from, dir := "families/testdata/adapters/llama", t.TempDir()
	data, err := os.ReadFile(filepath.Join(from, adapterConfig))
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(fields)
	}
	if data, err = json.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(from, adapterWeights))
	if err != nil {
		t.Fatal(err)
	}
	if rename != nil {
		set, err := safetensors.Parse(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range set.Names() {
			if to := rename(name); len(to) != len(name) {
				t.Fatalf("%q is not as long as %q", to, name)
			} else {
				file = []byte(strings.Replace(string(file), `"`+name+`"`, `"`+to+`"`, 1))
			}
		}
	}
	for name, content := range map[string][]byte{adapterConfig: data, adapterWeights: file} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// FuzzAdapter reads configurations of any content: what is not refused has a graph, or says why not.
func FuzzAdapter(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("families/testdata/adapters/llama", adapterConfig))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"target_modules": "all-linear", "r": 3, "rank_pattern": {"q_proj": 2, "up_proj": 1e300}}`))
	f.Add([]byte(`{"target_modules": ".*", "r": 3, "lora_alpha": 1e308, "alpha_pattern": {"a": -0.0}}`))
	dir := f.TempDir()
	if err := os.CopyFS(dir, os.DirFS("families/testdata/adapters/llama")); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, adapterConfig), data, 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := OpenAdapted("testdata/llama", dir)
		if err != nil {
			return
		}
		defer m.Close()
		if g, err := m.Graph(2, 0); err == nil {
			if _, err := g.RunFloat([][]float64{{1, 2}}); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestAdaptersRefused(t *testing.T) {
	set := func(name string, v any) func(map[string]any) { return func(c map[string]any) { c[name] = v } }
	for _, c := range []struct {
		model  string
		change func(map[string]any)
		rename func(string) string
		want   string
	}{
		{"llama", set("use_dora", true), nil, `"use_dora" is "true"`},
		{"llama", set("peft_type", "IA3"), nil, `"peft_type" is "IA3"`},
		{"llama", set("bias", "all"), nil, `"bias" is "all"`},
		{"llama", set("init_lora_weights", "pissa"), nil, `"init_lora_weights" is "pissa"`},
		{"llama", set("modules_to_save", []string{"lm_head"}), nil, `"modules_to_save" is not supported`},
		{"llama", set("shiny", 1), nil, `"shiny"`},
		{"llama", set("r", 4), nil, "the configuration asks for"},
		{"llama", set("r", 0), nil, `"r" is "0"`},
		{"llama", set("lora_alpha", 1e300), nil, "more than 1048576"},
		{"llama", set("rank_pattern", map[string]any{".*q_proj": 2}), nil, `".*q_proj" is an expression`},
		{"llama", set("rank_pattern", map[string]any{"q_proj": 2.5}), nil, "2.5"},
		{"llama", set("alpha_pattern", map[string]any{"q_proj": 2, "self_attn.q_proj": 3}), nil, "different numbers"},
		{"llama", set("target_modules", []string{"q_proj"}), nil, "which field \"target_modules\" does not name"},
		{"llama", set("target_modules", "("), nil, "not understood"},
		{"llama", set("target_modules", strings.Repeat("a", 5000)), nil, "5000 bytes"},
		{"llama", nil, func(s string) string { return strings.Replace(s, "layers.1", "layers.7", 1) }, `"model.layers.7`},
		{"llama", nil, func(s string) string {
			return strings.Replace(s, "layers.0.mlp.up_proj.lora_B", "layers.0.mlp.up_proj.lora_C", 1)
		}, "lora_C"},
		{"llama", nil, func(s string) string {
			return strings.Replace(s, "layers.0.mlp.up_proj.lora_A", "layers.0.mlp.ap_proj.lora_A", 1)
		}, "which field"},
		{"gpt2", nil, nil, "the adapter is to "},
		{"bert", nil, nil, `model_type "bert": adapters are understood of language models that write`},
		{"t5", nil, nil, `model_type "t5": adapters are understood of language models that write`},
		{"llama-gguf/model.gguf", nil, nil, "a GGUF file takes no adapter"},
	} {
		m, err := OpenAdapted(filepath.Join("testdata", c.model), alteredAdapter(t, c.change, c.rename))
		if err == nil {
			_, err = m.Graph(4, 0)
			m.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want %q, got %v", c.model, c.want, err)
		}
	}
	if _, err := OpenAdapted("testdata/llama", t.TempDir()); err == nil || !strings.Contains(err.Error(), adapterConfig) {
		t.Errorf("an empty folder: %v", err)
	}
}
