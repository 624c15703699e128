package families

import "github.com/prove-model/prove-model/graph"

// ids adds the input of token ids and returns them in shape [tokens].
func (n *net) ids() graph.Value {
	x := n.Input(IDs, graph.Int64, []int{1, n.tokens}, "", Tokens)
	return n.Reshape(x, []int{n.tokens})
}

// Tokens and Written are the symbols of sizes that a Rebind can change: the number of tokens, and the number of positions of
// logits ([Model.Writing]).
const (
	Tokens  = "tokens"
	Written = "written"
)

// Names of the inputs of a language model. Positions, if a graph has this input, lists the
// positions whose logits are computed; the first token is at position 0.
const (
	IDs       = "input_ids"
	Positions = "logits_at"
)

// Names of outputs: the vector of a sentence encoder, and the logits of a language model or a
// classifier.
const (
	Sentence = "sentence_embedding"
	Logits   = "logits"
)

// embed returns the rows ids of a matrix of embeddings.
func (n *net) embed(ids graph.Value, name string, rows, width int) graph.Value {
	n.At("", name)
	return n.Take(n.weight(name+".weight", []int{rows, width}), 0, ids)
}

// positions returns the position embeddings of the tokens, of shape [tokens, width]: the rows from first on of a matrix of shape
// [rows, width]. They are a constant of their own.
func (n *net) positions(name string, rows, width, first int) graph.Value {
	n.At("", name)
	return n.once(name+"/positions", func() *graph.Tensor {
		all := n.src.load(n.src.prefix+name+".weight", []int{rows, width}).Floats()
		return &graph.Tensor{Shape: []int{n.tokens, width}, DType: graph.Float, F32: all[first*width:][:n.tokens*width]}
	})
}

// output makes x, of shape [tokens, width], an output with a leading axis of 1.
func (n *net) output(name string, x graph.Value) {
	if n.Valid(x) {
		n.At("", name)
		s := n.Shape(x)
		n.Output(name, n.Reshape(x, append([]int{1}, s...)))
	}
}
