package bench

import (
	"fmt"
	"maps"
	"slices"
)

// A Shape is the architecture of a published language model: its config.json except for
// the number of layers, and its tensors.
type Shape struct {
	Name    string
	Layers  int
	config  map[string]any
	layers  string // the field of config.json with the number of layers
	tensors func(layers int) []drawn
}

// Context returns the greatest number of tokens of a text: that of the model, or
// mostTokens if that is less.
func (s *Shape) Context() int {
	n, ok := s.config["max_position_embeddings"].(int)
	if !ok {
		n = s.config["n_positions"].(int)
	}
	return min(n, mostTokens)
}

// mostTokens is the greatest number of tokens that keys are made for.
const mostTokens = 8192

// part says which part of a model a tensor is, on which the distribution of its numbers depends (scales).
type part int

const (
	inner     part = iota // a matrix from its inputs to its outputs
	residual              // a matrix whose outputs are added to the residual stream
	embedding             // a matrix whose rows begin the residual stream
	norm                  // factors for the channels of the residual stream
	headNorm              // factors for the channels of an attention head
	shift                 // numbers that are added, such as biases
)

// drawn is a tensor with random numbers.
type drawn struct {
	name  string
	shape []int
	part  part
	// inputs is the axis of a matrix that products with it sum over.
	inputs int
}

// Shapes are the shapes that can be measured, by name.
var Shapes = map[string]*Shape{
	"qwen3-14b": decoder("qwen3-14b", "qwen3", gated{layers: 40, width: 5120, heads: 40, groups: 8, dim: 128, inner: 17408, vocabulary: 151936, headNorms: true},
		map[string]any{"rms_norm_eps": 1e-6, "rope_theta": 1e6, "max_position_embeddings": 40960}),
	"llama2-7b": decoder("llama2-7b", "llama", gated{layers: 32, width: 4096, heads: 32, groups: 32, dim: 128, inner: 11008, vocabulary: 32000},
		map[string]any{"rms_norm_eps": 1e-5, "max_position_embeddings": 4096}),
	"smollm2": decoder("smollm2", "llama", gated{layers: 30, width: 576, heads: 9, groups: 3, dim: 64, inner: 1536, vocabulary: 49152, tied: true},
		map[string]any{"rms_norm_eps": 1e-5, "rope_theta": 1e5, "max_position_embeddings": 8192}),
	"llama3.2-3b": decoder("llama3.2-3b", "llama", gated{layers: 28, width: 3072, heads: 24, groups: 8, dim: 128, inner: 8192, vocabulary: 128256, tied: true},
		map[string]any{"rms_norm_eps": 1e-5, "rope_theta": 5e5, "max_position_embeddings": 131072}),
	"gpt2": gpt2Shape("gpt2", 12, 768, 12, 1024, 50257),
	"qwen3-30b-a3b": decoder("qwen3-30b-a3b", "qwen3_moe",
		gated{layers: 48, width: 2048, heads: 32, groups: 4, dim: 128, inner: 768, vocabulary: 151936, headNorms: true, experts: 128, router: "mlp.gate",
			expert: "mlp.experts.%d.", gate: "gate_proj", up: "up_proj", down: "down_proj"},
		map[string]any{"rms_norm_eps": 1e-6, "rope_theta": 1e6, "max_position_embeddings": 40960, "num_experts": 128, "num_experts_per_tok": 8,
			"moe_intermediate_size": 768, "norm_topk_prob": true}),
	// Mixtral 8x7B with a quarter of its width and of its vocabulary.
	"mixtral-quarter": decoder("mixtral-quarter", "mixtral",
		gated{layers: 32, width: 1024, heads: 8, groups: 2, dim: 128, inner: 3584, vocabulary: 8000, experts: 8, router: "block_sparse_moe.gate",
			expert: "block_sparse_moe.experts.%d.", gate: "w1", up: "w3", down: "w2"},
		map[string]any{"rms_norm_eps": 1e-5, "rope_theta": 1e6, "max_position_embeddings": 32768, "num_local_experts": 8, "num_experts_per_tok": 2}),
}

// ShapeNames lists the names of Shapes.
func ShapeNames() []string { return slices.Sorted(maps.Keys(Shapes)) }

// gated has the sizes of a decoder that is built like Llama.
type gated struct {
	layers, width, heads, groups, dim, inner, vocabulary int
	headNorms, tied                                      bool
	// experts is the number of experts of a layer; if it is not 0, inner is the width of one of them, and the others are
	// names of a layer's tensors.
	experts                        int
	router, expert, gate, up, down string
}

// decoder returns the shape of a decoder with these sizes; more has further members of its config.json.
func decoder(name, kind string, g gated, more map[string]any) *Shape {
	c := map[string]any{
		"model_type": kind, "hidden_size": g.width, "num_attention_heads": g.heads, "num_key_value_heads": g.groups, "head_dim": g.dim,
		"intermediate_size": g.inner, "vocab_size": g.vocabulary, "hidden_act": "silu", "tie_word_embeddings": g.tied, "torch_dtype": "bfloat16",
	}
	maps.Copy(c, more)
	return &Shape{Name: name, Layers: g.layers, config: c, layers: "num_hidden_layers", tensors: g.tensors}
}

// tensors lists the tensors of a model with so many layers. The shape of a matrix is [outputs, inputs].
func (g gated) tensors(layers int) []drawn {
	list := []drawn{{"model.embed_tokens.weight", []int{g.vocabulary, g.width}, embedding, 1}}
	for i := range layers {
		at := fmt.Sprintf("model.layers.%d.", i)
		matrix := func(name string, out, in int, p part) {
			list = append(list, drawn{at + name + ".weight", []int{out, in}, p, 1})
		}
		vector := func(name string, n int, p part) { list = append(list, drawn{at + name + ".weight", []int{n}, p, 0}) }
		vector("input_layernorm", g.width, norm)
		matrix("self_attn.q_proj", g.heads*g.dim, g.width, inner)
		matrix("self_attn.k_proj", g.groups*g.dim, g.width, inner)
		matrix("self_attn.v_proj", g.groups*g.dim, g.width, inner)
		if g.headNorms {
			vector("self_attn.q_norm", g.dim, headNorm)
			vector("self_attn.k_norm", g.dim, headNorm)
		}
		matrix("self_attn.o_proj", g.width, g.heads*g.dim, residual)
		vector("post_attention_layernorm", g.width, norm)
		if g.experts == 0 {
			matrix("mlp.gate_proj", g.inner, g.width, inner)
			matrix("mlp.up_proj", g.inner, g.width, inner)
			matrix("mlp.down_proj", g.width, g.inner, residual)
			continue
		}
		matrix(g.router, g.experts, g.width, inner)
		for e := range g.experts {
			of := fmt.Sprintf(g.expert, e)
			matrix(of+g.gate, g.inner, g.width, inner)
			matrix(of+g.up, g.inner, g.width, inner)
			matrix(of+g.down, g.width, g.inner, residual)
		}
	}
	list = append(list, drawn{"model.norm.weight", []int{g.width}, norm, 0})
	if !g.tied {
		list = append(list, drawn{"lm_head.weight", []int{g.vocabulary, g.width}, inner, 1})
	}
	return list
}

// gpt2Shape returns a shape of GPT-2, whose matrices have the shape [inputs, outputs].
func gpt2Shape(name string, layers, width, heads, context, vocabulary int) *Shape {
	return &Shape{
		Name: name, Layers: layers, layers: "n_layer",
		config: map[string]any{"model_type": "gpt2", "n_embd": width, "n_head": heads, "n_positions": context, "vocab_size": vocabulary,
			"activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "torch_dtype": "bfloat16"},
		tensors: func(layers int) []drawn {
			list := []drawn{
				{"transformer.wte.weight", []int{vocabulary, width}, embedding, 1},
				{"transformer.wpe.weight", []int{context, width}, shift, 0},
			}
			normed := func(name string) {
				list = append(list, drawn{name + ".weight", []int{width}, norm, 0}, drawn{name + ".bias", []int{width}, shift, 0})
			}
			for i := range layers {
				at := fmt.Sprintf("transformer.h.%d.", i)
				linear := func(name string, in, out int, p part) {
					list = append(list, drawn{at + name + ".weight", []int{in, out}, p, 0}, drawn{at + name + ".bias", []int{out}, shift, 0})
				}
				normed(at + "ln_1")
				linear("attn.c_attn", width, 3*width, inner)
				linear("attn.c_proj", width, width, residual)
				normed(at + "ln_2")
				linear("mlp.c_fc", width, 4*width, inner)
				linear("mlp.c_proj", 4*width, width, residual)
			}
			normed("transformer.ln_f")
			return list
		},
	}
}
