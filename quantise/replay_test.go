package quantise

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/fixed"
	"github.com/prove-model/prove-model/quantise/internal/networks"

	static "github.com/prove-model/prove-model/prover/circuit/bounds"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// columns are the values of all fixed tensors.
func columns(m *Model) map[model.TensorID][]int32 {
	c := map[model.TensorID][]int32{}
	for id, w := range m.Weights {
		if w != nil {
			c[model.TensorID(id)] = slices.Clone(ints.All(w)) // tests change them
		}
	}
	return c
}

// arguments makes the blocks of a model again.
func arguments(t interface {
	Helper()
	Fatal(...any)
}, m *Model) (list []*static.Argument) {
	t.Helper()
	g, batch := m.Graph, 1
	if s := g.Instance.Sizes; len(s) > 0 {
		// In one of a size of 1 axes of that size are not told from others.
		batch = max(s[0], 2)
		of, err := m.At(model.Instance{Sizes: []int{batch}})
		if err != nil {
			t.Fatal(err)
		}
		g = of.Graph
	}
	c := fixed.NewColumns(columns(m))
	for i := range m.Blocks {
		a, _, err := m.Blocks[i].Replay(g, batch, c)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	return list
}

// Blocks are made again in every mode, also where the whole model, of which the block is a small
// part, decides how: in a small one a large table of a range costs more than two limbs.
func TestReplayInEveryMode(t *testing.T) {
	for name, layer := range map[string]func(n *networks.Network, x graph.Value) graph.Value{
		"Softmax": func(n *networks.Network, x graph.Value) graph.Value { return n.Softmax(x, 1) },
		"norm": func(n *networks.Network, x graph.Value) graph.Value {
			return n.Norm(graph.Norm{Axes: []int{1}, Epsilon: 1e-6}, x)
		},
		"LayerNorm": func(n *networks.Network, x graph.Value) graph.Value {
			return n.Norm(graph.Norm{Axes: []int{1}, Centred: true, Epsilon: 1e-5}, x)
		},
		"imprecise": func(n *networks.Network, _ graph.Value) graph.Value { // so that tables are as large as they may be
			x := n.Apply(graph.Tanh, n.Softmax(n.In[0], 1))
			for range 2 {
				x = n.Sub(x, n.Reduce(graph.Mean, x, []int{1}, true))
			}
			return x
		},
		"power": func(n *networks.Network, x graph.Value) graph.Value {
			return n.LogPower(graph.LogPower{Epsilon: 1e-9}, x)
		},
	} {
		for _, mode := range []string{"auto", "w8a8", "exact"} {
			for _, width := range []int{3, 40} {
				const rows = 3
				n := networks.New([]int{rows, width})
				g := n.WithOutput(t, layer(&n, n.Apply(graph.Tanh, n.In[0])))
				x := make([]float64, rows*width)
				rng := rand.New(rand.NewPCG(1, 2))
				for i := range x {
					x[i] = rng.NormFloat64()
				}
				values, err := g.RunFloat([][]float64{x})
				if err != nil {
					t.Fatal(err)
				}
				m, err := Quantise(g, Ranges(values), Options{Mode: mode})
				if err != nil {
					t.Fatal(name, mode, err)
				}
				c := fixed.NewColumns(columns(m))
				for i := range m.Blocks {
					if _, _, err := m.Blocks[i].Replay(m.Graph, 1, c); err != nil {
						t.Errorf("%s of rows of %d, %s: %v", name, width, mode, err)
					}
				}
				if len(m.Blocks) == 0 {
					t.Errorf("%s: no block", name)
				}
			}
		}
	}
}

// checkBounds checks that the bounds of a model follow from its circuit and the sums of
// its weights, and that they hold in a run.
func checkBounds(t interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}, m *Model, w *forward.Witness) {
	t.Helper()
	list := arguments(t, m)
	all, err := static.Intervals(m.Graph, static.Measure(m.Graph, m.Weights), list...)
	if err != nil && notShown[m.Graph.Name] {
		return
	}
	if err != nil {
		t.Fatal(m.Graph.Name, ": ", err)
	}
	counts := map[model.TensorID]bool{}
	for _, x := range m.Graph.Mults {
		counts[x.Tensor] = true
	}
	for id, in := range all {
		if counts[model.TensorID(id)] {
			continue
		}
		for i, x := range w.Tensor(model.TensorID(id)) {
			if int64(x) < in.Min || int64(x) > in.Max {
				t.Fatalf("tensor %d %q: entry %d is %d, outside of [%d, %d]", id, m.Graph.Tensors[id].Name, i, x, in.Min, in.Max)
			}
		}
	}
	for _, a := range list {
		for id, most := range a.RowSums {
			row := m.Graph.Tensors[id].Shape
			for r := range slices.Chunk(w.Tensor(id), row[len(row)-1]) {
				sum := int64(0)
				for _, x := range r {
					sum += max(int64(x), -int64(x))
				}
				if sum > most {
					t.Fatalf("a row of %q sums up to %d, more than %d", m.Graph.Tensors[id].Name, sum, most)
				}
			}
		}
		if len(a.Products) == 0 {
			continue
		}
		// Entry by entry: the products of a norm do not sum.
		shape := m.Graph.Tensors[a.Products[0].A].Shape
		sums := make([]int64, model.Size(shape))
		for _, p := range a.Products {
			x, y := w.Tensor(p.A), w.Tensor(p.B)
			v := fixed.LabelView(p.LabelsB, shape)
			factor := make([]int64, len(sums))
			v.Accumulate(factor, p.Coef, ints.Int32s(y), m.Graph.Tensors[p.B].Shape, shape)
			for i := range sums {
				sums[i] += factor[i] * int64(x[i])
			}
		}
		for i, x := range sums {
			if x < a.Sum.Min || x > a.Sum.Max {
				t.Fatalf("entry %d of a norm is %d, outside of [%d, %d]", i, x, a.Sum.Min, a.Sum.Max)
			}
		}
	}
}

// blocks is a model with a block of each kind.
func blocks(t *testing.T) *Model {
	rng := rand.New(rand.NewPCG(3, 1))
	n := networks.New([]int{1, 4, 80})
	y := n.Normed(n.In[0], rng)
	y = n.Attention(y, 2, rng)
	y = n.LogPower(graph.LogPower{Epsilon: 1e-6}, y)
	g := n.WithOutput(t, y)
	x := make([]float64, 320)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	m, _, _, _ := run(t, g, [][]float64{x}, Options{})
	kinds := map[fixed.BlockKind]bool{}
	for _, b := range m.Blocks {
		kinds[b.Kind] = true
	}
	if len(kinds) != 4 {
		t.Fatalf("blocks %v", m.Blocks)
	}
	return m
}

// altered are accumulators that are not quite the one given: other coefficients, sources, views,
// products and labels, term by term.
func altered(acc *model.Acc) map[string]model.Acc {
	list := map[string]model.Acc{}
	for i := range acc.Linear {
		for what, change := range map[string]func(l *model.Linear){
			"coefficient": func(l *model.Linear) { l.Coef = -l.Coef },
			"source":      func(l *model.Linear) { l.Src ^= 1 },
			"view": func(l *model.Linear) {
				if l.View == nil {
					l.View = &model.View{}
					return
				}
				v := model.View{Groups: slices.Clone(l.View.Groups), Fill: l.View.Fill}
				v.Groups[len(v.Groups)-1].Base++
				l.View = &v
			},
			"fill": func(l *model.Linear) {
				v := model.View{Fill: 1}
				if l.View != nil {
					v.Groups = l.View.Groups
				}
				l.View = &v
			},
		} {
			a := *acc
			a.Linear = slices.Clone(a.Linear)
			change(&a.Linear[i])
			list[fmt.Sprintf("%s of term %d", what, i)] = a
		}
	}
	for i := range acc.Products {
		for what, change := range map[string]func(p *model.Product){
			"coefficient": func(p *model.Product) { p.Coef++ },
			"operand":     func(p *model.Product) { p.B ^= 1 },
			"labels": func(p *model.Product) {
				p.LabelsB = slices.Clone(p.LabelsB)
				p.LabelsB[len(p.LabelsB)-1]++
			},
		} {
			a := *acc
			a.Products = slices.Clone(a.Products)
			change(&a.Products[i])
			list[fmt.Sprintf("%s of product %d", what, i)] = a
		}
	}
	if n := len(acc.Linear); n > 1 {
		a := *acc
		a.Linear = a.Linear[:n-1]
		list["a term less"] = a
	}
	return list
}

// What is not as the blocks have it is found.
func TestReplayRefuses(t *testing.T) {
	m := blocks(t)
	arguments(t, m)
	all := fixed.NewColumns(columns(m))
	for i := range m.Blocks {
		b := &m.Blocks[i]
		a, used, err := b.Replay(m.Graph, 1, all)
		if err != nil {
			t.Fatal(err)
		}
		refused := func(what string, g *model.Graph, b fixed.Block, c *fixed.Columns) {
			t.Helper()
			if _, _, err := b.Replay(g, 1, c); !errors.Is(err, fixed.ErrOtherSteps) {
				t.Errorf("block %d, %s: error %v", i, what, err)
			}
		}
		for s := a.From; s < a.To; s++ {
			for what, change := range altered(&m.Graph.Steps[s].Acc) {
				g := *m.Graph
				g.Steps = slices.Clone(g.Steps)
				g.Steps[s].Acc = change
				refused(what, &g, *b, all)
			}
			if id := m.Graph.Steps[s].Table; id != model.None {
				for what, change := range map[string]func(t *model.Table){
					"first key":  func(t *model.Table) { t.Min++ },
					"table kind": func(t *model.Table) { t.Kind ^= 1 },
					"bits":       func(t *model.Table) { t.Bits-- },
					"pieces": func(t *model.Table) {
						if t.Kind != model.TableFunc { // which has none
							t.Pieces = append([]model.Piece{{End: 1, Offset: 1}}, t.Pieces...)
						} else {
							t.Values--
						}
					},
				} {
					g := *m.Graph
					g.Tables = slices.Clone(g.Tables)
					change(&g.Tables[id])
					refused(what+" of a table", &g, *b, all)
				}
			}
			for what, change := range map[string]func(s *model.Step){
				"constant": func(s *model.Step) { s.Acc.Const++ },
				"kind":     func(s *model.Step) { s.Kind ^= 1 },
				"shift":    func(s *model.Step) { s.Shift++ },
				"table":    func(s *model.Step) { s.Table++ },
				"out":      func(s *model.Step) { s.Out++ },
				"low bits": func(s *model.Step) { s.Lo++ },
				"divisor":  func(s *model.Step) { s.Den++ },
				"shape":    func(s *model.Step) { s.Shape = append(slices.Clone(s.Shape), 1) },
				"terms":    func(s *model.Step) { s.Acc.Linear = append(slices.Clone(s.Acc.Linear), model.Linear{}) },
			} {
				g := *m.Graph
				g.Steps = slices.Clone(g.Steps)
				change(&g.Steps[s])
				refused(what, &g, *b, all)
			}
		}
		for id := range a.Results {
			g := *m.Graph
			g.Tensors = slices.Clone(g.Tensors)
			tensor := &g.Tensors[id]
			if tensor.Kind == model.Virtual {
				tensor.Def = slices.Clone(tensor.Def)
				tensor.Def[0].Coef++
			} else {
				tensor.Shape = append(slices.Clone(tensor.Shape), 1)
			}
			refused("tensor", &g, *b, all)
		}
		for _, id := range used {
			c := columns(m)
			c[id][len(c[id])/2]++
			refused("column", m.Graph, *b, fixed.NewColumns(c))
			delete(c, id)
			refused("no column", m.Graph, *b, fixed.NewColumns(c))
		}
		for what, change := range map[string]func(b *fixed.Block){
			"kind":    func(b *fixed.Block) { b.Kind = 77 },
			"tensors": func(b *fixed.Block) { b.Tensors++ },
			"steps":   func(b *fixed.Block) { b.Steps++ },
			"too far": func(b *fixed.Block) { b.Steps = len(m.Graph.Steps) },
			"of":      func(b *fixed.Block) { b.Of-- },
			"nowhere": func(b *fixed.Block) { b.Tensors = 1 << 30 },
			"axes": func(b *fixed.Block) {
				b.Axes = append(slices.Clone(b.Axes), 0, 1)
				b.Labels = []int{9}
				b.Mask = 0
				b.Summed = 12
			},
		} {
			other := *b
			change(&other)
			refused(what, m.Graph, other, all)
		}
	}
}

func TestBlocksEncoding(t *testing.T) {
	m := blocks(t)
	b := fixed.AppendBlocks(nil, m.Blocks)
	got, err := fixed.ParseBlocks(b)
	if err != nil || !reflect.DeepEqual(got, m.Blocks) {
		t.Fatalf("%+v, %v, want %+v", got, err, m.Blocks)
	}
	for n := range b {
		if got, err := fixed.ParseBlocks(b[:n]); err == nil {
			t.Fatalf("%d of %d bytes give %v", n, len(b), got)
		}
	}
	if _, err := fixed.ParseBlocks(append(b, 0)); err == nil {
		t.Fatal("a byte too many")
	}
	known := fixed.NewColumns(nil)
	for range 400 {
		c := slices.Clone(b)
		c[rand.IntN(len(c))] = byte(rand.Uint32())
		if list, err := fixed.ParseBlocks(c); err == nil {
			for i := range list {
				list[i].Replay(m.Graph, 1, known) // must not fail
			}
		}
	}
}

// A wide Softmax without and with a mask, norms and powers of any rows: the bounds hold at the
// ends of the formats.
func TestBoundsAtTheEnds(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for name, build := range map[string]func(n networks.Network) graph.Value{
		"softmax": func(n networks.Network) graph.Value { return n.Softmax(n.In[0], 2) },
		"norm":    func(n networks.Network) graph.Value { return n.Normed(n.In[0], rng) },
		"power":   func(n networks.Network) graph.Value { return n.LogPower(graph.LogPower{Epsilon: 1e-9}, n.In[0]) },
		"both":    func(n networks.Network) graph.Value { return n.Attention(n.Normed(n.In[0], rng), 2, rng) },
	} {
		n := networks.New([]int{1, 5, 96})
		g := n.WithOutput(t, build(n))
		x := make([]float64, 480)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		m, _, _, _ := run(t, g, [][]float64{x}, Options{})
		in := &m.Graph.Tensors[m.Graph.Inputs[0]]
		for _, row := range []func(i int) int64{
			func(i int) int64 { return in.Max },
			func(i int) int64 { return in.Min },
			func(i int) int64 { return 0 },
			func(i int) int64 { return int64(i % 96 / 95) },
			func(i int) int64 { return []int64{in.Min, in.Max}[i%2] },
			func(i int) int64 { return []int64{0, in.Max}[i%96/95] },
			func(i int) int64 { return []int64{in.Min, in.Max}[i%96/95] },
			func(i int) int64 { return in.Min + rng.Int64N(in.Max-in.Min+1) },
			func(i int) int64 { return rng.Int64N(3) - 1 },
		} {
			v := make([]int32, len(x))
			for i := range v {
				v[i] = int32(max(row(i), in.Min))
			}
			w, err := forward.Run(t.Context(), m.Graph, m.Weights, [][]int32{v})
			if err != nil {
				t.Fatal(name, err)
			}
			checkBounds(t, m, w)
		}
	}
}

// Whatever a certificate says of blocks, and a key of the tensors that they are of, making
// the steps again ends in an answer: nothing in it panics.
func TestReplayOfNonsense(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 17))
	m := blocks(t)
	values := columns(m)
	odd := func(n int) int {
		switch rng.IntN(6) {
		case 0:
			return rng.IntN(40) - 2
		case 1:
			return -n
		case 2:
			return n + rng.IntN(5) - 2
		case 3:
			return 1 << rng.IntN(32)
		case 4:
			return math.MaxInt32 - rng.IntN(3)
		}
		return rng.IntN(1 << 12)
	}
	list := func(l []int) []int {
		l = slices.Clone(l)
		for range rng.IntN(3) {
			if len(l) > 0 && rng.IntN(2) == 0 {
				l[rng.IntN(len(l))] = odd(l[0])
			} else {
				l = append(l, odd(1))
			}
		}
		return l
	}
	refused := 0
	rounds := 1500
	if *full {
		rounds = 6000
	}
	for range rounds {
		b := m.Blocks[rng.IntN(len(m.Blocks))]
		g := *m.Graph
		for range 1 + rng.IntN(3) {
			switch rng.IntN(16) {
			case 0:
				b.Kind = fixed.BlockKind(rng.IntN(8))
			case 1:
				b.TableBits, b.ActBits = odd(b.TableBits), odd(b.ActBits)
			case 2:
				b.ActBits = rng.IntN(21)
			case 3:
				b.Of = model.TensorID(odd(int(b.Of)))
			case 4:
				b.Axes = list(b.Axes)
			case 5:
				b.Epsilon = []float64{0, math.MaxFloat32, math.Inf(1), math.NaN(), 1e-300, -1, 1}[rng.IntN(7)]
			case 6:
				b.Times = odd(b.Times)
			case 7:
				b.Mask = model.TensorID(odd(int(b.Mask)))
			case 8:
				b.Labels = list(b.Labels)
			case 9:
				b.Summed, b.Bits = odd(b.Summed), odd(b.Bits)
			case 10:
				b.Summed, b.Bits = rng.IntN(24), rng.IntN(30)
			case 11:
				b.Width, b.Entries = odd(b.Width), odd(b.Entries)
			case 12:
				b.Tensors, b.Tables, b.Steps = odd(b.Tensors), odd(b.Tables), odd(b.Steps)
			default: // the tensor
				if b.Of < 0 || int(b.Of) >= len(g.Tensors) {
					continue
				}
				g.Tensors = slices.Clone(g.Tensors)
				x := &g.Tensors[b.Of]
				x.Frac = []int{odd(x.Frac), rng.IntN(80) - 40, rng.IntN(900) - 450}[rng.IntN(3)]
				bound := int64(1) << rng.IntN(30)
				x.Min, x.Max = -rng.Int64N(bound), rng.Int64N(bound)
				if rng.IntN(3) == 0 {
					x.Shape = list(x.Shape)
					for i, d := range x.Shape {
						x.Shape[i] = d & (1<<17 - 1)
					}
				}
			}
		}
		if _, _, err := b.Replay(&g, 1, fixed.NewColumns(values)); err != nil {
			if refused++; !errors.Is(err, fixed.ErrOtherSteps) {
				t.Fatalf("%+v: %v", b, err)
			}
		}
	}
	if refused < rounds/2 {
		t.Errorf("%d of %d are refused", refused, rounds)
	}
}
