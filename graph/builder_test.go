package graph

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// ones makes a constant of ones.
func ones(b *Builder, shape ...int) Value {
	t := &Tensor{Shape: shape, DType: Float, F32: make([]float32, Size(shape))}
	for i := range t.F32 {
		t.F32[i] = 1
	}
	return b.Constant("", t)
}

// window is a plain window over one axis.
func window1(kernel, stride, begin, end int) Window {
	return Window{[]int{kernel}, []int{stride}, []int{1}, []int{begin}, []int{end}}
}

// TestRefused holds operations that the shape rules must refuse, and what the
// error must say. x is of shape (1, 2, 3), i an integer input, s a scalar.
func TestRefused(t *testing.T) {
	var x, i, s Value
	for name, c := range map[string]struct {
		build func(b *Builder) Value
		want  string
	}{
		"add":               {func(b *Builder) Value { return b.Add(x, ones(b, 2)) }, "do not broadcast"},
		"add of two types":  {func(b *Builder) Value { return b.Add(x, i) }, "types float and int64"},
		"function of ints":  {func(b *Builder) Value { return b.Apply(Sin, i) }, "type int64"},
		"parameters":        {func(b *Builder) Value { return b.Apply(Selu, x, 1) }, "1 parameters; 2"},
		"parameter NaN":     {func(b *Builder) Value { return b.Apply(Elu, x, math.NaN()) }, "alpha is NaN"},
		"jumps":             {func(b *Builder) Value { return b.Apply(Sign, x) }, "constants only"},
		"infinite constant": {func(b *Builder) Value { return b.Mul(x, b.Apply(Reciprocal, b.Number(0))) }, "NaN or infinite"},
		"sine of an infinity": {func(b *Builder) Value {
			return b.Apply(Sin, b.ExtendedInput("z", Float, AllNumbers, []int{2}))
		}, `input "z" is given NaN or infinite numbers, and Sin of such numbers is not supported`},
		"softmax of NaN": {func(b *Builder) Value {
			return b.Softmax(b.ExtendedInput("z", Float, AllNumbers, []int{2}), 0)
		}, "NaN or +∞"},
		"whole numbers of NaN": {func(b *Builder) Value {
			return b.Cast(b.ExtendedInput("z", Float, AllNumbers, []int{2}), Int32)
		}, "no integer stands for"},
		"number":              {func(b *Builder) Value { return b.Number(1e40) }, "constant"},
		"integers":            {func(b *Builder) Value { return b.Integers([]int{3}, []int64{1}) }, "1 elements"},
		"prelu":               {func(b *Builder) Value { return b.PRelu(x, ones(b, 2, 1, 1)) }, "slope"},
		"pow":                 {func(b *Builder) Value { return b.Pow(i, i) }, "exponent"},
		"where":               {func(b *Builder) Value { return b.Where(x, x, x) }, "condition"},
		"gemm rank":           {func(b *Builder) Value { return b.Gemm(Gemm{Alpha: 1}, x, x) }, "two axes"},
		"gemm":                {func(b *Builder) Value { return b.Gemm(Gemm{Alpha: 1}, ones(b, 2, 3), ones(b, 2, 3)) }, "multiply"},
		"matmul of a scalar":  {func(b *Builder) Value { return b.MatMul(x, s) }, "scalar"},
		"conv group":          {func(b *Builder) Value { return b.Conv(Conv{window1(2, 1, 0, 0), 2}, x, ones(b, 3, 1, 2)) }, "groups"},
		"conv kernel":         {func(b *Builder) Value { return b.Conv(Conv{window1(2, 1, 0, 0), 1}, x, ones(b, 3, 2, 3)) }, "a kernel of [2]"},
		"conv bias":           {func(b *Builder) Value { return b.Conv(Conv{window1(2, 1, 0, 0), 1}, x, ones(b, 3, 2, 2), ones(b, 2)) }, "bias"},
		"conv, much padding":  {func(b *Builder) Value { return b.Conv(Conv{window1(2, 1<<30, 1<<30, 1<<30), 1}, x, ones(b, 3, 2, 2)) }, "too large"},
		"window":              {func(b *Builder) Value { return b.MaxPool(x, Window{}) }, "entry for each"},
		"window of padding":   {func(b *Builder) Value { return b.MaxPool(x, window1(1, 1, 1, 0)) }, "all padding"},
		"stride":              {func(b *Builder) Value { return b.MaxPool(x, window1(1, 0, 0, 0)) }, "strides"},
		"pads":                {func(b *Builder) Value { return b.MaxPool(x, window1(2, 1, -1, 0)) }, "pads"},
		"kernel":              {func(b *Builder) Value { return b.MaxPool(x, window1(4, 1, 0, 0)) }, "larger"},
		"average":             {func(b *Builder) Value { return b.AveragePool(x, window1(2, 1, 0, 0), nil, nil) }, "bounds"},
		"average of padding":  {func(b *Builder) Value { return b.AveragePool(x, window1(1, 1, 1, 0), []int{0}, []int{3}) }, "all padding"},
		"reduce":              {func(b *Builder) Value { return b.Reduce(Sum, x, []int{1, 1}, true) }, "ascending"},
		"reduce axis":         {func(b *Builder) Value { return b.Reduce(Sum, x, []int{3}, true) }, "axis 3"},
		"least":               {func(b *Builder) Value { return b.Reduce(MinOf, x, []int{2}, true) }, "constants only"},
		"softmax":             {func(b *Builder) Value { return b.Softmax(x, -1) }, "axis -1"},
		"layer norm":          {func(b *Builder) Value { return b.LayerNorm(x, 2, 1e-5, ones(b, 2, 2, 3)) }, "do not fit"},
		"layer norm axis":     {func(b *Builder) Value { return b.LayerNorm(x, -1, 1e-5, ones(b, 3)) }, "axis -1"},
		"batch norm":          {func(b *Builder) Value { return b.BatchNorm(x, Statistics{x, x, x, x, 0}) }, "constant"},
		"reshape":             {func(b *Builder) Value { return b.Reshape(x, []int{5}) }, "hold the elements"},
		"reshape to negative": {func(b *Builder) Value { return b.Reshape(x, []int{-2, -3}) }, "negative"},
		"reshape, overflow":   {func(b *Builder) Value { return b.Reshape(x, []int{1 << 40, 1 << 40}) }, "large"},
		"transpose":           {func(b *Builder) Value { return b.Transpose(x, []int{0, 0, 1}) }, "permutation"},
		"slice":               {func(b *Builder) Value { return b.SliceAxis(x, 2, 1, 2, 2) }, "2 elements from 1"},
		"slice backwards":     {func(b *Builder) Value { return b.SliceAxis(x, 2, 1, -1, 3) }, "3 elements from 1"},
		"slice without step":  {func(b *Builder) Value { return b.SliceAxis(x, 2, 1, 0, 2) }, "steps of 0"},
		"slice of few":        {func(b *Builder) Value { return b.Slice(x, nil, nil, nil) }, "starts"},
		"gather":              {func(b *Builder) Value { return b.Gather(x, 2, []int{0, -2, 1}) }, "index -2"},
		"pad":                 {func(b *Builder) Value { return b.Pad(x, []int{0, 0, -2}, []int{0, 0, -2}, 0) }, "cuts"},
		"pad of few":          {func(b *Builder) Value { return b.Pad(x, nil, nil, 0) }, "pads"},
		"pad, huge":           {func(b *Builder) Value { return b.Pad(x, []int{0, 0, 1 << 40}, []int{0, 0, 0}, 0) }, "pads"},
		"reflect":             {func(b *Builder) Value { return b.PadWithin(x, 2, 3, 0, Reflect) }, "reflects"},
		"edge, huge":          {func(b *Builder) Value { return b.PadWithin(x, 2, 1<<40, 0, Edge) }, "pads"},
		"expand":              {func(b *Builder) Value { return b.Expand(x, []int{2, 1}) }, ""},
		"expand, not":         {func(b *Builder) Value { return b.Expand(x, []int{4}) }, "target"},
		"expand, huge":        {func(b *Builder) Value { return b.Expand(s, []int{1 << 30}) }, "too large"},
		"tile":                {func(b *Builder) Value { return b.Tile(x, []int{1, 2}) }, "repeats"},
		"tile, huge":          {func(b *Builder) Value { return b.Tile(x, []int{1, 1 << 20, 1 << 20}) }, "large"},
		"concat of nothing":   {func(b *Builder) Value { return b.Concat(0) }, "no inputs"},
		"concat":              {func(b *Builder) Value { return b.Concat(2, x, ones(b, 1, 1, 3)) }, "join"},
		"concat of two types": {func(b *Builder) Value { return b.Concat(2, x, i) }, "type int64"},
		"cast to few bits":    {func(b *Builder) Value { return b.Cast(x, Float8E8M0) }, "float8e8m0"},
		"cast to nothing":     {func(b *Builder) Value { return b.Cast(x, 99) }, "element type 99"},
		"cast that overflows": {func(b *Builder) Value { return b.Cast(b.Number(300), Int8) }, "fit int8"},
		"compare":             {func(b *Builder) Value { return b.Compare(Less, x, i) }, "types"},
		"and":                 {func(b *Builder) Value { return b.Compare(And, x, x) }, "not bool"},
		"fill":                {func(b *Builder) Value { return b.Fill([]int{1 << 30}, &Tensor{DType: Float, F32: []float32{0}}) }, "too large"},
		"range":               {func(b *Builder) Value { return b.Range(0, 1, 0, Float) }, "range"},
		"constant": {func(b *Builder) Value {
			return b.Constant("c", &Tensor{Shape: []int{2}, DType: Float, F32: []float32{1}})
		}, "1 elements"},
		"constant NaN": {func(b *Builder) Value {
			return b.Mul(x, b.Constant("c", &Tensor{Shape: []int{1}, DType: Float, F32: []float32{float32(math.NaN())}}))
		}, "NaN"},
		"input symbols": {func(b *Builder) Value { return b.Input("z", Float, []int{1}, "a", "b") }, "symbols"},
	} {
		b := NewBuilder("test")
		x, i, s = b.Input("x", Float, []int{1, 2, 3}), b.Input("i", Int64, []int{1, 2, 3}), b.Input("s", Float, []int{})
		b.At("", "n")
		v := c.build(b)
		b.Output("y", v)
		_, err := b.Graph()
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || b.Valid(v) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want %q", name, err, c.want)
		}
	}
}

// TestEmptyValues: what has no elements is a constant, inputs too, which a Concat leaves
// out. It may be an output, and nothing else reads it.
func TestEmptyValues(t *testing.T) {
	b := NewBuilder("test")
	x := b.Input("x", Float, []int{2, 3})
	nothing := b.Apply(Relu, b.Mul(b.SliceAxis(x, 1, 3, 1, 0), b.number("two", 2)))
	if e := b.Tensor(nothing); e == nil || e.Len() != 0 || !slices.Equal(b.Shape(nothing), []int{2, 0}) {
		t.Fatalf("no columns have shape %v and are %v", b.Shape(nothing), e)
	}
	b.Output("y", b.Concat(1, nothing, x, nothing))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(g.Shapes["y"], []int{2, 3}) {
		t.Errorf("with nothing at both ends: shape %v", g.Shapes["y"])
	}
	b = NewBuilder("test")
	b.Output("y", b.SliceAxis(b.Input("x", Float, []int{2, 3}), 0, 0, 1, 0))
	z := b.Input("z", Int64, []int{0, 4})
	b.Output("z", z)
	b.Output("sum", b.Add(b.ReduceProd(z, []int{0}, false), b.Input("v", Int64, []int{4})))
	if g, err = b.Graph(); err == nil {
		err = g.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	run, err := g.RunFloat([][]float64{{1, 2, 3, 4, 5, 6}, {}, {1, 2, 3, 4}})
	if err != nil || len(run["y"]) != 0 || len(run["z"]) != 0 || !slices.Equal(run["sum"], []float64{2, 3, 4, 5}) {
		t.Errorf("outputs %v %v %v of shapes %v, %v", run["y"], run["z"], run["sum"], g.Shapes, err)
	}
	for _, n := range g.Nodes {
		if n.Op == Add {
			n.Inputs[1], g.Shapes[n.Output] = "z", []int{0, 4}
		}
	}
	if err := g.Validate(); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("a sum of nothing: %v", err)
	}
}

// TestFailedValues: what depends on a failed node is no error of its own, whatever
// the operation.
func TestFailedValues(t *testing.T) {
	b := NewBuilder("test")
	x := b.Input("x", Float, []int{1, 2, 3})
	b.At("Bad", "n")
	bad := b.Reshape(x, []int{7})
	b.At("", "after")
	for i, v := range []Value{
		b.Add(x, bad), b.Div(bad, x), b.Max(bad, x), b.Min(x, bad), b.Pow(bad, x), b.PRelu(x, bad), b.Mod(bad, bad, true),
		b.Apply(Relu, bad), b.Clip(bad, 0, 1), b.Compare(Less, bad, x), b.Not(bad), b.Where(bad, x, x),
		b.Gemm(Gemm{}, bad, x), b.Gemm(Gemm{}, x, x, bad), b.MatMul(x, bad), b.Conv(Conv{}, x, bad), b.BatchNorm(bad, Statistics{}),
		b.MaxPool(bad, Window{}), b.AveragePool(bad, Window{}, nil, nil), b.Reduce(Mean, bad, []int{0}, true), b.Softmax(bad, 0),
		b.LayerNorm(bad, 0, 0, x), b.Reshape(bad, []int{1}), b.Cast(bad, Float), b.Transpose(bad, nil), b.Slice(bad, nil, nil, nil),
		b.SliceAxis(bad, 0, 0, 1, 1), b.Gather(bad, 0, []int{0}), b.Pad(bad, nil, nil, 0), b.PadWithin(bad, 0, 0, 0, Edge),
		b.Expand(bad, nil), b.Tile(bad, nil), b.Concat(0, x, bad),
	} {
		if b.Valid(v) {
			t.Errorf("operation %d gives a value", i)
		}
	}
	b.Output("y", bad)
	_, err := b.Graph()
	if nodes, ok := err.(NodesError); !ok || len(nodes) != 1 || nodes[0].Op != "Bad" || nodes[0].Name != "n" {
		t.Errorf("got %v", err)
	}
}

func TestGraphRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		build func(b *Builder, x Value)
		want  string
	}{
		"no outputs":  {func(b *Builder, x Value) {}, "no outputs"},
		"two inputs":  {func(b *Builder, x Value) { b.Output("y", b.Input("x", Float, []int{1})) }, "two inputs"},
		"two outputs": {func(b *Builder, x Value) { b.Output("y", x); b.Output("y", b.Apply(Relu, x)) }, "two outputs"},
		"two values": {func(b *Builder, x Value) {
			b.Rename(b.Apply(Relu, x), "x")
			b.Output("y", b.Add(x, b.Mul(x, Value{b.values[1]})))
		}, "two values"},
	} {
		b := NewBuilder("test")
		c.build(b, b.Input("x", Float, []int{2}))
		if _, err := b.Graph(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// TestNames: outputs are nodes of their own, names are those asked for.
func TestNames(t *testing.T) {
	b := NewBuilder("test")
	x := b.Input("x", Float, []int{2})
	c := ones(b, 2)
	r := b.Apply(Relu, x)
	b.At("Two", "n")
	s := b.Add(b.Apply(Abs, r), b.Apply(Abs, r))
	b.Rename(s, "sum")
	b.Rename(s, "again")
	b.Rename(r, "earlier")
	b.Output("y", s)
	b.Output("z", s)
	b.Output("x", x)
	b.Output("x2", x)
	b.Output("c", c)
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Validate(); err != nil {
		t.Error(err)
	}
	var names []string
	for _, n := range g.Nodes {
		names = append(names, Kind(n.Op)+" "+n.Name+" "+strings.Join(n.Inputs, ",")+" "+n.Output)
	}
	want := []string{
		"Relu Relu x Relu", "Abs n/Abs Relu n/Abs", "Abs n/Abs_2 Relu n/Abs_2", "Add n n/Abs,n/Abs_2 y",
		"Identity z y z", "Identity x2 x x2", "Identity c value c",
	}
	if !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	if !slices.Equal(g.Outputs, []string{"y", "z", "x", "x2", "c"}) {
		t.Errorf("outputs %q", g.Outputs)
	}
}

// TestNothingToDo: operations that do nothing leave no node.
func TestNothingToDo(t *testing.T) {
	b := NewBuilder("test")
	x := b.Input("x", Float, []int{2, 3})
	for i, v := range []Value{
		b.Reshape(x, []int{2, 3}), b.Transpose(x, []int{0, 1}), b.Slice(x, []int{0, 0}, []int{1, 1}, []int{2, 3}), b.Gather(x, 1, []int{0, 1, 2}),
		b.Pad(x, []int{0, 0}, []int{0, 0}, 1), b.Expand(x, []int{3}), b.Tile(x, []int{1, 1}), b.Concat(1, x), b.Cast(x, Double),
		b.Clip(x, math.Inf(-1), math.Inf(1)), b.Pow(x, b.Number(1)), b.Reduce(Sum, x, nil, true),
	} {
		if v != x {
			t.Errorf("operation %d makes something", i)
		}
	}
}

// An outline may have values that no run holds; a run of it is refused.
func TestOutline(t *testing.T) {
	build := func(n int, outline bool) (*Graph, error) {
		b := NewBuilder("")
		if outline {
			b.Outline()
		}
		x := b.Input("x", Float, []int{n, 1})
		b.Output("y", b.MatMul(x, b.Transpose(x, []int{1, 0})))
		return b.Graph()
	}
	const n = 1 << 15
	if _, err := build(n, false); err == nil {
		t.Error("a value of 2^30 elements")
	}
	g, err := build(n, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.RunFloat([][]float64{make([]float64, n)}); err == nil || !strings.Contains(err.Error(), "a run computes") {
		t.Errorf("a run of it: %v", err)
	}
	if _, err := build(1<<18+1, true); err == nil {
		t.Error("a value of more than 2^36 elements")
	}
	if g, err = build(9, true); err == nil {
		_, err = g.RunFloat([][]float64{make([]float64, 9)})
	}
	if err != nil {
		t.Error(err)
	}
}

// TestVisitFloat sees all values of a run, of which only those that something will read
// are kept.
func TestVisitFloat(t *testing.T) {
	b := NewBuilder("chain")
	x := b.Input("x", Float, []int{4})
	b.Mul(x, x) // which nothing reads
	y := x
	for range 6 {
		y = b.Add(y, y)
	}
	b.Output("twice", b.Sub(y, x))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	in := [][]float64{{1, -2, 3, 0.5}}
	want, err := g.RunFloat(in)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]float64{}
	if err := g.VisitFloat(in, func(name string, values []float64) { got[name] = values }); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) || len(got) != len(g.Nodes)+1 {
		t.Errorf("%v, not %v", got, want)
	}
	if n := g.Alive(); n != 8 {
		t.Errorf("%d elements of %d are in memory at a time, not those of two values", n, g.activations())
	}
	large := *g
	large.Shapes = map[string][]int{}
	for name := range g.Shapes {
		large.Shapes[name] = []int{MaxActivations/2 + 1}
	}
	if err := large.VisitFloat(in, nil); err == nil || !strings.Contains(err.Error(), "elements in memory") {
		t.Errorf("a run of two large values at a time: %v", err)
	}
}

// One value has at most MaxActivations elements, and all together have MaxComputed.
func TestMostComputed(t *testing.T) {
	b := NewBuilder("large")
	x := b.Expand(b.Input("x", Float, []int{MaxInput, 1}), []int{MaxInput, MaxActivations / MaxInput})
	for range MaxComputed/MaxActivations - 2 {
		x = b.Apply(Relu, x)
	}
	if len(b.errs) > 0 {
		t.Fatal(b.errs)
	}
	b.Apply(Relu, x) // and the input: more than there may be
	if err := b.errs; len(err) != 1 || !strings.Contains(err[0].Error(), "all together") {
		t.Errorf("%d elements and more: %v", MaxComputed, err)
	}
	b = NewBuilder("larger")
	b.Expand(b.Input("x", Float, []int{1}), []int{MaxActivations + 1})
	if len(b.errs) != 1 {
		t.Errorf("a value of %d elements", MaxActivations+1)
	}
}
