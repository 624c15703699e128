package quantise

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// Formats of models that take the logarithm of a power, as those of sounds do: it is as
// much a matter of small powers as of large ones, so that what is before it has as many
// bits as products with limbs leave, and weights in two parts. What is after it is like any
// other model's.
const (
	spectrumBits  = 24
	spectrumAfter = 15
)

// spectral are the formats that such models begin with; none for others.
func spectral(fg *graph.Graph, groups []group) Formats {
	before := map[string]bool{} // values that a logarithm depends on
	for i := len(fg.Nodes) - 1; i >= 0; i-- {
		n := fg.Nodes[i]
		_, log := n.Op.(graph.LogPower)
		if log || before[n.Output] {
			for _, in := range n.Inputs {
				before[in] = true
			}
		}
	}
	if len(before) == 0 {
		return nil
	}
	f := Formats{}
	for _, g := range groups {
		for _, name := range g.names {
			v := Format{Bits: spectrumAfter}
			if before[name] {
				v.Bits = spectrumBits
			}
			if g.product {
				v.Weights = spectrumAfter
				if before[name] {
					v.Weights = formatWeights
				}
			}
			f[name] = v
		}
	}
	return f
}

// powers lists the values of which nothing is read but logarithms of powers, maybe moved.
func powers(fg *graph.Graph) map[string]bool {
	only := map[string]bool{}
	other := map[string]bool{}
	for _, name := range fg.Outputs {
		other[name] = true
	}
	for _, n := range slices.Backward(fg.Nodes) {
		_, log := n.Op.(graph.LogPower)
		ok := log || onlyMoves(n) && only[n.Output] && !other[n.Output]
		for _, in := range n.Inputs {
			only[in], other[in] = ok && !other[in], other[in] || !ok
		}
	}
	return only
}
