package model

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// forcedGraph is y = x, t = −y (virtual), z = t, and z looked up in a table with
// a remainder: tensors x, y, t, z, remainder, value, counts, counts.
func forcedGraph() *Graph {
	witness := func(d int) Tensor { return Tensor{Shape: []int{d}, Kind: Witness, Max: 1} }
	is := func(id TensorID) Acc { return Acc{Linear: []Linear{{Coef: 1, Src: id}}} }
	g := &Graph{
		Tensors: []Tensor{input(2), witness(2), virtual([]Linear{{Coef: -1, Src: 1}}, 2), witness(2), witness(2), witness(2)},
		Inputs:  []TensorID{0},
		Tables:  []Table{{Bits: 4, Values: None}, {Kind: TablePiecewise, Bits: 3, Values: None, Pieces: []Piece{{End: 8, Slope: 1}}}},
		Steps: []Step{
			exact(0, 1), exact(2, 3),
			{Shape: []int{2}, Acc: is(3), Shift: 4, Lo: 4, Table: 1, Out: 5, Den: None},
			{Shape: []int{2}, Acc: is(4), Lo: None, Table: 0, Out: None, Den: None},
		},
		Outputs: []TensorID{5, 2, 0},
	}
	g.Finish(0)
	return g
}

// hostile are keys under which a prover could choose: each changes forcedGraph.
var hostile = map[string]struct {
	why    string
	change func(g *Graph)
}{
	"a step that reads its output": {"no step before", func(g *Graph) {
		g.Steps[0].Acc.Linear = append(g.Steps[0].Acc.Linear, Linear{Coef: 1, Src: 1})
	}},
	"a step that reads nothing else": {"no step before", func(g *Graph) { g.Steps[0].Acc.Linear[0].Src = 1 }},
	"its output through a virtual tensor": {"no step before", func(g *Graph) {
		g.Steps[0].Acc.Linear[0].Src = 2
	}},
	"its output in a product": {"no step before", func(g *Graph) {
		g.Steps[1].Acc.Products = []Product{{Coef: 1, A: 0, B: 3, LabelsA: []int{0}, LabelsB: []int{0}}}
	}},
	"earlier entries of its output": {"no step before", func(g *Graph) { // a scan
		g.Steps[0].Acc.Linear = append(g.Steps[0].Acc.Linear, Linear{Coef: 1, Src: 1, View: &View{Groups: []Group{
			{Out: []int{0}, In: []int{0}, Base: -1, Strides: []int{1}}}}})
	}},
	"a step that reads a later result": {"no step before", func(g *Graph) { g.Steps[0].Acc.Linear[0].Src = 3 }},
	"a look-up that reads its value":   {"no step before", func(g *Graph) { g.Steps[2].Acc.Linear[0].Src = 5 }},
	"a look-up that reads its remainder": {"no step before", func(g *Graph) {
		g.Steps[2].Acc.Linear[0].Src = 4
	}},
	"a condition on a later result": {"no step before", func(g *Graph) {
		g.Steps[0], g.Steps[1] = Step{Kind: StepZero, Shape: []int{2}, Acc: g.Steps[1].Acc, Lo: None, Table: None, Out: None, Den: None}, g.Steps[0]
		g.Steps[1].Out, g.Tensors[3].Kind = 1, Input
		g.Inputs = append(g.Inputs, 3)
	}},
	"a step that reads counts": {"no step before", func(g *Graph) {
		g.Steps[3].Shape, g.Steps[3].Acc.Linear[0].Src = g.Tensors[6].Shape, 6
	}},
	"counts as an output": {"made by no step", func(g *Graph) { g.Outputs[0] = 6 }},
	"counts, moved, as one": {"made by no step", func(g *Graph) {
		g.Tensors = append(g.Tensors, virtual([]Linear{{Coef: 1, Src: 6}}, g.Tensors[6].Shape...))
		g.Outputs[1] = 8
	}},
	"an exact step with a remainder": {"no remainder", func(g *Graph) {
		g.Tensors = append(g.Tensors, Tensor{Shape: []int{2}, Kind: Witness, Max: 1})
		g.Steps[0].Lo = 8
		g.Outputs[0] = 8
	}},
	"a zero step with a result": {"no results", func(g *Graph) {
		g.Tensors = append(g.Tensors, Tensor{Shape: []int{2}, Kind: Witness, Max: 1})
		g.Steps = append(g.Steps, Step{Kind: StepZero, Shape: []int{2}, Lo: None, Table: None, Out: 8, Den: None})
		g.Outputs[0] = 8
	}},
	"a look-up whose remainder is free": {"nothing keeps the remainder", func(g *Graph) {
		g.Steps[3].Acc.Linear[0].Src = 3
	}},
}

// TestHostileGraphs: circuits that leave a committed entry or an output open.
func TestHostileGraphs(t *testing.T) {
	if err := forcedGraph().Validate(); err != nil {
		t.Fatalf("the control: %v", err)
	}
	for name, h := range hostile {
		t.Run(name, func(t *testing.T) {
			g := forcedGraph()
			h.change(g)
			if err := g.Validate(); err == nil || !strings.Contains(err.Error(), h.why) {
				t.Errorf("got %v, want an error about %q", err, h.why)
			}
		})
	}
}

// TestUnusedFields sets every field that a kind of step, table, group or tensor
// has no use for.
func TestUnusedFields(t *testing.T) {
	for name, c := range map[string]struct {
		why    string
		change func(g *Graph)
	}{
		"the shift of an exact step":    {"without a look-up", func(g *Graph) { g.Steps[0].Shift = 1 }},
		"the table of an exact step":    {"without a look-up", func(g *Graph) { g.Steps[0].Table = 0 }},
		"the divisor of an exact step":  {"without a division", func(g *Graph) { g.Steps[0].Den = 0 }},
		"the divisor of a look-up":      {"without a division", func(g *Graph) { g.Steps[2].Den = 0 }},
		"the chunk of an input":         {"in none", func(g *Graph) { g.Chunks, g.Tensors[0].Chunk = 2, 1 }},
		"the chunk of a virtual tensor": {"in none", func(g *Graph) { g.Chunks, g.Tensors[2].Chunk = 2, 1 }},
		"the pieces of a range":         {"another kind of table", func(g *Graph) { g.Tables[0].Pieces = g.Tables[1].Pieces }},
		"the column of a range":         {"another kind of table", func(g *Graph) { g.Tables[0].Values = 0 }},
		"the column of a function":      {"another kind of table", func(g *Graph) { g.Tables[1].Values = 0 }},
		"the index of an affine group":  {"another map", func(g *Graph) { group(g).Index = []int{0, 1} }},
		"the base of an index": {"another map", func(g *Graph) {
			*group(g) = Group{Out: []int{0}, In: []int{0}, Map: MapIndex, Index: []int{1, 0}, Base: 1}
		}},
		"the strides of a reshape": {"another map", func(g *Graph) { group(g).Map = MapReshape }},
		"a sum in a reshape": {"another map", func(g *Graph) {
			*group(g) = Group{Out: []int{0}, In: []int{0}, Map: MapReshape, Sum: []SumIndex{{Dim: 1, Stride: 1}}}
		}},
		"a table that nobody uses": {"by no step", func(g *Graph) { g.Tables = append(g.Tables, g.Tables[0]) }},
		"a group of nothing":       {"without axes", func(g *Graph) { v := g.Tensors[2].Def[0].View; v.Groups = append(v.Groups, Group{}) }},
	} {
		t.Run(name, func(t *testing.T) {
			g := forcedGraph()
			g.Tensors[2].Def[0].View = same(1)
			c.change(g)
			if err := g.Validate(); err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %v, want an error about %q", err, c.why)
			}
		})
	}
}

func group(g *Graph) *Group { return &g.Tensors[2].Def[0].View.Groups[0] }

// TestNames: what a terminal would not just show is no name, and PrintableName
// makes a name of it.
func TestNames(t *testing.T) {
	bad := []string{
		"\x1b[2K\x1b[1AVALID", "a\nb", "a\rb", "a\tb", "\x00", "\u0085", "\x9b1m", "\u202eDILAV", "\u2066x\u2069", "\u200f", "\u061c",
		"\u200bx", "\ufeffx", "\u00a0", "\u2028", "\u2065", "\u3000", "\uffff", "\ufdd0", "\U0001d173", "\U00040000", "\U000e01f0", "\U0010ffff", "\xff", "é\xc3", "\ue000", "\U000e0041", strings.Repeat("x", MaxName+1), strings.Repeat("é", MaxName),
	}
	for _, name := range bad {
		if validateName(name) == nil {
			t.Errorf("%q is accepted", name)
		}
		p := PrintableName(name)
		if err := validateName(p); err != nil || p == "" {
			t.Errorf("%q gives %q: %v", name, p, err)
		}
		for i, change := range []func(g *Graph){
			func(g *Graph) { g.Name = name },
			func(g *Graph) { g.Tensors[1].Name = name },
			func(g *Graph) { g.Tables[1].Name = name },
			func(g *Graph) { g.Steps[1].Name = name },
		} {
			g := forcedGraph()
			change(g)
			if g.Validate() == nil {
				t.Errorf("%q is accepted in place %d", name, i)
			}
		}
	}
	for _, name := range []string{"", "/model/layers.0/Gemm_output_0", "x[1] × 2⁻³ + ½", "Größe, μ, 層, слой", "a b", "\u0378", "\u1c89", "\U000e0100", "\U0003fffd", strings.Repeat("x", MaxName)} {
		if err := validateName(name); err != nil || PrintableName(name) != name {
			t.Errorf("%q: %v, made printable %q", name, err, PrintableName(name))
		}
	}
}

// TestPrintable holds the format's list against this Go's tables of Unicode: what is a letter,
// a mark, a number, punctuation or a symbol may be in a name, and nothing else that is assigned.
func TestPrintable(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if unicode.IsPrint(r) && !printable(r) {
			t.Errorf("%U is in no name", r)
		}
		other := r != ' ' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Z, unicode.Noncharacter_Code_Point, unicode.Other_Default_Ignorable_Code_Point)
		if other && !unicode.IsPrint(r) && printable(r) {
			t.Errorf("%U is in names", r)
		}
	}
}

// TestPrintableIsTheFormats: the document has the list, and so has the second verifier.
func TestPrintableIsTheFormats(t *testing.T) {
	for file, write := range map[string]func(first, last rune) string{
		"../../../docs/proof-format.md": func(first, last rune) string {
			if first == last {
				return fmt.Sprintf("%04X", first)
			}
			return fmt.Sprintf("%04X–%04X", first, last)
		},
		"../../../scripts/verifier/graph.py": func(first, last rune) string { return fmt.Sprintf("(0x%02X, 0x%02X)", first, last) },
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rest := string(text)
		for _, of := range unnamed {
			_, after, ok := strings.Cut(rest, write(of[0], of[1]))
			if rest = after; !ok {
				t.Fatalf("%s: no %s in its order", file, write(of[0], of[1]))
			}
		}
	}
}

// FuzzPrintableName: every string becomes a name, and a name stays what it is.
func FuzzPrintableName(f *testing.F) {
	f.Add("\x1b[2K")
	f.Fuzz(func(t *testing.T, s string) {
		p := PrintableName(s)
		if err := validateName(p); err != nil || PrintableName(p) != p {
			t.Fatalf("%q gives %q: %v", s, p, err)
		}
		if validateName(s) == nil && !slices.Equal([]byte(p), []byte(s)) {
			t.Fatalf("%q is a name and becomes %q", s, p)
		}
	})
}
