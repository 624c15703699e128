package families

import "github.com/prove-model/prove-model/graph"

// mostRelative is the context, in tokens, of models whose configuration does not limit the length of a text, such as T5, which has
// relative positions only.
const mostRelative = 1 << 12

// Answer is the input with the tokens of an encoder–decoder's decoder.
const Answer = "decoder_input_ids"

// answer begins the decoder of an encoder–decoder: it adds the input of the decoder's tokens and returns it. Their number is that of
// the positions that were asked for; the net's tokens are the decoder's from here on.
func (n *net) answer() graph.Value {
	n.tokens, n.picked = n.picked, 0
	return n.Input(Answer, graph.Int64, []int{n.tokens}, "")
}

// startOf reads the token that the decoder's text begins with, from the first of these fields that there is. It is 0 if there is none.
func startOf(c *published) []int {
	for _, name := range []string{"decoder_start_token_id", "bos_token_id", "pad_token_id"} {
		if c.Has(name) {
			return []int{int(c.Float(name, 0))}
		}
	}
	return []int{0}
}
