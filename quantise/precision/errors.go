package precision

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/lower"
)

// entered is the error that enters an integer run at one value, as the value and its weights are
// rounded: the difference between the value's integers and what the float operators
// make of its operands' integers. Errors of the operands themselves do not count.
type entered struct {
	// relative is the root mean square of the error, in each row in units of the row's own root
	// mean square.
	relative float64
	// round is the part of relative that rounding to the value's scale alone would make.
	round float64
}

// localErrors returns the errors that enter an integer run, for every value of fg
// that a tensor of the model holds. fg is the float graph in the size of the run.
func localErrors(m *lower.Result, fg *graph.Graph, w *forward.Witness) map[string]entered {
	last, images := map[string]int{}, hasImages(fg) // last: the last node that reads a value
	for i, n := range fg.Nodes {
		for _, in := range n.Inputs {
			last[in] = i
		}
	}
	values, errors, sums := map[string][]float64{}, map[string]entered{}, w.Final()
	for _, in := range fg.Inputs {
		values[in.Name] = m.Dequantise(m.Held[in.Name], w.Tensor(m.Held[in.Name]))
	}
	for i, n := range fg.Nodes {
		want := must.Get(fg.RunNode(n, values))
		values[n.Output] = want
		if id, ok := m.Held[n.Output]; ok {
			got := m.Dequantise(id, sums.Tensor(id))
			errors[n.Output] = enteredError(got, want, rowOf(fg.Shapes[n.Output], images), fixed.Pow2(-m.Graph.Tensors[id].Frac))
			values[n.Output] = got
		}
		for _, in := range slices.Concat(n.Inputs, []string{n.Output}) {
			if last[in] <= i {
				delete(values, in)
			}
		}
	}
	return errors
}

// hasImages reports whether a graph has convolutions.
func hasImages(fg *graph.Graph) bool {
	return slices.ContainsFunc(fg.Nodes, func(n *graph.Node) bool { return lower.TraitsOf(n.Op).Product == lower.ConvProduct })
}

// rowOf is the number of entries of a row, with which errors are compared: those of the last
// axis, or, in a graph with convolutions, those of a whole image.
func rowOf(shape []int, images bool) int {
	switch {
	case len(shape) == 0:
		return 1
	case images && len(shape) == 4:
		return model.Size(shape[1:])
	}
	return shape[len(shape)-1]
}

// enteredError measures the difference of got from want, in rows of row entries; unit is that of
// the value's scale. The error of a row that is small beside the others is taken in units of a least
// size (smallRow): nodes that read all rows hardly notice it.
func enteredError(got, want []float64, row int, unit float64) entered {
	if len(want) == 0 {
		return entered{}
	}
	total := 0.0
	for _, x := range want {
		if x-x == 0 {
			total += float64(x * x)
		}
	}
	floor := total / float64(len(want)) * float64(row) * smallRow * smallRow
	var sum, rounds float64
	for at := 0; at < len(want); at += row {
		var e, s float64
		for i := at; i < at+row; i++ {
			if want[i]-want[i] != 0 || got[i]-got[i] != 0 { // NaN or infinite: a code, which is not rounded
				continue
			}
			e += float64((got[i] - want[i]) * (got[i] - want[i]))
			s += float64(want[i] * want[i])
		}
		if s = math.Max(s, floor); s > 0 {
			sum += e / s
			rounds += float64(unit * unit / 12 * float64(row) / s) // 1/12 is the variance of a uniform distribution on [−½, ½]
		}
	}
	rows := float64(len(want) / row)
	return entered{math.Sqrt(sum / rows), math.Sqrt(rounds / rows)}
}

// smallRow is the least size of a row that counts in full, in units of the root
// mean square of all.
const smallRow = 1.0 / 64

// columnError is the largest relative error that rounding makes in a feature of an input. x has the
// input's values, in rows of row features. A feature's error is its root mean square, in units of that
// of the feature's values, and at most 1.
func columnError(t *model.Tensor, x []float64, row int) float64 {
	most := 0.0
	for j := range row {
		var e, s float64
		for i := j; i < len(x); i += row {
			if x[i]-x[i] != 0 { // NaN or infinite: a code stands for it
				continue
			}
			unit := fixed.Pow2(-t.FracAt(i))
			d := float64(math.Round(x[i]/unit)*unit) - x[i]
			e, s = e+float64(d*d), s+float64(x[i]*x[i])
		}
		if s > 0 {
			most = math.Max(most, math.Min(1, math.Sqrt(e/s)))
		}
	}
	return most
}

// segments lists, for each value, the values that it is computed from and that no tensor holds, back to
// the last tensors before. The errors of these are seen only at the next value that a tensor holds.
func segments(fg *graph.Graph, m *lower.Result) map[string][]string {
	open := map[string][]string{}
	for _, n := range fg.Nodes {
		var list []string
		for _, in := range n.Inputs {
			if _, held := m.Held[in]; !held && fg.Consts[in] == nil {
				list = append(append(list, in), open[in]...)
			}
		}
		if len(list) > 0 {
			slices.Sort(list)
			open[n.Output] = slices.Compact(list)
		}
	}
	return open
}
