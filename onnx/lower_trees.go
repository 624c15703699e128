package onnx

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
)

// forest is an ensemble of trees as the file describes it.
type forest struct {
	nodes []treeNode
	roots []int // indices of the root nodes
}

// treeNode is a node of a tree. If its comparison holds, a row goes to node yes, else to
// node no. A leaf has weights instead.
type treeNode struct {
	mode    string // the comparison, by its name in ONNX, or leafMode
	feature int
	value   float32   // compared with the feature
	members []float32 // the set of a BRANCH_MEMBER
	yes, no int       // indices of nodes
	missing bool      // a row whose feature is NaN goes to yes, not to no
	weights []leafWeight
}

// leafWeight is what a leaf adds to the result for a target.
type leafWeight struct {
	target int
	weight float32
}

const leafMode = "LEAF"

// rows returns an input of a classical model as rows of features.
func (o *op) rows(x graph.Value) graph.Value {
	switch in := o.shape(x); {
	case len(in) == 1:
		x = o.Reshape(x, []int{1, in[0]})
	case len(in) != 2:
		o.failf("its input has shape %v; rows of features are expected", in)
	}
	if o.DType(x) == graph.Bool {
		x = o.Cast(x, graph.Float)
	}
	return x
}

// forestSum builds the sum of all trees' leaf weights plus base, in shape [rows,
// targets]. If apart is set, the results of the trees are not added up: the shape is
// [rows, trees·targets], and base must be nil.
func (o *op) forestSum(x graph.Value, f *forest, targets int, base []float64, apart bool) graph.Value {
	g := graph.Forest{Base: base}
	q := o.questions(f.nodes)
	if o.NotFinite(x) {
		q.eachNode(f.nodes)
	}
	var weights []float32
	width := targets
	if apart {
		width *= len(f.roots)
	}
	o.failIf(width > graph.MaxActivations, "%d trees for %d targets are too many", len(f.roots), targets)
	seen := make([]bool, len(f.nodes))
	// Visit the nodes breadth first, so that each comes after its parent.
	type edge struct{ node, tree, above, side int }
	var queue []edge
	for i, r := range f.roots {
		queue = append(queue, edge{r, i, -1, 0})
	}
	g.Roots = make([]graph.Child, len(f.roots))
	for len(queue) > 0 {
		e := queue[0]
		queue = queue[1:]
		if e.node < 0 || e.node >= len(f.nodes) {
			o.failf("a tree has a node numbered %d", e.node)
		}
		n := &f.nodes[e.node]
		var c graph.Child
		if n.mode == leafMode {
			c = graph.Child(^(len(weights) / width))
			o.room(width)
			row := make([]float32, width)
			for _, w := range n.weights {
				if w.target < 0 || w.target >= targets {
					o.failf("a leaf has a weight for target %d of %d", w.target, targets)
				}
				at := w.target
				if apart {
					at += e.tree * targets
				}
				row[at] += w.weight
			}
			weights = append(weights, row...)
		} else {
			if seen[e.node] {
				o.failf("node %d is below two others", e.node)
			}
			seen[e.node] = true
			c = graph.Child(len(g.Branches))
			g.Branches = append(g.Branches, graph.Branch{Bit: q.bit[e.node]})
			under, over := n.yes, n.no
			if q.yes[e.node] {
				under, over = over, under
			}
			queue = append(queue, edge{under, e.tree, int(c), 0}, edge{over, e.tree, int(c), 1})
		}
		switch {
		case e.above < 0:
			g.Roots[e.tree] = c
		case e.side == 0:
			g.Branches[e.above].Under = c
		default:
			g.Branches[e.above].Over = c
		}
	}
	w := o.Table(&graph.Tensor{Shape: []int{len(weights) / width, width}, DType: graph.Float, F32: weights})
	if len(g.Branches) == 0 { // each tree consists of one leaf
		y := o.Reduce(graph.Sum, w, []int{0}, true)
		if base != nil {
			y = o.Add(y, o.numbers([]int{1, width}, base))
		}
		return o.Expand(y, []int{o.shape(x)[0], width})
	}
	bits := o.withSets(o.Exceeds(x, q.splits), q)
	if q.own != nil {
		bits = o.withNaN(x, bits, q.own)
	}
	return o.Forest(g, bits, w)
}

// numbers makes a float constant.
func (o *op) numbers(shape []int, v []float64) graph.Value {
	return o.Table(&graph.Tensor{Shape: shape, DType: graph.Float, F32: converted[float32](v)})
}

// questions are the distinct comparisons of all nodes. Each is one bit. First come the
// splits, then the tests of whether a feature is in a set of numbers. Each number of a
// set takes two splits.
type questions struct {
	splits []graph.Split
	sets   [][][2]int // for each number of each set, the indices of the splits x ≥ number and x > number
	bit    []int      // for each node, the index of its bit
	yes    []bool     // for each node, whether a bit of 1 means yes
	// own is set if features may be NaN. Then bit has indices into own instead. An ownBit is
	// one of the bits above or, if the feature is NaN, what the node prescribes for NaN.
	own []ownBit
}

// ownBit is a bit that also decides for NaN.
type ownBit struct {
	of, feature int  // index of the split or set, and the feature that it tests
	nan         bool // the bit's value if the feature is NaN
}

// eachNode replaces the bits of the nodes by bits that also decide for NaN, in own.
func (q *questions) eachNode(nodes []treeNode) {
	var bits distinct[ownBit]
	for i := range nodes {
		if n := &nodes[i]; n.mode != leafMode {
			q.bit[i] = bits.place(ownBit{q.bit[i], n.feature, n.missing == q.yes[i]})
		}
	}
	q.own = bits.list
}

// distinct lists distinct elements in the order in which they first occur.
type distinct[T comparable] struct {
	list []T
	at   map[T]int
}

// place returns the index of x in the list, and adds x to it if it is new.
func (d *distinct[T]) place(x T) int {
	at, met := d.at[x]
	if !met {
		if d.at == nil {
			d.at = map[T]int{}
		}
		at = len(d.list)
		d.at[x], d.list = at, append(d.list, x)
	}
	return at
}

// withNaN returns the own bits: (bit ∧ ¬NaN) ∨ (NaN ∧ what the node prescribes for NaN).
func (o *op) withNaN(x, bits graph.Value, own []ownBit) graph.Value {
	nan := o.Gather(o.IsNaN(x), 1, each(own, func(b ownBit) int { return b.feature }))
	bits = o.Compare(graph.And, o.Gather(bits, 1, each(own, func(b ownBit) int { return b.of })), o.Not(nan))
	return o.Compare(graph.Or, bits, o.Compare(graph.And, nan, o.truths([]int{len(own)}, func(i int) bool { return own[i].nan })))
}

// questions collects the comparisons of all nodes. x ≤ v is the opposite of x > v, and x < v of x ≥
// v, so they share a bit; x = v is x ≥ v without x > v.
func (o *op) questions(nodes []treeNode) questions {
	q := questions{bit: make([]int, len(nodes)), yes: make([]bool, len(nodes))}
	var splits distinct[graph.Split]
	split := func(n *treeNode, value float32, orEqual bool) int {
		return splits.place(graph.Split{Feature: n.feature, Value: value, OrEqual: orEqual})
	}
	sets := map[int]int{} // index of a node's set
	// equal has the index of the set of one number, by its feature and value.
	equal := map[graph.Split]int{}
	for i := range nodes {
		n := &nodes[i]
		q.yes[i] = n.mode == "BRANCH_GT" || n.mode == "BRANCH_GTE" || n.mode == "BRANCH_EQ" || n.mode == "BRANCH_MEMBER"
		switch n.mode {
		case leafMode:
		case "BRANCH_LEQ", "BRANCH_GT":
			q.bit[i] = split(n, n.value, false)
		case "BRANCH_LT", "BRANCH_GTE":
			q.bit[i] = split(n, n.value, true)
		case "BRANCH_EQ", "BRANCH_NEQ":
			s := graph.Split{Feature: n.feature, Value: n.value}
			if _, ok := equal[s]; !ok {
				equal[s] = len(q.sets)
				q.sets = append(q.sets, [][2]int{{split(n, n.value, true), split(n, n.value, false)}})
			}
			sets[i] = equal[s]
		case "BRANCH_MEMBER":
			var members distinct[float32]
			for _, v := range n.members {
				members.place(v)
			}
			set := each(members.list, func(v float32) [2]int { return [2]int{split(n, v, true), split(n, v, false)} })
			o.failIf(len(set) == 0, "node %d asks whether a feature is one of no numbers", i)
			sets[i] = len(q.sets)
			q.sets = append(q.sets, set)
		default:
			o.failf("node %d has mode %s", i, graph.Quote(n.mode))
		}
	}
	q.splits = splits.list
	for i, set := range sets {
		q.bit[i] = len(q.splits) + set
	}
	return q
}

// withSets appends the bits of sets to those of splits. A feature equals a number if x ≥
// number holds and x > number does not, which is the difference of the two bits; it is in
// a set if it equals one of its numbers.
func (o *op) withSets(bits graph.Value, q questions) graph.Value {
	if len(q.sets) == 0 {
		return bits
	}
	pick := func(which int, sets [][][2]int, number int) graph.Value {
		return o.Gather(bits, 1, each(sets, func(s [][2]int) int { return s[number][which] }))
	}
	is := func(sets [][][2]int, number int) graph.Value {
		return o.Sub(pick(0, sets, number), pick(1, sets, number))
	}
	parts := []graph.Value{bits}
	for from := 0; from < len(q.sets); { // consecutive sets of one number are computed together
		to := from + 1
		if len(q.sets[from]) == 1 {
			for to < len(q.sets) && len(q.sets[to]) == 1 {
				to++
			}
		}
		run := q.sets[from:to]
		v := is(run, 0)
		for number := 1; number < len(run[0]); number++ {
			v = o.Add(v, is(run, number))
		}
		parts = append(parts, v)
		from = to
	}
	return o.Concat(1, parts...)
}

// alike fails unless attributes of the given lengths all have the same length.
func (o *op) alike(things string, lens ...int) {
	for _, n := range lens[1:] {
		o.failIf(n != lens[0], "its attributes describe different numbers of %s", things)
	}
}

// nodeIDs maps the file's numbers of a tree and of a node in it to the index of the node.
type nodeIDs map[[2]int64]int

func (o *op) nodeIDs(trees, ids []int64) nodeIDs {
	at := nodeIDs{}
	for i := range ids {
		id := [2]int64{trees[i], ids[i]}
		if _, twice := at[id]; twice {
			o.failf("tree %d has two nodes %d", trees[i], ids[i])
		}
		at[id] = i
	}
	return at
}

// find returns the index of a node, which must exist.
func (at nodeIDs) find(o *op, tree, node int64) int {
	i, ok := at[[2]int64{tree, node}]
	o.failIf(!ok, "tree %d has no node %d", tree, node)
	return i
}

// oldForest reads the nodes of TreeEnsembleRegressor and TreeEnsembleClassifier. The
// attributes of the leaf weights have names that begin with what. Nodes below no other
// node are roots.
func (o *op) oldForest(what string) *forest {
	trees, ids := o.intsAttr("nodes_treeids"), o.intsAttr("nodes_nodeids")
	features, yes, no := o.intsAttr("nodes_featureids"), o.intsAttr("nodes_truenodeids"), o.intsAttr("nodes_falsenodeids")
	modes, values := o.stringsAttr("nodes_modes"), o.numbersAttr("nodes_values")
	o.ignore("nodes_hitrates", "nodes_hitrates_as_tensor")
	missing := o.intsAttr("nodes_missing_value_tracks_true")
	n := len(ids)
	o.alike("nodes", n, len(trees), len(features), len(yes), len(no), len(modes), len(values))
	o.failIf(n == 0, "it has no nodes")
	at := o.nodeIDs(trees, ids)
	f := &forest{nodes: make([]treeNode, n)}
	below := make([]bool, n)
	for i := range f.nodes {
		f.nodes[i] = treeNode{mode: modes[i], feature: int(features[i]), value: values[i], missing: i < len(missing) && missing[i] != 0}
		if modes[i] == leafMode {
			continue
		}
		f.nodes[i].yes, f.nodes[i].no = at.find(o, trees[i], yes[i]), at.find(o, trees[i], no[i])
		below[f.nodes[i].yes], below[f.nodes[i].no] = true, true
	}
	for i, b := range below {
		if !b {
			f.roots = append(f.roots, i)
		}
	}
	o.leafWeights(what, f, at)
	return f
}

// leafWeights reads the weights of the leaves.
func (o *op) leafWeights(what string, f *forest, at nodeIDs) {
	targets, weights := o.intsAttr(what+"_ids"), o.numbersAttr(what+"_weights")
	trees, ids := o.intsAttr(what+"_treeids"), o.intsAttr(what+"_nodeids")
	o.alike("weights", len(targets), len(weights), len(trees), len(ids))
	for i, t := range targets {
		leaf := &f.nodes[at.find(o, trees[i], ids[i])]
		if leaf.mode != leafMode {
			o.failf("node %d of tree %d has a weight and is no leaf", ids[i], trees[i])
		}
		leaf.weights = append(leaf.weights, leafWeight{int(t), weights[i]})
	}
}

// aggregate builds the sum, average, least or greatest of the results of several trees.
func (o *op) aggregate(x graph.Value, f *forest, how string, targets int, base []float64) graph.Value {
	switch how {
	case "SUM":
		return o.forestSum(x, f, targets, base, false)
	case "AVERAGE":
		for i := range f.nodes {
			for j := range f.nodes[i].weights {
				f.nodes[i].weights[j].weight /= float32(len(f.roots))
			}
		}
		return o.forestSum(x, f, targets, base, false)
	case "MIN", "MAX":
		for i, n := range f.nodes {
			given := map[int]bool{}
			for _, w := range n.weights {
				given[w.target] = true
			}
			if n.mode == leafMode && len(given) != targets {
				o.failf("leaf %d has no weight for some target, of which the least or greatest is asked for", i)
			}
		}
		all := o.forestSum(x, f, targets, nil, true)
		all = o.Reshape(all, []int{o.shape(x)[0], len(f.roots), targets})
		y := graph.Value{}
		if how == "MIN" {
			y = o.ReduceMin(all, []int{1}, false)
		} else {
			y = o.ReduceMax(all, []int{1}, false)
		}
		if base != nil {
			y = o.Add(y, o.numbers([]int{1, targets}, base))
		}
		return y
	}
	o.failf("aggregate function %s is not known", graph.Quote(how))
	return graph.Value{}
}

func lowerTreeRegressor(o *op) {
	x := o.rows(o.in(0))
	f := o.oldForest("target")
	targets := int(o.intAttr("n_targets", 1))
	base := o.baseValues(targets)
	y := o.aggregate(x, f, o.strAttr("aggregate_function", "SUM"), targets, base)
	o.result(0, o.transformed(y, o.strAttr("post_transform", "NONE")))
}

// baseValues returns the attribute base_values, with which the sum for each target
// begins; nil if it is absent.
func (o *op) baseValues(targets int) []float64 {
	var base []float64
	if list := o.numbersAttr("base_values"); len(list) > 0 {
		base = converted[float64](list)
	}
	o.failIf(base != nil && len(base) != targets || targets < 1 || targets > 1<<16,
		"%d base values for %d targets", len(base), targets)
	return base
}

// lowerTreeClassifier returns classes as whole numbers: the model's integer labels or, if
// the labels are strings, their indices in the list.
func lowerTreeClassifier(o *op) {
	x := o.rows(o.in(0))
	f := o.oldForest("class")
	labels := o.labels("classlabels_int64s")
	n := len(labels)
	transform := o.strAttr("post_transform", "NONE")
	scored := map[int]bool{}
	for _, node := range f.nodes {
		for _, w := range node.weights {
			scored[w.target] = true
		}
	}
	if n == 2 && len(scored) == 1 {
		o.binaryClassifier(x, f, labels, scored[0], transform)
		return
	}
	base := o.baseValues(n)
	if n == 1 || n == 2 && o.wanted(0) {
		o.failf("what class a row is of that has scores for %d classes is not well defined: ONNX Runtime and the ONNX reference differ; remove output %s from the model", n, graph.Quote(o.proto.Output[0]))
	}
	scores := o.forestSum(x, f, n, base, false)
	if o.wanted(0) {
		o.failIf(base == nil && !f.bestHasScore(n),
			"what class a row is of that has no score for some class is not well defined: ONNX Runtime and the ONNX reference differ; remove output %s from the model",
			graph.Quote(o.proto.Output[0]))
		o.result(0, o.best(scores, labels))
	}
	o.scores(scores, transform)
}

// bestHasScore says whether the best of n classes is one for which a leaf has a weight, whatever leaves a row ends in. A
// class without a weight counts as 0 for the ONNX reference, and not at all for ONNX Runtime. The trees have no cycles.
func (f *forest) bestHasScore(n int) bool {
	scored, positive, negative := map[int]bool{}, false, false
	for _, root := range f.roots {
		leaves, best := 0, true // best: each leaf has a weight above 0
		given := map[int]int{}  // number of leaves with a weight for a class
		for below := []int{root}; len(below) > 0; {
			node := &f.nodes[below[0]]
			below = below[1:]
			if node.mode != leafMode {
				below = append(below, node.yes, node.no)
				continue
			}
			leaves++
			some, met := false, map[int]bool{}
			for _, w := range node.weights {
				some, negative = some || w.weight > 0, negative || w.weight < 0
				met[w.target] = true
			}
			for class := range met {
				given[class]++
			}
			best = best && some
		}
		for class, count := range given {
			scored[class] = scored[class] || count == leaves
		}
		positive = positive || best
	}
	all := 0
	for _, always := range scored {
		all += int(truth(always))
	}
	return all == n || positive && !negative
}

// binaryClassifier reads a classifier of two classes with one score. It is the score of
// the second class, even if the file gives it for the first (forFirst). The score of the
// first class follows from it.
func (o *op) binaryClassifier(x graph.Value, f *forest, labels []int64, forFirst bool, transform string) {
	var base []float64
	if forFirst {
		base = o.baseValues(1)
	} else if len(o.numbersAttr("base_values")) > 0 {
		o.failf("base values for two classes with a score for the second one alone are not well defined")
	}
	if forFirst && transform != "NONE" && transform != "LOGISTIC" {
		o.failf("post_transform %s of one score for two classes is not well defined: ONNX Runtime and the ONNX reference differ", graph.Quote(transform))
	}
	negative := f.mirror(forFirst)
	start := []float64{0, 0}
	if base != nil {
		start = []float64{-base[0], base[0]}
	}
	if forFirst && !negative && transform == "NONE" {
		start[0]++ // 1 − score
	}
	scores := o.forestSum(x, f, 2, start, false)
	threshold := float32(0)
	if !negative {
		threshold = 0.5
	}
	if o.wanted(0) {
		second := o.Cast(o.Exceeds(scores, []graph.Split{{Feature: 1, Value: threshold}}), graph.Int64)
		o.result(0, o.named(o.Reshape(second, o.shape(scores)[:1]), labels))
	}
	o.scores(scores, transform)
}

// mirror makes every weight one for target 1. If opposite is set, it also adds the
// negative weight for target 0. It reports whether a weight was negative before.
func (f *forest) mirror(opposite bool) (negative bool) {
	for i := range f.nodes {
		n := &f.nodes[i]
		var first []leafWeight
		for j := range n.weights {
			w := &n.weights[j]
			negative = negative || w.weight < 0
			w.target = 1
			if opposite {
				first = append(first, leafWeight{0, -w.weight})
			}
		}
		n.weights = append(n.weights, first...)
	}
	return negative
}

// scores gives the scores of classes as output 1.
func (o *op) scores(scores graph.Value, transform string) {
	if o.wanted(1) {
		o.result(1, o.transformed(scores, transform))
	}
}

// best returns the label of the first class with the greatest score, in shape [rows]. For
// up to 24 classes it compares every pair of them; the class that wins all its
// comparisons is the best.
func (o *op) best(scores graph.Value, labels []int64) graph.Value {
	in := o.shape(scores)
	n := in[1]
	const mostCompared = 24
	if n > mostCompared || n == 1 {
		return o.named(o.Reshape(o.ArgMax(scores, 1, false), in[:1]), labels)
	}
	var first, second []int
	for i := range n {
		for j := i + 1; j < n; j++ {
			first, second = append(first, i), append(second, j)
		}
	}
	wins, less := make([]float64, len(first)*n), make([]float64, n)
	for p := range first {
		wins[p*n+first[p]], wins[p*n+second[p]] = 1, -1
		less[second[p]]++
	}
	for i := range less {
		less[i] -= float64(n - 1)
	}
	// The earlier class of a pair wins a tie. lost is −(number of comparisons that a class loses): 0
	// for the best class only.
	won := o.Test(graph.IsNotNegative, o.Sub(o.Gather(scores, 1, first), o.Gather(scores, 1, second)))
	lost := o.Add(o.MatMul(o.Cast(won, graph.Float), o.numbers([]int{len(first), n}, wins)), o.numbers([]int{1, n}, less))
	return o.weightedBits(o.Test(graph.IsNotNegative, lost), o.Integers([]int{1, n}, labels), graph.Int64)
}

// labels returns the numbers that stand for the classes: those of the attribute or, if
// the labels are strings, their indices. Output 0 has these numbers.
func (o *op) labels(attribute string) []int64 {
	labels, names := o.intsAttr(attribute), o.strings("classlabels_strings")
	if len(labels) == 0 {
		labels = upTo(0, int64(len(names)))
		if o.wanted(0) && len(names) > 0 {
			o.labelled(0, names)
		}
	}
	o.failIf(len(labels) == 0, "has no classes")
	return labels
}

// named replaces indices of classes, of shape [rows], by the labels of the classes.
func (o *op) named(class graph.Value, labels []int64) graph.Value {
	in := o.shape(class)
	if slices.Equal(labels, upTo(0, int64(len(labels)))) {
		return class
	}
	which := o.Cast(o.OneHot(o.Reshape(class, []int{in[0], 1}), 1, len(labels)), graph.Int64)
	return o.Reduce(graph.Sum, o.Mul(which, o.Integers([]int{1, len(labels)}, labels)), []int{1}, false)
}

// transformed applies a post_transform to scores of shape [rows, classes].
func (o *op) transformed(y graph.Value, how string) graph.Value {
	switch {
	case how == "NONE" || how == "":
		return y
	case o.shape(y)[1] == 1:
		o.failf("post_transform %s of one score is not well defined: ONNX Runtime leaves it out", graph.Quote(how))
	}
	switch how {
	case "LOGISTIC":
		return o.Apply(graph.FunctionNamed("Sigmoid"), y)
	case "SOFTMAX":
		return o.Softmax(y, 1)
	}
	o.failf("post_transform %s is not supported", graph.Quote(how))
	return graph.Value{}
}

// The meanings of the integers in TreeEnsemble's attributes, by index.
var (
	treeModes      = []string{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER"}
	treeAggregates = []string{"AVERAGE", "SUM", "MIN", "MAX"}
	postTransforms = []string{"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"}
)

// code returns the word whose index is an integer attribute, def if that is absent.
func (o *op) code(name string, def int64, words []string) string {
	v := o.intAttr(name, def)
	o.failIf(v < 0 || v >= int64(len(words)), "attribute %s is %d", name, v)
	return words[v]
}

func lowerTreeEnsemble(o *op) {
	x := o.rows(o.in(0))
	f := o.newForest()
	width := int(o.intAttr("n_targets", 1))
	o.failIf(width < 1 || width > 1<<16 || len(f.roots) == 0, "%d trees with %d targets", len(f.roots), width)
	y := o.aggregate(x, f, o.code("aggregate_function", 1, treeAggregates), width, nil)
	o.result(0, o.transformed(y, o.code("post_transform", 0, postTransforms)))
}

// newForest reads the nodes of TreeEnsemble. Its leaves are numbered separately; in the
// forest they come after the other nodes.
func (o *op) newForest() *forest {
	features, yes, no := o.intsAttr("nodes_featureids"), o.intsAttr("nodes_truenodeids"), o.intsAttr("nodes_falsenodeids")
	yesLeaf, noLeaf, roots := o.intsAttr("nodes_trueleafs"), o.intsAttr("nodes_falseleafs"), o.intsAttr("tree_roots")
	modes, splits := o.numbersTensor("nodes_modes"), o.tensorAttr("nodes_splits")
	targets, weights := o.intsAttr("leaf_targetids"), o.numbersAttr("leaf_weights")
	o.ignore("nodes_hitrates")
	missing := o.intsAttr("nodes_missing_value_tracks_true")
	members := o.sets("membership_values")
	n := len(features)
	o.failIf(n == 0 || modes == nil || splits == nil, "it has no nodes, or no modes or splits of them")
	o.alike("nodes", n, len(yes), len(no), len(yesLeaf), len(noLeaf), modes.Len(), splits.Len())
	o.alike("leaves", len(targets), len(weights))
	f := &forest{nodes: make([]treeNode, n, n+len(weights))}
	child := func(at, leaf int64) int {
		switch {
		case leaf == 0 && at >= 0 && at < int64(n):
			return int(at)
		case leaf != 0 && at >= 0 && at < int64(len(weights)):
			return n + int(at)
		}
		o.failf("a node numbered %d is below another one", at)
		return 0
	}
	for i := range n {
		code := int(modes.At(i))
		if code < 0 || code >= len(treeModes) {
			o.failf("node %d has mode %d", i, code)
		}
		node := treeNode{mode: treeModes[code], feature: int(features[i]), value: float32(splits.At(i)),
			yes: child(yes[i], yesLeaf[i]), no: child(no[i], noLeaf[i]), missing: i < len(missing) && missing[i] != 0}
		if node.mode == "BRANCH_MEMBER" { // it does not use the value
			o.failIf(len(members) == 0, "there are fewer sets of members than nodes that ask for them")
			node.members, members = members[0], members[1:]
		} else if node.value-node.value != 0 {
			o.failf("element %d of attribute nodes_splits is %v", i, node.value)
		}
		f.nodes[i] = node
	}
	for i, w := range weights {
		f.nodes = append(f.nodes, treeNode{mode: leafMode, weights: []leafWeight{{int(targets[i]), w}}})
	}
	f.roots = each(roots, func(r int64) int { return child(r, 0) })
	return f
}
