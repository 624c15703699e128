package families

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/elementary"
	"github.com/prove-model/prove-model/internal/refuse"
)

// mostBuckets is the most kinds of distances; published models have 32.
const mostBuckets = 1 << 10

// bucketsOf reads a number of buckets, a multiple of 4.
func bucketsOf(c *published, field string) int {
	buckets := c.Int(field, 32)
	if buckets%4 != 0 || buckets > mostBuckets {
		c.Failf("field %q is %d: it takes multiples of 4 up to %d", field, buckets, mostBuckets)
		return 4
	}
	return buckets
}

// distances returns the biases of scores, of shape [heads, 1, tokens, tokens]: rows of a matrix of
// [buckets, heads], which bucket chooses by how far a key is behind the query's token.
func (n *net) distances(name string, heads, buckets int, bucket func(ahead int) int) graph.Value {
	return n.relative(name, ".weight", heads, buckets, n.tokens, func(i, j int) int { return bucket(j - i) })
}

// relative returns biases of scores, of shape [heads, 1, t, t]: for query i and key j those of row(i, j) of a matrix of [rows, heads].
func (n *net) relative(name, suffix string, heads, rows, t int, row func(i, j int) int) graph.Value {
	n.At("", name)
	return n.once(name+"/distances", func() *graph.Tensor {
		all := n.src.load(n.src.prefix+name+suffix, []int{rows, heads}).Floats()
		if !n.Room(heads, t, t) {
			refuse.With("biases of %d heads for %d tokens are too many", heads, t)
		}
		v := make([]float32, heads*t*t)
		for i := range t {
			for j := range t {
				for h, x := range all[row(i, j)*heads:][:heads] {
					v[(h*t+i)*t+j] = x
				}
			}
		}
		return &graph.Tensor{Shape: []int{heads, 1, t, t}, DType: graph.Float, F32: v}
	})
}

// bothWays is the bucket of a distance (Raffel et al. 2020, https://arxiv.org/abs/1910.10683, section
// 2.1): the second half of them is for keys behind the query's token.
func bothWays(ahead, buckets, most int) int {
	if ahead > 0 {
		return buckets/2 + backwards(-ahead, buckets/2, most)
	}
	return backwards(ahead, buckets/2, most)
}

// backwards is bothWays for keys that are not behind the query's token. One half of the buckets has one for
// each distance, and the other divides those up to most by their logarithms, in float32 as the reference does.
func backwards(ahead, buckets, most int) int {
	d, exact := max(-ahead, 0), buckets/2
	if d < exact {
		return d
	}
	part := float32(elementary.Log(float64(d)/float64(exact))) / float32(elementary.Log(float64(most)/float64(exact)))
	return min(buckets-1, exact+int(math.Trunc(float64(part*float32(buckets-exact)))))
}
