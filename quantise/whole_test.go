package quantise

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/quantise/internal/networks"
)

// TestWholeNumbersStay has whole numbers, such as labels, chosen, moved, multiplied and
// added up: a label is not to come out as another one.
func TestWholeNumbersStay(t *testing.T) {
	ints := func(n networks.Network, v ...int64) graph.Value { return n.Integers([]int{len(v)}, v) }
	for name, of := range map[string]func(n networks.Network, bits graph.Value) graph.Value{
		"labels": func(n networks.Network, bits graph.Value) graph.Value {
			return n.Reduce(graph.Sum, n.Mul(n.Cast(bits, graph.Int64), ints(n, 1001, 20003, 77777)), []int{1}, false)
		},
		"negative labels": func(n networks.Network, bits graph.Value) graph.Value {
			return n.Reduce(graph.Sum, n.Mul(n.Cast(bits, graph.Int64), ints(n, -1001, 99999, 3)), []int{1}, false)
		},
		"one number": func(n networks.Network, bits graph.Value) graph.Value {
			return n.Mul(n.Cast(bits, graph.Int64), ints(n, 77777))
		},
		"moved": func(n networks.Network, bits graph.Value) graph.Value {
			return n.Add(n.Mul(n.Cast(bits, graph.Int64), ints(n, 1001, 2002, 3003)), ints(n, 10001))
		},
		"moved by several": func(n networks.Network, bits graph.Value) graph.Value {
			return n.Sub(n.Cast(bits, graph.Int64), ints(n, 10001, 20001, -33331))
		},
		"chosen": func(n networks.Network, bits graph.Value) graph.Value {
			return n.Where(bits, ints(n, 1001, 2003, 5), ints(n, 7777))
		},
		"chosen and moved": func(n networks.Network, bits graph.Value) graph.Value {
			return n.Where(bits, n.Mul(n.Cast(bits, graph.Int64), ints(n, 10001, 20003, 5)), ints(n, 7777))
		},
		"greatest": func(n networks.Network, bits graph.Value) graph.Value {
			return n.ReduceMax(n.Mul(n.Cast(bits, graph.Int64), ints(n, 10001, 20003, 77777)), []int{1}, false)
		},
		"taken": func(n networks.Network, bits graph.Value) graph.Value {
			one := n.ArgMax(n.Mul(n.Cast(bits, graph.Int64), ints(n, 3, 2, 1)), 1, false)
			return n.Reduce(graph.Sum, n.Mul(n.Cast(n.OneHot(one, 1, 3), graph.Int64), ints(n, 10001, 20003, 77777)), []int{1}, false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, o := range []Options{{}, {Mode: "w8a8"}} {
				n := networks.New([]int{4, 3})
				g := n.WithOutput(t, of(n, n.Test(graph.IsPositive, n.In[0])))
				if _, _, got, want := run(t, g, [][]float64{{1, -1, -1, 1, 1, -1, -1, 1, 1, -1, -1, -1}}, o); !slices.Equal(got[0], want[0]) {
					t.Errorf("%v, not %v", got[0], want[0])
				}
			}
		})
	}
}

// TestWholeRowsStay reads rows of whole numbers.
func TestWholeRowsStay(t *testing.T) {
	for _, o := range []Options{{}, {Mode: "w8a8"}} {
		b := graph.NewBuilder("rows")
		ids := b.Input("ids", graph.Int64, []int{4})
		b.Output("y", b.Take(b.Integers([]int{3}, []int64{10001, -20003, 777777}), 0, ids))
		g, err := b.Graph()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, got, want := run(t, g, [][]float64{{0, 1, 2, 1}}, o); !slices.Equal(got[0], want[0]) {
			t.Errorf("%v, not %v", got[0], want[0])
		}
	}
}

// TestWholeNumbersWithoutRoom: what does not fit is refused, not rounded.
func TestWholeNumbersWithoutRoom(t *testing.T) {
	n := networks.New([]int{1, 100})
	labels := make([]int64, 100)
	for i := range labels {
		labels[i] = int64(20_000_003 + i)
	}
	bits := n.Cast(n.Test(graph.IsPositive, n.In[0]), graph.Int64)
	g := n.WithOutput(t, n.Reduce(graph.Sum, n.Mul(bits, n.Integers([]int{100}, labels)), []int{1}, false))
	x := make([]float64, 100)
	x[7] = 1
	values, err := g.RunFloat([][]float64{x})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Quantise(g, Ranges(values), Options{}); err == nil || !strings.Contains(err.Error(), "its integers may be as large as 2000010200") {
		t.Errorf("got %v", err)
	}
}

// TestWholeQuotients: whole parts of numbers over a constant are those of the float model, at the multiples of the constant as well
// as between them, and the same with a reciprocal, of either sign.
func TestWholeQuotients(t *testing.T) {
	for _, c := range []float64{3, 5, 7, 10, 12, 60, 365, 0.1, 1.5, -10, -0.3, 8} {
		for _, dt := range []graph.DType{graph.Float, graph.Int32} {
			b := graph.NewBuilder("quotients")
			x := b.Cast(b.Input("x", dt, []int{3, 67}), graph.Float)
			y := func() graph.Value { return b.Div(x, b.Number(c)) }
			b.Output("floor", b.Apply(graph.Floor, y()))
			b.Output("ceil", b.Apply(graph.Ceil, y()))
			b.Output("cast", b.Cast(y(), graph.Int32))
			b.Output("twice", b.Apply(graph.Floor, b.Mul(b.Mul(x, b.Number(0.5)), b.Number(0.2))))
			g, err := b.Graph()
			if err != nil {
				t.Fatal(err)
			}
			in := make([]float64, 201)
			for i := range in {
				if in[i] = float64(i-100) * math.Ceil(math.Abs(c)); i%3 == 1 {
					in[i]++
				}
			}
			for _, mode := range []string{"auto", "w8a8", "exact"} {
				if mode != "auto" && dt == graph.Float { // inputs have too few bits for whole numbers
					continue
				}
				_, _, got, want := run(t, g, [][]float64{in}, Options{Mode: mode})
				for j, v := range in {
					if c == math.Trunc(c) && (want[0][j] != math.Floor(v/c) || want[1][j] != math.Ceil(v/c) || want[2][j] != math.Trunc(v/c)) {
						t.Fatalf("whole parts of %v/%v are %v, %v and %v in the float model", v, c, want[0][j], want[1][j], want[2][j])
					}
				}
				for i, name := range g.Outputs {
					for j, v := range got[i] {
						if v != want[i][j] {
							t.Errorf("%v, %s, %s of %v/%v is %v, not %v", dt, mode, name, in[j], c, v, want[i][j])
							break
						}
					}
				}
			}
		}
	}
}
