package families

import (
	"github.com/prove-model/prove-model/graph"
)

// Features is the name of the input with the spectrogram that Whisper's encoder reads.
const Features = "input_features"

// whisper is Whisper: an encoder of a log-mel spectrogram of audio, and a decoder of text. The tokens of the decoder so far are an input,
// and logits are given at all of them. The spectrogram is an input too, or the graph computes it from the samples (Model.Listening).
func whisper(c *published) *Model {
	part := func(name, context string, def int) *bartLayers {
		b := bartOf(c, name, 384, 1536, 6, 4)
		b.context, b.before, b.keyless = c.Int(context, def), true, true
		return b
	}
	e, d := part("encoder", "max_source_positions", 1500), part("decoder", "max_target_positions", 448)
	d.causal = true
	vocabulary, bins, scale := c.Int("vocab_size", 51865), c.Int("num_mel_bins", 80), embedScale(c, d.width)
	c.Is("tie_word_embeddings", true)
	c.Ignore("activation_dropout", "init_std", "num_hidden_layers", "suppress_tokens", "begin_suppress_tokens", "forced_decoder_ids", "use_weighted_layer_sum",
		"classifier_proj_size", "apply_spec_augment", "mask_time_prob", "mask_time_length", "mask_time_min_masks", "mask_feature_prob",
		"mask_feature_length", "mask_feature_min_masks", "median_filter_width", "max_length")
	start := startOf(c)
	src := c.source("encoder.conv1.weight", "model.", "")
	out := &Model{Context: d.context, Vocabulary: vocabulary, Layers: e.layers + d.layers, Fixed: true, Speech: &Speech{}, Start: start}
	// decode makes the logits at the decoder's tokens ids, for audio with features of shape [1, bins, frames].
	decode := func(n *net, ids, features graph.Value) {
		d, tokens := *d, n.tokens
		n.tokens = e.context
		d.reads = e.run(n, n.sound(features, e.width))
		n.tokens = tokens
		x := n.embed(n.Reshape(ids, []int{tokens}), "decoder.embed_tokens", vocabulary, d.width)
		n.output(Logits, n.logits(d.run(n, n.scaled(x, scale)), "proj_out.weight", "decoder.embed_tokens.weight", vocabulary, true))
	}
	out.Speech.build = func(tokens int) (*graph.Graph, error) {
		if err := out.Speech.validate(2 * e.context); err != nil {
			return nil, err
		}
		n := newNet(src, tokens)
		ids := n.Input(Answer, graph.Int64, []int{1, tokens}, "", Tokens)
		decode(n, ids, n.spectrogram(out.Speech, bins))
		return n.finish()
	}
	return out.builds(src, func(n *net) {
		ids := n.Input(Answer, graph.Int64, []int{1, n.tokens})
		decode(n, ids, n.Input(Features, graph.Float, []int{1, bins, 2 * e.context}))
	})
}

// sound applies Whisper's two convolutions to a spectrogram x, of shape [1, bins, frames]. The second has stride 2, so that the result has
// shape [frames/2, width].
func (n *net) sound(x graph.Value, width int) graph.Value {
	in, frames := n.dim(x, 1), n.dim(x, 2)
	for i, name := range []string{"encoder.conv1", "encoder.conv2"} {
		n.At("", name)
		window := graph.Window{Kernel: []int{3}, Strides: []int{i + 1}, Dilations: []int{1}, Begin: []int{1}, End: []int{1}}
		x = n.Conv(graph.Conv{Window: window, Group: 1}, x, n.weight(name+".weight", []int{width, in, 3}), n.weight(name+".bias", []int{width}))
		x, in = n.activate(activations["gelu"], x), width
	}
	return n.Transpose(n.Reshape(x, []int{width, frames / 2}), []int{1, 0})
}
