package model

import (
	"slices"
	"testing"
	"time"
)

// Public indexes are held against the entries that are there at the sizes of a proof, however a tensor was made longer.
func TestCheckIds(t *testing.T) {
	const free = Scale(1)
	same := func(base int) *View {
		return &View{Groups: []Group{{Out: []int{0}, In: []int{0}, Base: base, Strides: []int{1}}}}
	}
	pick := func(src TensorID) Tensor {
		return virtual([]Linear{{Coef: 1, Src: src, View: &View{Groups: []Group{{Out: []int{0}, In: []int{0}, Map: MapPublic, Ids: 2}}}}}, 1)
	}
	for name, c := range map[string]struct {
		terms []Linear // of a tensor of 8 entries, of which one is picked
		most  int32    // the greatest index that is there, of x with 3 entries
	}{
		"longer than x":             {[]Linear{{Coef: 1, Src: 0, View: same(0)}}, 2},
		"longer than y":             {[]Linear{{Coef: 1, Src: 1, View: same(0)}}, 7}, // a pad of the model's own
		"longer than x and y":       {[]Linear{{Coef: 1, Src: 0, View: same(0)}, {Coef: 1, Src: 1, View: same(0)}}, 4},
		"x moved, whatever that is": {[]Linear{{Coef: 1, Src: 0, View: same(-2)}}, 7},
	} {
		g := &Graph{
			Tensors: []Tensor{
				{Name: "x", Shape: []int{1}, Scales: []Scale{free}, Kind: Input, Max: 1},
				{Name: "y", Shape: []int{5}, Kind: Input, Max: 1},
				{Name: "at", Shape: []int{1}, Kind: Input, Max: 7},
				virtual(c.terms, 8),
				virtual([]Linear{{Coef: 2, Src: 3}}, 8),
				pick(4),
			},
			Inputs: []TensorID{0, 1, 2}, Outputs: []TensorID{5},
		}
		template := &Template{Free: []FreeDim{{"length", 8}}, Graph: g}
		if _, err := template.At(Instance{Sizes: []int{3}}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for at := range int32(8) {
			err := template.CheckIds([]int{3}, [][]int32{{0, 0, 0}, {0, 0, 0, 0, 0}, {at}})
			if (err == nil) != (at <= c.most) {
				t.Errorf("%s, index %d: %v", name, at, err)
			}
		}
	}
}

// A tensor that is made of itself twice, over and over, is looked at once.
func TestCheckIdsOfManySums(t *testing.T) {
	const deep = 200
	g := &Graph{Tensors: []Tensor{
		{Name: "x", Shape: []int{1}, Scales: []Scale{1}, Kind: Input, Max: 1},
		{Name: "at", Shape: []int{1}, Kind: Input, Max: 7},
	}, Inputs: []TensorID{0, 1}}
	for i := range deep {
		src := TensorID(i + 1)
		if i == 0 {
			src = 0
		}
		v := &View{Groups: []Group{{Out: []int{0}, In: []int{0}, Strides: []int{1}}}}
		g.Tensors = append(g.Tensors, virtual([]Linear{{Coef: 1, Src: src, View: v}, {Coef: 1, Src: src, View: v}}, 8))
	}
	g.Tensors = append(g.Tensors, virtual([]Linear{{Coef: 1, Src: deep + 1, View: &View{Groups: []Group{{Out: []int{0}, In: []int{0}, Map: MapPublic, Ids: 1}}}}}, 1))
	template := &Template{Free: []FreeDim{{"length", 8}}, Graph: g}
	if err := template.CheckIds([]int{3}, [][]int32{{0, 0, 0}, {3}}); err == nil {
		t.Error("an index behind the end is accepted")
	}
}

// Many views that are wired by one input of many entries cost what the views and the entries do, not their product.
func TestCheckIdsOfManyViews(t *testing.T) {
	const entries, views = 1 << 21, 2000
	g := &Graph{Tensors: []Tensor{
		{Name: "at", Shape: []int{entries}, Kind: Input, Max: 1},
		{Name: "x", Shape: []int{2}, Kind: Input, Max: 1},
	}, Inputs: []TensorID{0, 1}, Outputs: []TensorID{1}}
	pick := virtual([]Linear{{Coef: 1, Src: 1, View: &View{Groups: []Group{{Out: []int{0}, In: []int{0}, Map: MapPublic, Ids: 0}}}}}, entries)
	g.Tensors = append(g.Tensors, slices.Repeat([]Tensor{pick}, views)...)
	template := &Template{Graph: g}
	if err := template.Validate(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := template.CheckIds(nil, [][]int32{make([]int32, entries), {0, 0}}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > time.Second { // it takes milliseconds, and the product seconds
		t.Errorf("%v", took)
	}
}
