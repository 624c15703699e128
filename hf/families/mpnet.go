package families

import (
	"math"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf/config"
	"github.com/prove-model/prove-model/hf/weights"
	"github.com/prove-model/prove-model/internal/elementary"
)

// mpnet is MPNet: BERT without kinds of tokens, whose scores have a bias for the distance of two
// tokens, the same in all layers.
func mpnet(c *config.Config, set weights.Set, m *Modules) (*Model, error) {
	e := bertOf(c, set, "mpnet.")
	e.query, e.key, e.value, e.out = "attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o"
	e.attentionNorm, e.types = "attention.LayerNorm", 0
	e.positionsBehind(c, 1) // whatever pad_token_id says
	buckets := c.Int("relative_attention_num_buckets", 32)
	if buckets%4 != 0 || buckets > mostBuckets {
		c.Failf("field \"relative_attention_num_buckets\" is %d: it takes multiples of 4 up to %d", buckets, mostBuckets)
		buckets = 4
	}
	heads := e.heads
	e.relative = func(n *net) graph.Value {
		return n.distances("encoder.relative_attention_bias", heads, buckets, func(d int) int { return bothWays(d, buckets, 128) })
	}
	e.head = headOf(c, "classifier.dense", "classifier.out_proj", activations["tanh"])
	e.unused = []string{"pooler.", "lm_head."}
	return e.model(c, set, m)
}

// mostBuckets is the most kinds of distances; published models have 32.
const mostBuckets = 1 << 10

// distances returns the biases of scores, of shape [heads, 1, tokens, tokens]: rows of a matrix of
// [buckets, heads], which bucket chooses by how far a key is behind the query's token.
func (n *net) distances(name string, heads, buckets int, bucket func(ahead int) int) graph.Value {
	n.At("", name)
	w, err := n.src.load(n.src.prefix+name+".weight", []int{buckets, heads})
	if err != nil {
		return n.Failf("%v", err)
	}
	t, rows := n.tokens, w.Floats()
	if !n.Room(heads, t, t) {
		return n.Failf("biases of %d heads for %d tokens are too many", heads, t)
	}
	v := make([]float32, heads*t*t)
	for i := range t {
		for j := range t {
			row := rows[bucket(j-i)*heads:]
			for h := range heads {
				v[(h*t+i)*t+j] = row[h]
			}
		}
	}
	return n.table(name+"/distances", []int{heads, 1, t, t}, v, false)
}

// bothWays is the bucket of a distance (Raffel et al. 2020, https://arxiv.org/abs/1910.10683, section
// 2.1): the second half of them is for keys behind the query's token. Of each half, one half has a
// bucket for each distance, and the other divides those up to most by their logarithms, in float32
// as the reference does.
func bothWays(ahead, buckets, most int) int {
	half, first := buckets/2, 0
	if ahead > 0 {
		first = half
	}
	d, exact := max(ahead, -ahead), half/2
	if d < exact {
		return first + d
	}
	part := float32(elementary.Log(float64(d)/float64(exact))) / float32(elementary.Log(float64(most)/float64(exact)))
	return first + min(half-1, exact+int(math.Trunc(float64(part*float32(half-exact)))))
}
