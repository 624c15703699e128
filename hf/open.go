package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf/config"
	"github.com/prove-model/prove-model/hf/families"
	"github.com/prove-model/prove-model/hf/gguf"
	"github.com/prove-model/prove-model/hf/safetensors"
	"github.com/prove-model/prove-model/hf/weights"
	"github.com/prove-model/prove-model/internal/mapped"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
)

// Model is a model whose files are open. [Model.Close] closes them.
type Model struct {
	*families.Model
	Kind    string // the model_type of its configuration, such as "llama"
	Weights weights.Set
	// transcribes has the settings of a model of speech: the languages, and which tokens are forced or suppressed. It is nil for other models.
	transcribes *transcribes
	// files are the model's files other than its weights, such as config.json; adapter are the files of an adapter.
	files, adapter []*mapped.File
}

// Is says whether path looks like a model that this package reads: a .safetensors or .gguf
// file, by the extension alone, or an existing folder. It does not look into the folder.
func Is(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".safetensors", ".gguf":
		return true
	case ".onnx":
		return false
	}
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// Open opens a folder with config.json and the weights, in model.safetensors or in
// the shards of model.safetensors.index.json; a .safetensors file with config.json
// beside it; or a .gguf file. Nothing in the files is trusted. The caller closes the
// model, or the graph built from it.
func Open(path string) (*Model, error) { return OpenAdapted(path, "") }

// OpenAdapted is [Open] for a model with a low-rank adapter (LoRA). adapter is a folder as PEFT writes it, with adapter_config.json and
// adapter_model.safetensors, or "" for no adapter. A model in a .gguf file takes no adapter.
func OpenAdapted(path, adapter string) (*Model, error) {
	m, err := open(path, adapter)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// open is OpenAdapted without the path in the error. It closes the files that it has opened if it returns an error.
func open(path, adapter string) (*Model, error) {
	if strings.EqualFold(filepath.Ext(path), ".gguf") {
		if adapter != "" {
			return nil, errors.New("a GGUF file takes no adapter: give the model as a folder with SafeTensors")
		}
		return openGGUF(path)
	}
	dir, set, err := openWeights(path)
	if err != nil {
		return nil, err
	}
	m := &Model{Weights: set}
	err = refuse.Caught(func() {
		if adapter != "" {
			refuse.Within("adapter "+adapter, func() { m.adapt(adapter) })
		}
		m.read(dir)
	})
	if err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// The files of an adapter.
const (
	adapterConfig  = "adapter_config.json"
	adapterWeights = "adapter_model.safetensors"
)

// adapt reads the adapter in dir and adds it to the model's weights. The files that it opens go from m.files, where the helpers
// put them, to m.adapter.
func (m *Model) adapt(dir string) {
	defer func(own int) { m.files, m.adapter = m.files[:own:own], m.files[own:] }(len(m.files))
	c := m.config(dir, adapterConfig)
	path := filepath.Join(dir, adapterWeights)
	if !exists(path) && exists(filepath.Join(dir, "adapter_model.bin")) {
		refuse.With("its weights are pickled (adapter_model.bin), which runs code when it is read; convert them to SafeTensors")
	}
	set, err := safetensors.Open(path)
	must.OK(of(path, err))
	m.files = append(m.files, set.Files()...)
	a, err := families.ReadAdapter(c, set)
	must.OK(of(adapterConfig, err))
	m.Weights = families.Adapted{Set: m.Weights, Adapter: a}
}

// openWeights opens the weights at path, a folder or a .safetensors file. dir is the folder that config.json is in.
func openWeights(path string) (dir string, set weights.Set, err error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", nil, err
	}
	if !st.IsDir() {
		set, err = safetensors.Open(path)
		return filepath.Dir(path), set, err
	}
	whole, index := filepath.Join(path, "model.safetensors"), filepath.Join(path, "model.safetensors.index.json")
	switch {
	case exists(whole):
		set, err = safetensors.Open(whole)
		err = of(whole, err)
	case exists(index):
		set, err = safetensors.OpenIndex(index)
		err = of(index, err)
	case exists(filepath.Join(path, "pytorch_model.bin")), exists(filepath.Join(path, "pytorch_model.bin.index.json")):
		err = errors.New("its weights are pickled (pytorch_model.bin), which runs code when it is read; convert them to SafeTensors")
	default:
		err = errors.New("it has neither model.safetensors nor model.safetensors.index.json")
	}
	return path, set, err
}

// of puts the name of the file at path in front of an error about it. It returns nil for nil.
func of(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", filepath.Base(path), err)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// read reads config.json in dir, modules.json if the model is a sentence encoder, and the files that say how a text model begins
// its answers. It sets Kind and the embedded model, and refuses what is not supported.
func (m *Model) read(dir string) {
	c := m.config(dir, "config.json")
	if c.Has("quantization_config") && c.Text("model_type", "") != "gpt_oss" { // GPT-OSS reads this field itself
		refuse.With(`config.json: field "quantization_config": weights quantised by another program are not supported; take the model in full precision, or as GGUF`)
	}
	var modules *families.Modules
	if path := filepath.Join(dir, "modules.json"); exists(path) {
		modules = m.modules(dir, path)
	}
	m.Kind = c.Text("model_type", "")
	model, err := families.New(c, m.Weights, modules)
	must.OK(of("config.json", err))
	if m.Model = model; m.Speech != nil {
		m.listens(dir)
	} else if m.Start != nil {
		m.Start = startOf(dir, m.Start, m.Vocabulary)
	}
}

// maxSmall is the most bytes that a file other than the weights may have.
const maxSmall = 1 << 26

// small reads a small file and adds it to the model's files.
func (m *Model) small(path string) []byte {
	f := must.Get(mapped.Open(path))
	m.files = append(m.files, f)
	if len(f.Bytes()) > maxSmall {
		refuse.With("%s: more than %d bytes", path, maxSmall)
	}
	return f.Bytes()
}

// config reads a configuration in a folder of the model.
func (m *Model) config(dir, name string) *config.Config {
	c, err := config.Parse(m.small(filepath.Join(dir, name)))
	return must.Get(c, of(name, err))
}

// modules reads modules.json of a sentence encoder: a Transformer, then a Pooling, and then perhaps a Normalize.
func (m *Model) modules(dir, path string) *families.Modules {
	var list []struct {
		Path string `json:"path"`
		Type string `json:"type"`
	}
	must.OK(of(path, json.Unmarshal(m.small(path), &list)))
	out := &families.Modules{}
	for i, module := range list {
		switch kind := module.Type[strings.LastIndex(module.Type, ".")+1:]; {
		case i == 0 && kind == "Transformer" && module.Path == "":
		case i == 1 && kind == "Pooling" && filepath.IsLocal(module.Path):
			m.pooling(filepath.Join(dir, module.Path), out)
		case i > 1 && kind == "Normalize":
			out.Normalize = true
		default:
			refuse.With("modules.json: module %d, %s, is not supported; understood: Transformer, Pooling, Normalize", i, graph.Quote(module.Type))
		}
	}
	if len(list) < 2 {
		refuse.With("modules.json: there is no Pooling")
	}
	return out
}

// pooling reads config.json of a Pooling module in dir: the vector of a text is the mean of its tokens' vectors, or the first token's.
func (m *Model) pooling(dir string, out *families.Modules) {
	c := m.config(dir, "config.json")
	out.Mean, out.CLS = c.Bool("pooling_mode_mean_tokens", false), c.Bool("pooling_mode_cls_token", false)
	if mode := c.Text("pooling_mode", ""); mode != "" {
		c.Is("pooling_mode", "mean", "cls")
		out.Mean, out.CLS = mode == "mean", mode == "cls"
	}
	for _, other := range []string{"max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken"} {
		c.Is("pooling_mode_"+other, false)
	}
	c.Ignore("word_embedding_dimension", "embedding_dimension", "include_prompt",
		"pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken")
	if out.Mean == out.CLS {
		c.Failf("tokens are pooled neither by their mean nor by the first alone")
	}
	must.OK(of(dir, c.Done()))
}

// openGGUF opens a GGUF file.
func openGGUF(path string) (*Model, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	m, err := refuse.Result(func() *Model {
		fields, set, err := gguf.Model(f)
		must.OK(err)
		c := config.New(fields)
		return &Model{Kind: c.Text("model_type", ""), Weights: set, Model: must.Get(families.New(c, set, nil))}
	})
	if err != nil {
		f.Close()
	}
	return m, err
}

// Files are all files of the model.
func (m *Model) Files() []graph.File {
	var out []graph.File
	for _, f := range m.files {
		out = append(out, f)
	}
	for _, f := range slices.Concat(m.Weights.Files(), m.adapter) {
		out = append(out, f)
	}
	return out
}

// Graph builds the graph for a text of so many tokens. It gives logits at positions many
// positions, or at all if positions is 0 ([families.Model.Graph]). The graph owns the model's files.
func (m *Model) Graph(tokens, positions int) (*graph.Graph, error) {
	return m.owns(m.Model.Graph(tokens, positions))
}

// owns passes on g and err. A graph without an error gets the model's files.
func (m *Model) owns(g *graph.Graph, err error) (*graph.Graph, error) {
	if err == nil {
		g.Files = m.Files()
	}
	return g, err
}

// Writing is [families.Model.Writing]: Graph with logits at written positions, where this number too can be changed by a Rebind. The graph
// owns the model's files.
func (m *Model) Writing(tokens, written int) (*graph.Graph, error) {
	return m.owns(m.Model.Writing(tokens, written))
}

// Listening is [families.Model.Listening], for models of speech. The graph owns the model's files.
func (m *Model) Listening(tokens int) (*graph.Graph, error) {
	return m.owns(m.Model.Listening(tokens))
}

// Close closes the model's files.
func (m *Model) Close() error {
	var errs []error
	for _, f := range m.Files() {
		errs = append(errs, f.(io.Closer).Close())
	}
	return errors.Join(errs...)
}
