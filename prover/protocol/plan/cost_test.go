package plan

import (
	"strings"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// permuted is the view whose axis i is the source's axis order[i].
func permuted(order ...int) *model.View {
	v := &model.View{}
	for i, j := range order {
		v.Groups = append(v.Groups, model.Group{Out: []int{i}, In: []int{j}, Strides: []int{1}})
	}
	return v
}

func input(shape ...int) model.Tensor {
	return model.Tensor{Shape: shape, Kind: model.Input, Max: 1}
}

func virtual(def []model.Linear, shape ...int) model.Tensor {
	return model.Tensor{Shape: shape, Kind: model.Virtual, Max: 1, Def: def}
}

// TestCost: valid graphs on which a verifier would take hours or gigabytes.
func TestCost(t *testing.T) {
	for name, c := range map[string]struct {
		why string
		g   model.Graph
	}{
		"many large views": {"too much work", manyViews(70, 1<<20)},
		"views that double": {"too much work", chain(40, []int{2, 2, 2, 2, 2, 2, 2, 2}, func(src model.TensorID) []model.Linear {
			return []model.Linear{
				{Coef: 1, Src: src, View: permuted(1, 2, 3, 4, 5, 6, 7, 0)},
				{Coef: 1, Src: src, View: permuted(1, 0, 2, 3, 4, 5, 6, 7)}}
		})},
		"many steps":                   {"too often", manySteps(1 << 16)},
		"tensors in many blocks":       {"blocks", scattered(20)},
		"a huge input":                 {"entries", model.Graph{Tensors: []model.Tensor{input(MaxPublic + 1)}, Inputs: []model.TensorID{0}}},
		"a large input at many points": {"work", manyPoints(1<<22, 200)},
		"many formulas":                {"too much work", manyFormulas(50000)},
		"many saturated rows":          {"too many blocks", manySaturated(1 << 12)},
		"chunks without anything":      {"work", model.Graph{Tensors: []model.Tensor{input(2)}, Inputs: []model.TensorID{0}, Chunks: 1 << 16}},
	} {
		t.Run(name, func(t *testing.T) {
			g := c.g
			g.Chunks = max(g.Chunks, 1)
			g.Outputs = []model.TensorID{model.TensorID(len(g.Tensors) - 1)}
			if name == "tensors in many blocks" || name == "many saturated rows" {
				g.Outputs = g.Inputs
			}
			if err := g.Validate(); err != nil {
				t.Fatal(err)
			}
			if _, err := New(&g, soundness.DefaultConfig); err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %v, want an error about %q", err, c.why)
			}
		})
	}
}

// TestDerivedEntries: indexes into the rows of several texts, of which there is a list for each number of rows, are not so many that a
// verifier could not hold them. It holds them before anything else of the key has a cost.
func TestDerivedEntries(t *testing.T) {
	const indexes = 1 << 20
	lists := func(n int) *model.Template {
		scaled := []model.Scale{1}
		g := &model.Graph{Tensors: []model.Tensor{input(1), input(indexes)}, Inputs: []model.TensorID{0, 1}}
		g.Tensors[0].Scales, g.Tensors[1].Max = scaled, 0
		for i := range n {
			repeated := &model.View{Groups: []model.Group{{Out: []int{0}, In: []int{0}, Strides: []int{0}}}}
			picked := &model.View{Groups: []model.Group{{Out: []int{0}, In: []int{0}, Map: model.MapPublic, Ids: 1}}}
			at := model.TensorID(len(g.Tensors))
			rows := virtual([]model.Linear{{Coef: 1, Src: 0, View: repeated}}, i+1)
			rows.Scales = scaled
			g.Tensors = append(g.Tensors, rows, virtual([]model.Linear{{Coef: 1, Src: at, View: permuted(0)}}, 64),
				virtual([]model.Linear{{Coef: 1, Src: at + 1, View: picked}}, indexes))
		}
		g.Outputs = []model.TensorID{0}
		return &model.Template{Free: []model.FreeDim{{Name: "n", Bound: 1}}, Graph: g}
	}
	for n, want := range map[int]bool{16: true, 17: false} {
		g, err := lists(n).At(model.Instance{Sizes: []int{1}, Texts: 2})
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckSizes(g); (err == nil) != want {
			t.Errorf("%d lists: %v", n, err)
		}
	}
}

// TestCheapRepetition: what lies at one point is evaluated once, however often it
// is named.
func TestCheapRepetition(t *testing.T) {
	g := chain(40, []int{2, 2}, func(src model.TensorID) []model.Linear {
		return []model.Linear{{Coef: 1, Src: src, View: permuted(0, 1)}, {Coef: 1, Src: src}}
	})
	g.Chunks, g.Outputs = 1, []model.TensorID{40}
	p, err := New(&g, soundness.DefaultConfig)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(p.Forks[1].Nodes); n != 41 {
		t.Errorf("%d values for 41 tensors", n)
	}
}

// manyViews is a sum of n sums of an axis, each without its first entries.
func manyViews(n, dim int) model.Graph {
	g := model.Graph{Tensors: []model.Tensor{input(dim)}, Inputs: []model.TensorID{0}}
	var sum []model.Linear
	for i := range n {
		g.Tensors = append(g.Tensors, virtual([]model.Linear{{Coef: 1, View: &model.View{Groups: []model.Group{{In: []int{0}, Base: i, Sum: []model.SumIndex{{Dim: dim, Stride: 1}}}}}}}))
		sum = append(sum, model.Linear{Coef: 1, Src: model.TensorID(i + 1)})
	}
	g.Tensors = append(g.Tensors, virtual(sum))
	return g
}

// manySteps copies an input n times.
func manySteps(n int) model.Graph {
	g := model.Graph{Tensors: []model.Tensor{input(1)}, Inputs: []model.TensorID{0}}
	for i := range n {
		g.Tensors = append(g.Tensors, model.Tensor{Shape: []int{1}, Kind: model.Witness, Max: 1})
		g.Steps = append(g.Steps, model.Step{Kind: model.StepExact, Shape: []int{1}, Out: model.TensorID(i + 1),
			Acc: model.Acc{Linear: []model.Linear{{Coef: 1}}}, Lo: model.None, Den: model.None, Table: model.None})
	}
	return g
}

// manyFormulas is a sum of n matrices by formula.
func manyFormulas(n int) model.Graph {
	g := model.Graph{Tensors: []model.Tensor{input(1)}, Inputs: []model.TensorID{0}}
	var sum []model.Linear
	for i := range n {
		g.Tensors = append(g.Tensors, model.Tensor{Shape: []int{4, 4}, Kind: model.ByFormula, Max: 1, Formula: &model.Formula{Offset: int64(i)}})
		sum = append(sum, model.Linear{Coef: 1, Src: model.TensorID(i + 1)})
	}
	g.Tensors = append(g.Tensors, virtual(sum, 4, 4))
	return g
}

// manySaturated looks up in n tables with as many marks as there may be, in blocks as
// small as there are.
func manySaturated(n int) model.Graph {
	g := model.Graph{Tensors: []model.Tensor{input(1), {Shape: []int{1 << 9}, Kind: model.Fixed, Max: 1}}, Inputs: []model.TensorID{0}}
	table := model.Table{Kind: model.TableFunc, Bits: 9, Values: 1}
	for i := range int64(model.MaxSaturated) {
		table.Saturated = append(table.Saturated, model.Rows{From: 8*i + 1, To: 8*i + 7})
	}
	for i := range n {
		g.Tables = append(g.Tables, table)
		g.Tensors = append(g.Tensors, model.Tensor{Shape: []int{1}, Kind: model.Witness, Max: 1})
		g.Steps = append(g.Steps, model.Step{Shape: []int{1}, Acc: model.Acc{Linear: []model.Linear{{Coef: 1}}}, Table: model.TableID(i),
			Out: model.TensorID(i + 2), Lo: model.None, Den: model.None})
	}
	for i := range n {
		g.Mults = append(g.Mults, model.Mult{Table: model.TableID(i), Tensor: model.TensorID(len(g.Tensors))})
		g.Tensors = append(g.Tensors, model.Tensor{Shape: []int{1 << 9}, Kind: model.Witness, Max: 1})
	}
	return g
}

// manyPoints is a sum of an input of n entries, reversed time and again.
func manyPoints(n, times int) model.Graph {
	reversed := &model.View{Groups: []model.Group{{Out: []int{0}, In: []int{0}, Base: n / 2, Strides: []int{1}}}}
	g := model.Graph{Tensors: []model.Tensor{input(n)}, Inputs: []model.TensorID{0}}
	for range times {
		g.Tensors = append(g.Tensors, virtual([]model.Linear{{Coef: 1}, {Coef: 1, Src: model.TensorID(len(g.Tensors) - 1), View: reversed}}, n))
	}
	return g
}

// chain defines n tensors upon each other.
func chain(n int, shape []int, def func(src model.TensorID) []model.Linear) model.Graph {
	g := model.Graph{Tensors: []model.Tensor{input(shape...)}, Inputs: []model.TensorID{0}}
	for i := range n {
		g.Tensors = append(g.Tensors, virtual(def(model.TensorID(i)), shape...))
	}
	return g
}

// scattered has n committed tensors of 2^16 blocks each.
func scattered(n int) model.Graph {
	g := model.Graph{Tensors: []model.Tensor{input(1)}, Inputs: []model.TensorID{0}}
	for range n {
		g.Tensors = append(g.Tensors, model.Tensor{Shape: []int{15, 15, 15, 15, 15, 15, 15, 15}, Kind: model.Fixed, Max: 1})
	}
	return g
}
