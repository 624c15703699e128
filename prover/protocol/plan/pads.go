package plan

import (
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/protocol/colsum"
	"github.com/prove-model/prove-model/prover/protocol/logup"
	"github.com/prove-model/prove-model/prover/protocol/sumcheck"
)

// Masked returns how many elements of K a sub-transcript sends if it is masked, each of which takes a pad. triples are the pairs of
// these elements, by their numbers, of which the verifier needs the product (docs/protocol.md, "Masked sub-transcripts"), in
// the order in which it needs them.
func (f *Fork) Masked() (pads int, triples [][2]int) {
	add := func(elements int, pairs [][2]int) {
		for _, t := range pairs {
			triples = append(triples, [2]int{pads + t[0], pads + t[1]})
		}
		pads += elements
	}
	from := 0
	nodes := func(to int) {
		for ; from < to; from++ {
			switch f.Nodes[from].Kind {
			case Sent, SumValue, Count:
				pads++
			}
		}
	}
	if f.Leaves.Size > 0 {
		vars := model.Log2Ceil(f.Leaves.Size)
		add(logup.MaskedElements(vars), logup.Triples(vars))
		nodes(f.RowNodes)
		if f.JoinVars > 0 {
			add(colsum.Elements(f.JoinVars), nil)
			nodes(f.JoinNodes)
		}
	}
	nodes(f.EquationNodes)
	for i := range f.Batches {
		b := &f.Batches[i]
		shapes := make([]sumcheck.Shape, 0, b.To-b.From)
		for _, s := range f.Sums[b.From:b.To] {
			shape := sumcheck.Shape{NumVars: s.Vars, Eq: someEq[:len(s.Eq)]}
			if s.View != nil {
				shape.B = knownEnd
			}
			shapes = append(shapes, shape)
		}
		add(sumcheck.MaskedElements(shapes), sumcheck.Triples(shapes))
		nodes(b.Nodes)
	}
	return pads, triples
}

// knownEnd stands for the second operand of a sum if that is a wiring, whose end the verifier computes. In a sumcheck.Shape only
// its presence counts here.
func knownEnd([]field.QM31) field.QM31 { return field.Zero }
