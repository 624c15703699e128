package quantise

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// TestLikelihoodOfFeatures: a Gaussian likelihood of features whose sizes are nine powers of ten apart has each of them count: on
// one scale the squares of the small ones would be nothing.
func TestLikelihoodOfFeatures(t *testing.T) {
	const rows, classes, features = 200, 3, 6
	rng := rand.New(rand.NewPCG(3, 4))
	mean, variance := make([]float32, classes*features), make([]float32, classes*features)
	for c := range classes {
		for f := range features {
			unit := math.Pow(10, float64(3-2*f))
			mean[c*features+f], variance[c*features+f] = float32(unit*(5+rng.NormFloat64())), float32(unit*unit*(0.5+rng.Float64()))
		}
	}
	x := make([]float64, rows*features)
	for i := range x {
		x[i] = math.Pow(10, float64(3-2*(i%features))) * (5 + 2*rng.NormFloat64())
	}
	n := networks.New([]int{rows, features})
	constant := func(v []float32) graph.Value {
		return n.Table(&graph.Tensor{Shape: []int{1, classes, features}, DType: graph.Float, F32: v})
	}
	d := n.Sub(n.Reshape(n.In[0], []int{rows, 1, features}), constant(mean))
	g := n.WithOutput(t, n.Reduce(graph.Sum, n.Div(n.Mul(d, d), constant(variance)), []int{2}, false))
	if _, c := chosen(t, g, [][]float64{x}, Options{Target: 1e-3}); c.Error > 1.5e-3 {
		t.Errorf("off by %.2g of the range", c.Error)
	}
}

// TestLikelihoodOfOutliers: squares, a few of which are thousands in rows far from all classes, are exact enough that the probabilities
// of other rows are right, which follow from differences of small sums.
func TestLikelihoodOfOutliers(t *testing.T) {
	const rows, classes, features = 200, 2, 20
	rng := rand.New(rand.NewPCG(5, 6))
	mean, variance := make([]float32, classes*features), make([]float32, classes*features)
	for i := range mean {
		mean[i], variance[i] = float32(0.2*rng.NormFloat64()), float32(0.8+0.4*rng.Float64())
	}
	x := make([]float64, rows*features)
	for i := range x {
		if x[i] = rng.NormFloat64(); i%97 == 0 {
			x[i] *= 20
		}
	}
	n := networks.New([]int{rows, features})
	constant := func(v []float32) graph.Value {
		return n.Table(&graph.Tensor{Shape: []int{1, classes, features}, DType: graph.Float, F32: v})
	}
	d := n.Sub(n.Reshape(n.In[0], []int{rows, 1, features}), constant(mean))
	sum := n.Reduce(graph.Sum, n.Div(n.Mul(d, d), constant(variance)), []int{2}, false)
	half := n.Table(&graph.Tensor{Shape: []int{}, DType: graph.Float, F32: []float32{-0.5}})
	g := n.WithOutput(t, n.Softmax(n.Mul(sum, half), 1))
	if _, c := chosen(t, g, [][]float64{x}, Options{Target: 1e-3}); c.Error > 1.5e-3 {
		t.Errorf("off by %.2g of the range", c.Error)
	}
}
