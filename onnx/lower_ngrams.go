package onnx

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// ngrams is a TfIdfVectorizer of integers. It counts how often each n-gram of a list occurs in a row of tokens: as neighbouring tokens,
// and as tokens with up to skips others between each two.
type ngrams struct {
	*op
	least, most, skips int
	columns            []int64 // the result's column for each n-gram of the list
}

// lowerNgrams compares every token with the tokens of the n-grams. An n-gram occurs at a place if all of its
// tokens are equal there.
func lowerNgrams(o *op) {
	x, in := o.tensor(0)
	o.failIf(o.DType(x).IsFloat() || len(in) < 1 || len(in) > 2, "tokens of shape %v and type %v", in, o.DType(x))
	n := ngrams{op: o, least: int(o.intAttr("min_gram_length", 1)), most: int(o.intAttr("max_gram_length", 1)),
		skips: int(o.intAttr("max_skip_count", 0)), columns: o.intsAttr("ngram_indexes")}
	mode, pool, starts, weights := o.strAttr("mode", ""), o.intsAttr("pool_int64s"), o.intsAttr("ngram_counts"), o.floatsAttr("weights")
	length := in[len(in)-1]
	o.failIf(n.least < 1 || n.most < n.least || n.most > len(starts) || n.skips < 0 || n.most > 64 || length == 0,
		"n-grams of %d to %d, up to %d apart, in rows of %d", n.least, n.most, n.skips, length)
	// No tokens of a row are further apart than its length.
	n.skips = min(n.skips, length)
	o.failIf(n.skips > maxTrips/n.most, "n-grams of up to %d, up to %d apart, are too many to compare", n.most, n.skips)
	rows := graph.Size(in) / length
	x = o.Reshape(x, []int{rows, length, 1})
	parts, columns := n.bySize(x, pool, starts)
	most := slices.Max(n.columns)
	o.failIf(most >= graph.MaxElements, "ngram_indexes has column %d", most)
	width := int(slices.Max(n.columns)) + 1
	o.room(rows, max(width, 1))
	if sorted := slices.Sorted(slices.Values(n.columns)); sorted[0] < 0 || len(slices.Compact(sorted)) < len(n.columns) {
		o.failf("ngram_indexes = %v: a column twice, or before the first", n.columns)
	}
	from := slices.Repeat([]int{-1}, width)
	for i, c := range columns {
		from[c] = i
	}
	var y graph.Value
	if len(parts) == 0 {
		y = o.Fill([]int{rows, width}, &graph.Tensor{DType: graph.Float, F32: []float32{0}, Public: true})
	} else {
		y = o.Gather(o.Concat(1, parts...), 1, from)
	}
	o.result(0, o.Reshape(n.weighed(y, mode, weights, width), append(slices.Clone(in[:len(in)-1]), width)))
}

// bySize returns the counts of the n-grams of each size from least to most, and the columns of these n-grams in the result. The
// n-grams of size i + 1 begin at index starts[i] of the pool.
func (n ngrams) bySize(x graph.Value, pool, starts []int64) (parts []graph.Value, columns []int64) {
	first := 0
	for i := range starts {
		size, end := i+1, int64(len(pool))
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		n.failIf(starts[i] < 0 || end < starts[i] || end > int64(len(pool)) || (end-starts[i])%int64(size) != 0,
			"ngram_counts = %v for a pool of %d", starts, len(pool))
		grams := pool[starts[i]:end]
		count := len(grams) / size
		n.failIf(first+count > len(n.columns), "%d columns for more n-grams", len(n.columns))
		if size >= n.least && size <= n.most && count > 0 {
			parts = append(parts, n.counts(x, grams, size))
			columns = append(columns, n.columns[first:first+count]...)
		}
		first += count
	}
	n.failIf(first != len(n.columns) || first == 0, "%d columns for %d n-grams", len(n.columns), first)
	return parts, columns
}

// counts returns how often each n-gram of a size occurs, in shape [rows, n-grams]. x has shape [rows, tokens, 1].
func (n ngrams) counts(x graph.Value, grams []int64, size int) graph.Value {
	in := n.shape(x)
	count, skips := len(grams)/size, n.skips
	if size == 1 {
		skips = 0 // there is nothing in between
	}
	var sum graph.Value
	for apart := 1; apart <= skips+1; apart++ {
		places := in[1] - (size-1)*apart
		if places < 1 {
			break
		}
		n.room(in[0], places, count)
		var all graph.Value
		for k := range size {
			tokens := filled(count, func(g int) int64 { return grams[g*size+k] })
			is := n.Compare(graph.Equal, n.SliceAxis(x, 1, k*apart, 1, places), n.Cast(n.Integers([]int{count}, tokens), n.DType(x)))
			if k > 0 {
				is = n.Compare(graph.And, all, is)
			}
			all = is
		}
		found := n.Reduce(graph.Sum, n.Cast(all, graph.Float), []int{1}, false)
		if sum == (graph.Value{}) {
			sum = found
		} else {
			sum = n.Add(sum, found)
		}
	}
	if sum == (graph.Value{}) {
		sum = n.Fill([]int{in[0], count}, &graph.Tensor{DType: graph.Float, F32: []float32{0}, Public: true})
	}
	return sum
}

// weighed applies the weights to counts, of shape [rows, width], as the mode says.
func (n ngrams) weighed(y graph.Value, mode string, weights []float64, width int) graph.Value {
	n.failIf(mode != "TF" && mode != "IDF" && mode != "TFIDF", "mode = %s is not known", graph.Quote(mode))
	n.failIf(weights != nil && len(weights) != len(n.columns),
		"%d weights for %d n-grams", len(weights), len(n.columns))
	if mode == "IDF" {
		y = n.Clip(y, 0, 1)
	}
	if mode == "TF" || weights == nil {
		return y
	}
	w := make([]float32, width)
	for i, x := range weights {
		w[n.columns[i]] = float32(x)
	}
	return n.Mul(y, n.Table(&graph.Tensor{Shape: []int{width}, DType: graph.Float, F32: w}))
}
