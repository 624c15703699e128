package families

import (
	"math"
	"strings"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/elementary"
)

// disentangled is DeBERTa's attention (He et al. 2021, https://arxiv.org/abs/2006.03654 and https://arxiv.org/abs/2111.09543). The
// score of query i and key j is the sum of up to three products: query i with key j, query i with the distance of j from i ("c2p"), and key
// j with the distance of i from j ("p2c"). Distances have embeddings, which each layer projects as it does tokens.
type disentangled struct {
	*encoder
	span              int     // the embeddings have a row for each distance from −span to span − 1
	buckets, most     int     // distances beyond ±buckets/2 share rows, on a logarithmic scale up to most; 0 buckets: each has its own row
	toKeys, toQueries bool    // the score has the term c2p, or p2c
	shared, normed    bool    // distances are projected by the matrices of the tokens; their embeddings have a norm
	scale             float64 // of all terms
	table             string  // name of the tensor of the embeddings
}

// deberta is DeBERTa-v2 and DeBERTa-v3.
func deberta(c *published) *Model {
	e := bertOf(c, "deberta.")
	e.query, e.key, e.value = "attention.self.query_proj", "attention.self.key_proj", "attention.self.value_proj"
	e.eps, e.types = c.Float("layer_norm_eps", 1e-7), c.Natural("type_vocab_size", 0)
	e.placed, e.fixed = c.Bool("position_biased_input", true), true
	if e.narrow = c.Int("embedding_size", e.width); e.narrow != e.width {
		e.project, e.normLast = "embeddings.embed_proj", true
	}
	e.head = headOf(c, "pooler.dense", "classifier", activationOf(c, "pooler_hidden_act", "gelu"))
	e.unused = []string{"pooler.", "lm_predictions.", "mask_predictions.", "cls."}
	d := &disentangled{encoder: e, shared: c.Bool("share_att_key", false), table: "encoder.rel_embeddings.weight"}
	if !c.Bool("relative_attention", false) {
		c.Failf("field \"relative_attention\" is false: DeBERTa without it is not supported")
	}
	d.read(c)
	if c.Float("conv_kernel_size", 0) > 0 {
		c.Failf("field \"conv_kernel_size\": a convolution behind the first layer is not supported")
	}
	c.Ignore("conv_act", "conv_groups", "pooler_dropout", "pooler_hidden_size", "legacy", "padding_idx")
	e.scores = d.scores
	return e.model(c)
}

// read reads the fields about distances.
func (d *disentangled) read(c *published) {
	kinds := c.Parts("pos_att_type", "|")
	for _, kind := range kinds {
		switch strings.ToLower(strings.TrimSpace(kind)) {
		case "c2p":
			d.toKeys = true
		case "p2c":
			d.toQueries = true
		default:
			c.Failf("field \"pos_att_type\" has %s; understood: c2p, p2c", graph.Quote(kind))
		}
	}
	terms := 1
	if d.toKeys {
		terms++
	}
	if d.toQueries {
		terms++
	}
	d.scale = 1 / math.Sqrt(float64(d.width/d.heads*terms))
	d.span = d.context
	if c.Float("max_relative_positions", -1) > 0 {
		d.span = c.Int("max_relative_positions", 0)
	}
	d.most = d.span
	if c.Float("position_buckets", -1) > 0 {
		d.buckets = c.Int("position_buckets", 0)
		d.span = d.buckets
		if d.buckets < 4 || d.buckets%2 != 0 || d.most <= d.buckets/2+1 {
			c.Failf("%d buckets of distances up to %d", d.buckets, d.most)
		}
	}
	for _, kind := range strings.Split(c.Text("norm_rel_ebd", "none"), "|") {
		switch strings.TrimSpace(kind) {
		case "layer_norm":
			d.normed = true
		case "none":
		default:
			c.Failf("field \"norm_rel_ebd\" has %s; understood: layer_norm, none", graph.Quote(kind))
		}
	}
}

// bucket is the row of the embeddings for a query that comes behind tokens after a key; behind is negative if it comes before. The
// logarithms are computed in float32, as in the reference implementation.
func (d *disentangled) bucket(behind int) int {
	if half, far := d.buckets/2, max(behind, -behind); d.buckets > 0 && far > half {
		part := float32(elementary.Log(float64(float32(far)/float32(half)))) / float32(elementary.Log(float64(d.most-1)/float64(half)))
		far = half + int(math.Ceil(float64(part*float32(half-1))))
		if behind < 0 {
			far = -far
		}
		behind = far
	}
	return min(max(behind+d.span, 0), 2*d.span-1)
}

// scores sets the scale and the additional terms of the scores of a layer, whose names begin with at.
func (d *disentangled) scores(n *net, a *attention, at string) {
	if a.scale = d.scale; !d.toKeys && !d.toQueries {
		return
	}
	// key and query are the names of the projections of distances.
	key, query := "attention.self.pos_key_proj", "attention.self.pos_query_proj"
	if d.shared {
		key, query = d.key, d.query
	}
	a.more = func(q, k graph.Value) graph.Value {
		var sum graph.Value
		if d.toKeys {
			// Column r of far is for a key that comes r − (tokens − 1) tokens after the query.
			far := d.distances(n, at+key, 1, func(ahead int) int { return d.bucket(-ahead) })
			sum = n.skew(n.MatMul(q, far))
		}
		if d.toQueries {
			far := d.distances(n, at+query, d.scale, d.bucket)
			keys := n.Transpose(k, []int{0, 1, 3, 2})
			y := n.Transpose(n.skew(n.MatMul(keys, far)), []int{0, 1, 3, 2})
			if !d.toKeys {
				return y
			}
			sum = n.Add(sum, y)
		}
		return sum
	}
}

// distances returns the projected embeddings of the distances from 1 − tokens to tokens − 1, of shape [heads, 1, dim, 2·tokens − 1]. row
// gives the row of the table for a distance, and name is the projection.
func (d *disentangled) distances(n *net, name string, scale float64, row func(ahead int) int) graph.Value {
	n.At("", name)
	t := n.tokens
	rows := filled(2*t-1, func(i int) int { return row(i - (t - 1)) })
	x := n.weight(d.table, []int{2 * d.span, d.width})
	if d.normed {
		x = n.layerNorm(x, "encoder.LayerNorm", d.eps)
	}
	x = n.scaled(n.linear(n.Gather(x, 0, rows), name, d.width, true), scale)
	return n.Transpose(n.Reshape(x, []int{2*t - 1, d.heads, 1, d.width / d.heads}), []int{1, 2, 3, 0})
}

// skew returns y, of shape [heads, 1, t, t], with y[i][j] = x[i][t − 1 + j − i], for x of shape [heads, 1, t, 2·t − 1]. In memory this
// element is at i·(2·t − 1) + t − 1 + j − i = t − 1 + i·(2·t − 2) + j. So it is column j of row i, if the first t − 1 numbers are dropped
// and the rest is read in rows of 2·t − 2.
func (n *net) skew(x graph.Value) graph.Value {
	if !n.Valid(x) {
		return x
	}
	heads, t := n.Shape(x)[0], n.Shape(x)[2]
	if t == 1 {
		return x
	}
	x = n.SliceAxis(n.Reshape(x, []int{heads, t * (2*t - 1)}), 1, t-1, 1, t*(2*t-2))
	return n.SliceAxis(n.Reshape(x, []int{heads, 1, t, 2*t - 2}), 3, 0, 1, t)
}
