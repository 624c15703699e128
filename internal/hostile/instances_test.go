package hostile

import (
	"strings"

	"github.com/prove-model/prove-model/internal/schema"
)

// instances are keys with proofs whose headers ask for what costs: sizes, tails and masks, hidden inputs, greatest entries.
var instances = []entry{
	{"sizes: of two dimensions", verifies, key(func(g *circuit) {
		x, y := g.input(0, 1), g.input(0, 1)
		g.free(x, 1<<17, 1<<17)
		g.free(y, 1<<17, 1<<17)
		for range 2000 {
			z := g.virtual([]uint64{1, 1}, &schema.Linear{Coefficient: 1, Source: x, View: &schema.View{Groups: []*schema.Group{
				{Out: []uint32{0}, In: []uint32{0}, Strides: []int64{1}}, {Out: []uint32{1}, Strides: []int64{0}}}}})
			g.Tensors[z].Scales = []uint32{1, 2}
		}
		g.Outputs = []uint32{x}
	})},
	{"sizes: steps of two dimensions", verifies, key(func(g *circuit) {
		x, y := g.input(0, 1), g.input(0, 1)
		g.free(x, 1<<12, 1<<12)
		g.free(y, 1<<12, 1<<12)
		for range 1000 {
			out := g.tensor(&schema.Tensor{Kind: schema.Witness, Shape: []uint64{1, 1}, Scales: []uint32{1, 2}, Max: 1})
			g.Steps = append(g.Steps, &schema.Step{Kind: schema.Exact, Shape: []uint64{1, 1}, Scales: []uint32{1, 2}, Accumulator: &schema.Accumulator{}, Out: out + 1})
		}
		g.Outputs = []uint32{x}
	})},
	{"sizes: of eight dimensions", verifies, key(func(g *circuit) {
		for range 8 {
			g.free(g.input(0, 1), 1<<17, 1<<17)
		}
		for i := range 9000 {
			g.tensor(&schema.Tensor{Kind: schema.ByFormula, Shape: []uint64{1, 1}, Scales: []uint32{1 << (i % 8), 1 << (i % 7)}, Max: 1, Formula: &schema.Formula{}})
		}
		g.Outputs = g.Inputs
	})},
	{"sizes: an input to its bound", verifies, key(func(g *circuit) {
		g.free(g.input(0, 1), 1<<24, 1<<24)
		x := g.Inputs[0]
		for range 3000 {
			x = g.virtual([]uint64{1}, &schema.Linear{Coefficient: 1, Source: x})
			g.Tensors[x].Scales = []uint32{1}
		}
	})},
	{"sizes: a longer axis of many sums", verifies, key(func(g *circuit) {
		g.free(g.input(0, 1), 1<<12, 3)
		at, x := g.input(1<<12-1, 1), g.Inputs[0]
		for i := range 9000 {
			v := func() *schema.View {
				return &schema.View{Groups: []*schema.Group{{Out: []uint32{0}, In: []uint32{0}, Strides: []int64{1}}}}
			}
			x = g.virtual([]uint64{1 << 12}, &schema.Linear{Coefficient: 1, Source: x, View: v()}, &schema.Linear{Coefficient: 1, Source: x, View: v()})
			g.virtual([]uint64{1}, &schema.Linear{Coefficient: 1, Source: x, View: &schema.View{Groups: []*schema.Group{
				{Out: []uint32{0}, In: []uint32{0}, Map: schema.PublicIndexes, Ids: at}}}})
			if i%400 == 399 {
				x = g.Inputs[0]
			}
		}
	})},

	{"masked: a large hidden input", verifies, key(func(g *circuit) {
		g.input(1<<20, 1<<22)
		g.exact()
		g.hiddenInputs, g.tailLog = []int{0}, 2
	})},
	{"masked: many hidden inputs", verifies, key(func(g *circuit) {
		for i := range 1300 {
			g.input(1<<20, 1<<10)
			g.hiddenInputs = append(g.hiddenInputs, i)
		}
		g.tailLog = 2
		g.exact()
	})},
	{"masked: many hidden outputs", verifies, key(func(g *circuit) {
		x := g.input(1)
		for i := range 120000 {
			g.Outputs = append(g.Outputs, x)
			if i > 0 && i < 1300 {
				g.hiddenOutputs = append(g.hiddenOutputs, i)
			}
		}
		g.tailLog = 2
	})},
	{"masked: steps", verifies, key(func(g *circuit) {
		x := g.input(1)
		for range 30000 {
			x = g.exact(&schema.Linear{Coefficient: 1, Source: x})
		}
		g.tailLog = 2
	})},
	{"masked: terms", verifies, key(func(g *circuit) {
		x := g.input(1)
		var l []*schema.Linear
		for i := range 100000 {
			l = append(l, &schema.Linear{Coefficient: int64(i%60 + 1), Source: x})
		}
		g.exact(l...)
		g.tailLog = 2
	})},
	{"masked: tables", verifies, key(func(g *circuit) {
		x := g.input(1)
		for range 3000 {
			g.Tables = append(g.Tables, &schema.Table{Bits: 20})
			g.look(x, len(g.Tables))
		}
		g.tailLog = 2
	})},
	{"masked: a key with tails", verifies, key(func(g *circuit) {
		out, shape := g.tensor(&schema.Tensor{Kind: schema.Witness, Shape: []uint64{1 << 14}, Max: 1}), []uint64{1 << 14}
		g.Steps = append(g.Steps, &schema.Step{Kind: schema.Exact, Shape: shape, Accumulator: &schema.Accumulator{}, Out: out + 1})
		g.input(1)
		for range 40000 {
			g.tensor(&schema.Tensor{Kind: schema.Fixed, Shape: []uint64{15}})
		}
		g.root()
		g.Trees[0].RowVars, g.Trees[0].TailLog, g.tailLog = 14, 2, 2
	})},

	{"greatest: of many outputs", verifies, key(func(g *circuit) {
		for i := range 64 {
			g.Outputs = append(g.Outputs, g.input(1, 1, 1<<17))
			g.reveals = append(g.reveals, &schema.Reveal{Output: uint32(i)})
		}
	})},
	{"greatest: of wide rows", verifies, key(func(g *circuit) {
		g.Outputs = []uint32{g.input(1, 1<<12, 1<<11)}
		g.reveals = []*schema.Reveal{{}}
	})},
	{"greatest: of sums of sums", verifies, key(func(g *circuit) {
		x := g.input(1, 4)
		for range 1000 {
			x = g.virtual([]uint64{4}, &schema.Linear{Coefficient: 1, Source: x}, &schema.Linear{Coefficient: 1, Source: x})
		}
		g.Outputs = []uint32{x}
		g.reveals = []*schema.Reveal{{}}
	})},

	{"text: many ends", verifies, key(func(g *circuit) {
		g.text()
		for i := range 200000 {
			g.Texts[0].Ends = append(g.Texts[0].Ends, uint32(i))
		}
	})},
	{"text: many written tokens", verifies, key(func(g *circuit) {
		g.text()
		g.Texts[0].Writes = 1
		g.sizes = []uint64{1 << 22, 1 << 22}
	})},
}

// free has the first axis of an input be a free dimension, of some size up to a bound.
func (c *circuit) free(input uint32, bound uint32, size uint64) {
	c.Tensors[input].Scales = []uint32{1 << len(c.Free)}
	c.Free = append(c.Free, &schema.Free{Name: strings.Repeat("d", len(c.Free)+1), Bound: bound})
	c.sizes = append(c.sizes, size)
}

// text makes the circuit that of a language model of two tokens, for texts of any length and any number of logits.
func (c *circuit) text() {
	tokens, at := c.input(1, 1), c.input(1<<22-1, 1)
	c.free(tokens, 1<<22, 4)
	c.free(at, 1<<22, 1)
	pick := func(ids uint32) *schema.View {
		return &schema.View{Groups: []*schema.Group{{Out: []uint32{0}, In: []uint32{0}, Map: schema.PublicIndexes, Ids: ids}}}
	}
	table := c.tensor(&schema.Tensor{Kind: schema.ByFormula, Shape: []uint64{2}, Max: 1, Formula: &schema.Formula{Kind: schema.Progression, Step: 1}})
	found := c.virtual([]uint64{1}, &schema.Linear{Coefficient: 1, Source: table, View: pick(tokens)})
	c.Tensors[found].Scales = []uint32{1}
	long := c.virtual([]uint64{1 << 22}, &schema.Linear{Coefficient: 1, Source: found, View: &schema.View{Groups: []*schema.Group{
		{Out: []uint32{0}, In: []uint32{0}, Strides: []int64{1}}}}})
	logits := c.virtual([]uint64{1}, &schema.Linear{Coefficient: 1, Source: long, View: pick(at)})
	c.Tensors[logits].Scales = []uint32{2}
	c.Outputs = []uint32{logits}
	c.Texts = []*schema.Text{{}}
}
