package families

import "github.com/prove-model/prove-model/graph"

// mostRelative is the most tokens of models without positions of their own, whose texts have no end.
const mostRelative = 1 << 12

// Answer is the input with the tokens of an encoder–decoder's decoder.
const Answer = "decoder_input_ids"

// answer begins the decoder: it returns its tokens, as many as positions were asked for, and what follows is about these.
func (n *net) answer() graph.Value {
	n.tokens, n.picked = n.picked, 0
	return n.Input(Answer, graph.Int64, []int{n.tokens}, "")
}

// startOf reads the token that a decoder's text begins with.
func startOf(c *published) []int {
	for _, name := range []string{"decoder_start_token_id", "bos_token_id", "pad_token_id"} {
		if c.Has(name) {
			return []int{int(c.Float(name, 0))}
		}
	}
	return []int{0}
}
