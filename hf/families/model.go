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
	Vocabulary int // how many different tokens there are
	Layers     int
	Next       bool // the model gives, at each position, the logits of the token that follows
	// Start has the tokens that a text of an encoder–decoder's decoder begins with, at least one; it is nil for other models.
	// The second input of such a model is the decoder's tokens, and its logits are at all of them.
	Start []int
	// Refuse, if not nil, returns an error for a text for which the published model computes something else than the graph.
	Refuse func(text []float64) error
	Fixed  bool // a graph takes only texts of the length that it was built for: it has no Rebind
	// Pairs says that the inputs are several texts, of one length, and an image. The argument that is a number of positions for other
	// models is the number of texts for these.
	Pairs bool
	// Speech describes what a model of speech listens to; it is nil for other models. Such a model is an encoder–decoder: its Graph takes
	// the features of the audio as an input, and Listening the audio itself.
	Speech *Speech

	// build makes the graph for a number of tokens, and of positions of logits, 0 for all, or of texts (Pairs).
	build func(tokens, picked int) (*graph.Graph, error)
}

// Graph builds the graph for a number of tokens, which models of images ignore. The argument positions
// says where the logits are: at that many positions, which a second input lists ([Positions]), or at all positions if it is 0.
// For an encoder–decoder (Start) it is the number of the decoder's tokens, at least one; for a model of
// several texts and an image (Pairs) it is the number of texts.
// All graphs of a model share its weights. The returned graph has a Rebind for other numbers of tokens, unless the model is Fixed.
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

// Writing is [Model.Graph] with logits at written positions, at least one. The Rebind of the returned graph also changes this number,
// as the symbol [Written].
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

// sizeOf is the size of a symbol, or otherwise if sizes does not have it.
func sizeOf(sizes map[string]int, symbol string, otherwise int) int {
	if n, ok := sizes[symbol]; ok {
		return n
	}
	return otherwise
}

// published is a model as it was published: its configuration, which also records the errors that are found, and its weights.
type published struct {
	*config.Config
	set     weights.Set
	modules *Modules // of a sentence encoder, or nil
}

// Modules says how a sentence encoder turns the last hidden state into a vector.
type Modules struct {
	Mean, CLS bool // the vector is the mean of all tokens' states, or the first token's
	Normalize bool // the vector is scaled to length 1
}

// decoders are the families with Llama's layout, by model_type. Each function reads the fields of its family into the decoder.
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

// families are all families but the encoders, by model_type. init adds the decoders to them.
var families = map[string]func(*published) *Model{
	"gpt2": gpt2, "opt": opt, "bloom": bloom, "falcon": falcon, "gptj": gptJ, "gpt_neo": gptNeo, "gpt_neox": neoX, "gemma3n": gemma3nWhole, "gemma3n_text": gemma3n,
	"mamba": mamba, "falcon_mamba": mamba, "mamba2": mamba2, "rwkv": rwkv, "vit": vit, "deit": deit, "dinov2": dino, "beit": beit, "swin": swin, "whisper": whisper,
	"clip": clip, "clip_text_model": clipText, "clip_vision_model": clipVision,
	"siglip": siglip, "siglip_text_model": siglipText, "siglip_vision_model": siglipVision,
	"bart": bart, "mbart": bart, "marian": bart, "m2m_100": bart, "pegasus": bart,
}

// encoders are the families of text encoders, by model_type. A sentence encoder is one of these with modules behind it.
var encoders = map[string]func(*published) *Model{
	"bert": bert, "roberta": roberta, "xlm-roberta": roberta, "camembert": roberta, "electra": electra, "albert": albert, "distilbert": distilBERT,
	"modernbert": modernBERT, "deberta-v2": deberta, "mpnet": mpnet, "t5": t5, "mt5": t5, "umt5": t5,
}

// notYet are the values of model_type that are known but not supported, with words for the error message.
var notYet = map[string]string{
	"rwkv5": "versions of RWKV from 5 on, which come as programs of their own,", "rwkv6": "versions of RWKV from 5 on, which come as programs of their own,",
	"rwkv7":  "versions of RWKV from 5 on, which come as programs of their own,",
	"gemma3": "models of text and images", "llava": "models of text and images", "qwen2_vl": "models of text and images",
}

// New returns the model of a configuration and its weights. m has the modules of a sentence
// encoder, and is nil for other models.
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
