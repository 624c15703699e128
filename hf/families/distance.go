package families

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/elementary"
	"github.com/prove-model/prove-model/internal/refuse"
)

// mostBuckets is the most buckets of distances; published models have 32.
const mostBuckets = 1 << 10

// bucketsOf reads a number of buckets from a field. It must be a multiple of 4.
func bucketsOf(c *published, field string) int {
	buckets := c.Int(field, 32)
	if buckets%4 != 0 || buckets > mostBuckets {
		c.Failf("field %q is %d: it takes multiples of 4 up to %d", field, buckets, mostBuckets)
		return 4
	}
	return buckets
}

// distances returns biases of the scores, of shape [heads, 1, tokens, tokens], from a matrix of shape
// [buckets, heads]. bucket gives the row of the matrix for a key that comes ahead tokens after the query.
func (n *net) distances(name string, heads, buckets int, bucket func(ahead int) int) graph.Value {
	return n.relative(name, ".weight", heads, buckets, n.tokens, func(i, j int) int { return bucket(j - i) })
}

// relative returns biases of the scores, of shape [heads, 1, t, t]. Those of query i and key j are row(i, j) of the matrix name+suffix, of
// shape [rows, heads].
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

// bothWays is the bucket of a key that comes ahead tokens after the query (Raffel et al. 2020, https://arxiv.org/abs/1910.10683, section
// 2.1). The second half of the buckets is for keys after the query.
func bothWays(ahead, buckets, most int) int {
	if ahead > 0 {
		return buckets/2 + backwards(-ahead, buckets/2, most)
	}
	return backwards(ahead, buckets/2, most)
}

// backwards is the bucket of a key that comes −ahead tokens before the query; keys after it count as distance 0. The first half of the
// buckets is for single distances. The second half divides the distances up to most on a logarithmic scale, and the last bucket
// also has those beyond. The logarithms are computed in float32, as in the reference implementation.
func backwards(ahead, buckets, most int) int {
	d, exact := max(-ahead, 0), buckets/2
	if d < exact {
		return d
	}
	part := float32(elementary.Log(float64(d)/float64(exact))) / float32(elementary.Log(float64(most)/float64(exact)))
	return min(buckets-1, exact+int(math.Trunc(float64(part*float32(buckets-exact)))))
}
