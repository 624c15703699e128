package families

import (
	"slices"
	"strings"

	"github.com/prove-model/prove-model/graph"
)

// rowwise is x·Wᵀ + bias.
var rowwise = graph.Gemm{TransB: true, Alpha: 1, Beta: 1}

// linear is x·Wᵀ + bias for W of [out, in], the layout of a linear layer; with says
// whether there is a bias.
func (n *net) linear(x graph.Value, name string, out int, with bool) graph.Value {
	return n.gemm(x, name, out, true, with)
}

// outside is linear for a full name, to which no prefix is added, such as that of a classifier. Adapters do not apply to it.
func (n *net) outside(x graph.Value, name string, out int, with bool) graph.Value {
	if !n.Valid(x) {
		return x
	}
	n.At("", name)
	w := n.absolute(name+".weight", []int{out, n.dim(x, 1)})
	if with {
		return n.Gemm(rowwise, x, w, n.absolute(name+".bias", []int{out}))
	}
	return n.Gemm(rowwise, x, w)
}

// conv1D is x·W + bias for W of [in, out].
func (n *net) conv1D(x graph.Value, name string, out int) graph.Value {
	return n.gemm(x, name, out, false, true)
}

// gemm is x·W + bias for W of shape [in, out], or, if transposed, x·Wᵀ + bias for W of shape [out, in], with the adapter of the layer.
func (n *net) gemm(x graph.Value, name string, out int, transposed, bias bool) graph.Value {
	if !n.Valid(x) {
		return x
	}
	n.At("", name)
	shape := []int{n.dim(x, 1), out}
	if transposed {
		slices.Reverse(shape)
	}
	w := n.weight(name+".weight", shape)
	g := graph.Gemm{TransB: transposed, Alpha: 1, Beta: 1}
	var y graph.Value
	if bias {
		y = n.Gemm(g, x, w, n.weight(name+".bias", []int{out}))
	} else {
		y = n.Gemm(g, x, w)
	}
	return n.adapted(x, y, n.src.prefix+name)
}

// logits multiplies the rows of x by the matrix of the output layer, or by that of the embeddings if
// the two are tied. If n.picked is not 0, it adds the input Positions and takes only the rows that this input names.
func (n *net) logits(x graph.Value, head, embeddings string, vocabulary int, tied bool) graph.Value {
	n.At("", head)
	if n.picked > 0 {
		x = n.Take(x, 0, n.Input(Positions, graph.Int64, []int{n.picked}, ""))
	}
	name := head
	if tied {
		name = n.src.prefix + embeddings
		n.src.used[head] = true // some files store the tied matrix again under this name
	}
	y := n.Gemm(rowwise, x, n.absolute(name, []int{vocabulary, n.dim(x, 1)}))
	return n.adapted(x, y, strings.TrimSuffix(head, ".weight"))
}

// scaled is x times a number, or x itself if the number is 1.
func (n *net) scaled(x graph.Value, by float64) graph.Value {
	if by == 1 {
		return x
	}
	return n.Mul(x, n.Number(by))
}

// columns takes count columns of x from start on.
func (n *net) columns(x graph.Value, start, count int) graph.Value {
	return n.SliceAxis(x, 1, start, 1, count)
}
