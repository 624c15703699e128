package families

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf/config"
	"github.com/prove-model/prove-model/hf/weights"
)

// Model is a model of a family. Its graph can be built for any number of tokens
// that fits the context.
type Model struct {
	Context    int // the most tokens; 0 for models of images
	Vocabulary int
	Layers     int
	Next       bool // it gives the logits of the token that follows each position
	// Start has, of an encoder–decoder, the tokens that a text of the decoder begins with, at least one; nil for other models.
	// Its second input is the decoder's tokens, at all of which it gives logits.
	Start []int
	// Refuse, if not nil, returns an error for texts of which the reference computes something else than the graph.
	Refuse func(text []float64) error
	Fixed  bool // texts have the length that a graph is for
	// Pairs says that the inputs are several texts, of one length, and an image: the graph is for as many texts as for positions in
	// other models.
	Pairs bool
	// Speech is of a model of speech, an encoder–decoder that also listens to audio (Listening); nil for others. Graph has its features
	// as an input.
	Speech *Speech

	build func(tokens, picked int) (*graph.Graph, error)
}

// Graph builds the graph for a number of tokens, which models of images ignore. Its logits
// are at so many positions, which a second input gives (Positions), or at all if that is 0; of an encoder–decoder (Start)
// they are at so many tokens of the decoder, at least one.
// Graphs share their weights. The returned graph has a Rebind for other numbers of tokens.
func (m *Model) Graph(tokens, positions int) (*graph.Graph, error) {
	if m.Start != nil && m.Speech == nil && (positions < 1 || positions > m.Context) {
		return nil, fmt.Errorf("%d tokens of the decoder: the model takes 1 to %d", positions, m.Context)
	}
	if positions < 0 || positions > 0 && !m.Next && !m.Pairs {
		return nil, fmt.Errorf("logits of %d positions: the model does not give those of next tokens", positions)
	}
	if m.Context > 0 && (tokens < 1 || tokens > m.Context) {
		return nil, fmt.Errorf("%d tokens: the model takes 1 to %d", tokens, m.Context)
	}
	g, err := m.build(tokens, positions)
	if err != nil {
		return nil, err
	}
	if m.Context > 0 && !m.Fixed {
		g.Rebind = func(sizes map[string]int) (*graph.Graph, error) {
			return m.Graph(sizeOf(sizes, Tokens, tokens), positions)
		}
	}
	return g, nil
}

// Writing is Graph with logits at some positions, at least one, whose number is open too: the Rebind of the returned graph
// takes it as Written.
func (m *Model) Writing(tokens, written int) (*graph.Graph, error) {
	if written < 1 {
		return nil, fmt.Errorf("logits of %d positions, where at least one token is written", written)
	}
	g, err := m.Graph(tokens, written)
	if err != nil {
		return nil, err
	}
	g.Inputs[1].Symbols = []string{Written}
	g.Rebind = func(sizes map[string]int) (*graph.Graph, error) {
		return m.Writing(sizeOf(sizes, Tokens, tokens), sizeOf(sizes, Written, written))
	}
	return g, nil
}

// sizeOf is the size of a symbol, or what it is where sizes do not say.
func sizeOf(sizes map[string]int, symbol string, otherwise int) int {
	if n, ok := sizes[symbol]; ok {
		return n
	}
	return otherwise
}

// published is a model as it was published: its configuration, whose errors it records, and its weights.
type published struct {
	*config.Config
	set     weights.Set
	modules *Modules // of a sentence encoder, or nil
}

// Modules says how a sentence encoder turns the last hidden state into a vector.
type Modules struct {
	Mean, CLS bool // the mean of all tokens, or the first one
	Normalize bool // to length 1
}

// decoders are families with Llama's layout by model_type. Their functions read what is theirs.
var decoders = map[string]func(c *published, d *decoder){
	"llama": llama, "mistral": mistral, "qwen2": qwen2, "qwen3": qwen3, "qwen3_moe": qwen3MoE, "mixtral": mixtral, "qwen2_moe": qwen2MoE, "granite": granite,
	"cohere": cohere, "cohere2": cohere2, "smollm3": smolLM3, "olmo": olmo, "olmo2": olmo2, "olmo3": olmo3, "starcoder2": starCoder2, "stablelm": stableLM,
	"phi": phi, "phi3": phi3, "nemotron": nemotron, "glm": glm, "glm4": glm4, "gemma": gemma1, "gemma2": gemma2, "gemma3_text": gemma3,
	"deepseek_v2": deepSeek2, "deepseek_v3": deepSeek3, "gpt_oss": gptOSS, "qwen3_next": qwen3Next,
}

func init() {
	for kind, read := range decoders {
		families[kind] = func(c *published) *Model {
			d := decoderOf(c)
			read(c, d)
			return d.model(c)
		}
	}
}

// families by model_type, to which come the decoders.
var families = map[string]func(*published) *Model{
	"gpt2": gpt2, "opt": opt, "bloom": bloom, "falcon": falcon, "gptj": gptJ, "gpt_neo": gptNeo, "gpt_neox": neoX, "gemma3n": gemma3nWhole, "gemma3n_text": gemma3n,
	"mamba": mamba, "falcon_mamba": mamba, "mamba2": mamba2, "rwkv": rwkv, "vit": vit, "deit": deit, "dinov2": dino, "beit": beit, "swin": swin, "whisper": whisper,
	"clip": clip, "clip_text_model": clipText, "clip_vision_model": clipVision,
	"siglip": siglip, "siglip_text_model": siglipText, "siglip_vision_model": siglipVision,
	"bart": bart, "mbart": bart, "marian": bart, "m2m_100": bart, "pegasus": bart,
}

// encoders by model_type. They may be parts of sentence encoders.
var encoders = map[string]func(*published) *Model{
	"bert": bert, "roberta": roberta, "xlm-roberta": roberta, "camembert": roberta, "electra": electra, "albert": albert, "distilbert": distilBERT,
	"modernbert": modernBERT, "deberta-v2": deberta, "mpnet": mpnet, "t5": t5, "mt5": t5, "umt5": t5,
}

// notYet has the kinds of models that are known but not supported.
var notYet = map[string]string{
	"rwkv5": "versions of RWKV from 5 on, which come as programs of their own,", "rwkv6": "versions of RWKV from 5 on, which come as programs of their own,",
	"rwkv7":  "versions of RWKV from 5 on, which come as programs of their own,",
	"gemma3": "models of text and images", "llava": "models of text and images", "qwen2_vl": "models of text and images",
}

// New returns the model of a configuration, with the modules of a sentence encoder
// or nil.
func New(c *config.Config, set weights.Set, m *Modules) (*Model, error) {
	kind := c.Text("model_type", "")
	if a, ok := set.(Adapted); ok {
		if m, err := New(c, a.Set, m); err != nil || !m.Next || m.Start != nil {
			return nil, cmp.Or(err, fmt.Errorf("model_type %s: adapters are understood of language models that write, those of the decoder families", graph.Quote(kind)))
		}
	}
	if what := notYet[kind]; what != "" {
		return nil, fmt.Errorf("model_type %s: %s are not supported yet", graph.Quote(kind), what)
	}
	f := encoders[kind]
	switch {
	case f != nil:
	case families[kind] == nil:
		all := slices.Sorted(slices.Values(append(sortedKeys(families), sortedKeys(encoders)...)))
		return nil, fmt.Errorf("model_type %s is not supported; understood: %s", graph.Quote(kind), strings.Join(all, ", "))
	case m != nil:
		return nil, fmt.Errorf("model_type %s: sentence encoders of this family are not supported; of these they are: %s", graph.Quote(kind), strings.Join(sortedKeys(encoders), ", "))
	}
	if f == nil {
		f = families[kind]
	}
	out := f(&published{c, set, m})
	return out, c.Done()
}

// scaleOf is 1/√n.
func scaleOf(n int) float64 { return 1 / math.Sqrt(float64(n)) }
