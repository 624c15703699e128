package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/internal/golden"
	"github.com/prove-model/prove-model/internal/schema"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
)

// A built key is a key that is built by hand, because two verifiers are likely to differ about keys like it.
type built struct {
	name  string
	valid bool // verifiers must accept the key and proofs of it
	graph *schema.Graph
	run   *proving // the run that is proved; nil: one of any size and inputs
}

// A proving is a run that is proved honestly. Verifiers need not accept the proof.
type proving struct {
	text   *schema.Text // of the key
	sizes  []int        // of the key's free dimensions
	texts  int          // the texts of the proof; 0 for a proof of one text
	inputs [][]int32
}

// builder puts a circuit together, valid or not.
type builder struct{ g schema.Graph }

func (b *builder) tensor(t *schema.Tensor) uint32 {
	b.g.Tensors = append(b.g.Tensors, t)
	id := uint32(len(b.g.Tensors) - 1)
	if t.Kind == schema.Input {
		b.g.Inputs = append(b.g.Inputs, id)
	}
	return id
}

func (b *builder) input(min, max int64, shape ...uint64) uint32 {
	return b.tensor(&schema.Tensor{Shape: shape, Min: min, Max: max})
}

func (b *builder) witness(max int64, shape ...uint64) uint32 {
	return b.tensor(&schema.Tensor{Shape: shape, Kind: schema.Witness, Min: -max, Max: max})
}

func (b *builder) virtual(shape []uint64, terms ...*schema.Linear) uint32 {
	return b.tensor(&schema.Tensor{Shape: shape, Kind: schema.Virtual, Min: -1 << 20, Max: 1 << 20, Definition: terms})
}

func (b *builder) table(t *schema.Table) uint32 {
	for i, o := range b.g.Tables {
		if schema.Equal(o, t) {
			return uint32(i + 1)
		}
	}
	b.g.Tables = append(b.g.Tables, t)
	return uint32(len(b.g.Tables))
}

// look appends a look-up of acc in a range of bits[0] bits. If there are more numbers, the look-up leaves a remainder of as many bits as
// these add up to, and the remainder is looked up in the same way with the rest of bits.
func (b *builder) look(shape []uint64, acc *schema.Accumulator, bits ...uint32) {
	s := &schema.Step{Shape: shape, Accumulator: acc, Table: b.table(&schema.Table{Bits: bits[0]})}
	b.g.Steps = append(b.g.Steps, s)
	if rest := bits[1:]; len(rest) > 0 {
		for _, n := range rest {
			s.Shift += n
		}
		low := b.witness(1<<s.Shift-1, shape...)
		s.Remainder = low + 1
		b.look(shape, sum(0, term(1, low)), rest...)
	}
}

func term(c int64, id uint32, groups ...*schema.Group) *schema.Linear {
	l := &schema.Linear{Coefficient: c, Source: id}
	if groups != nil {
		l.View = &schema.View{Groups: groups}
	}
	return l
}

func filled(l *schema.Linear, fill int64) *schema.Linear {
	l.View.Fill = fill
	return l
}

func sum(constant int64, terms ...*schema.Linear) *schema.Accumulator {
	return &schema.Accumulator{Constant: constant, Linear: terms}
}

// keeps and repeats are groups of views: an output axis that is an input axis, and output axes along which entries are repeated.
func keeps(out, in uint32) *schema.Group {
	return &schema.Group{Out: []uint32{out}, In: []uint32{in}, Strides: []int64{1}}
}

func repeats(out ...uint32) *schema.Group {
	return &schema.Group{Out: out, Strides: make([]int64, len(out))}
}

// division is the circuit of ⌊x/d⌋ for x in [0, 999], of shape [2, 3]. The divisor d is made from an input in [1, 100].
type division struct {
	of      []uint64                                                       // shape of that input; nil: that of x
	divisor func(b *builder, of uint32) (d uint32, through *schema.Linear) // makes d from the input; steps read through. nil: d is the input
	labels  []uint32                                                       // of the axes of through's source; nil: [0, 1]
	r       []uint32                                                       // bits of the ranges of the remainder (look); nil: 7
	q       func(b *builder, q uint32)                                     // looks the quotient up; nil: in 10 bits
}

// graph builds the circuit: the divide step, the zero step x = d·q + r, and look-ups that keep r in [0, d) and q in its range.
func (v division) graph() *schema.Graph {
	b := &builder{}
	shape := []uint64{2, 3}
	if v.of == nil {
		v.of = shape
	}
	if v.r == nil {
		v.r = []uint32{7}
	}
	if v.labels == nil {
		v.labels = []uint32{0, 1}
	}
	x, of := b.input(0, 999, shape...), b.input(1, 100, v.of...)
	d, through := of, term(1, of)
	if v.divisor != nil {
		d, through = v.divisor(b, of)
	}
	q, r := b.witness(1<<10, shape...), b.witness(1<<8, shape...)
	b.g.Steps = append(b.g.Steps,
		&schema.Step{Kind: schema.Divide, Shape: shape, Accumulator: sum(0, term(1, x)), Out: q + 1, Remainder: r + 1, Divisor: d + 1},
		&schema.Step{Kind: schema.Zero, Shape: shape, Accumulator: &schema.Accumulator{
			Linear:   []*schema.Linear{term(1, x), term(-1, r)},
			Products: []*schema.Product{{Coefficient: -through.Coefficient, A: through.Source, B: q, LabelsA: v.labels, LabelsB: []uint32{0, 1}}}}})
	b.look(shape, sum(0, term(1, r)), v.r...)
	b.look(shape, sum(-1, through, term(-1, r)), 7)
	if v.q != nil {
		v.q(b, q)
	} else {
		b.look(shape, sum(0, term(1, q)), 10)
	}
	b.g.Outputs = []uint32{q}
	return &b.g
}

// as makes a divisor that is a virtual tensor with the term l. With through the steps read this term in place of the divisor; otherwise
// they read the divisor itself.
func as(through bool, l func(of uint32) *schema.Linear) func(b *builder, of uint32) (uint32, *schema.Linear) {
	return func(b *builder, of uint32) (uint32, *schema.Linear) {
		d := b.virtual([]uint64{2, 3}, l(of))
		if through {
			return d, l(of)
		}
		return d, term(1, d)
	}
}

// nested is a chain of n virtual tensors, each equal to the one before, on an input.
func nested(n int) *schema.Graph {
	b := &builder{}
	at := b.input(-5, 5, 2)
	for range n {
		at = b.virtual([]uint64{2}, term(1, at))
	}
	b.g.Outputs = []uint32{at}
	return &b.g
}

func named(name string) *schema.Graph {
	g := nested(1)
	g.Tensors[0].Name = name
	return g
}

func namedTable(name string) *schema.Graph {
	g := division{}.graph()
	g.Tables[0].Name = name
	return g
}

// quotient looks a quotient, plus a constant, up in ranges of these bits (look); the last table begins at from.
func quotient(constant int64, from int64, bits ...uint32) func(b *builder, q uint32) {
	return func(b *builder, q uint32) {
		if b.look([]uint64{2, 3}, sum(constant, term(1, q)), bits...); from != 0 {
			b.g.Tables[len(b.g.Tables)-1].Min = from
		}
	}
}

// allBuilt lists all built keys. valid in an entry is what docs/proof-format.md says of the key.
func allBuilt() []built {
	kept := []*schema.Group{keeps(0, 0), keeps(1, 1)}
	whole := func(c int64) func(uint32) *schema.Linear {
		return func(of uint32) *schema.Linear { return term(c, of) }
	}
	view := func(fill int64, groups ...*schema.Group) func(uint32) *schema.Linear {
		return func(of uint32) *schema.Linear { return filled(term(1, of, groups...), fill) }
	}
	list := []built{
		{"a division", true, division{}.graph(), nil},
		{"a divisor with a coefficient and no view", true, division{divisor: as(true, whole(2))}.graph(), nil},
		{"the same, not seen through", false, division{divisor: as(false, whole(2))}.graph(), nil},
		{"a divisor times -1", false, division{divisor: as(true, whole(-1))}.graph(), nil},
		{"a divisor by a view", true, division{divisor: as(true, view(0, kept...))}.graph(), nil},
		{"a divisor by a view that fills", false, division{divisor: as(true, view(5, kept...))}.graph(), nil},
		{"it as it is", true, division{divisor: as(false, view(5, kept...))}.graph(), nil},
		{"a divisor repeated along two axes", true, division{of: []uint64{}, divisor: as(true, view(0, repeats(0), repeats(1))), labels: []uint32{}}.graph(), nil},
		{"a divisor repeated along two axes in one group", false, division{of: []uint64{}, divisor: as(true, view(0, repeats(0, 1))), labels: []uint32{}}.graph(), nil},
		{"that as it is", true, division{of: []uint64{}, divisor: as(false, view(0, repeats(0, 1)))}.graph(), nil},
		{"a divisor turned", true, division{of: []uint64{3, 2}, divisor: as(true, view(0, keeps(1, 0), keeps(0, 1))), labels: []uint32{1, 0}}.graph(), nil},
		{"a divisor without an axis of one", false, division{of: []uint64{1, 2, 3}, divisor: as(true, view(0, &schema.Group{In: []uint32{0}}, keeps(0, 1), keeps(1, 2))), labels: []uint32{0, 1}}.graph(), nil},
		{"a quotient with a constant", true, division{q: quotient(7, 0, 11)}.graph(), nil},
		{"a quotient from -5 on", true, division{q: quotient(0, -5, 11)}.graph(), nil},
		{"a quotient with a shift", true, division{q: quotient(0, 0, 5, 5)}.graph(), nil},
		{"a quotient with a shift and a constant", false, division{q: quotient(1, 0, 6, 5)}.graph(), nil},
		{"a quotient with a shift of all bits", false, division{q: quotient(0, 0, 0, 10)}.graph(), nil},
		{"a quotient of three limbs", true, division{q: quotient(0, 0, 4, 3, 3)}.graph(), nil},
		{"a remainder of two limbs", true, division{r: []uint32{4, 3}}.graph(), nil},
		{"a remainder of three limbs", false, division{r: []uint32{3, 2, 2}}.graph(), nil},
		{"a remainder of one row", true, oneRow(), nil},
		{"an empty key", false, &schema.Graph{}, nil},
		{"the longest name of a table", true, namedTable(strings.Repeat("x", model.MaxName)), nil},
		{"a longer one", false, namedTable(strings.Repeat("x", model.MaxName+1)), nil},
		{"the name of a table that does not print", false, namedTable("\u200b"), nil},
	}
	for _, n := range []int{0, 1, 1024, 1025, 2000} {
		list = append(list, built{fmt.Sprint(n, " nested virtual tensors"), n <= 1024, nested(n), nil})
	}
	for _, name := range []string{"x", "é", "", " ", "\u1c89", "\U00016d40", "\U0001fae9", "\U000323b0", "\u0378", "\U0002ebf0"} {
		list = append(list, built{fmt.Sprintf("the name %+q", name), true, named(name), nil})
	}
	for _, name := range []string{"\u200b", "\u202e", "\u00a0", "\ue000", "\U000e0001", "\U00050000", "\U0010ffff", "\u2065", "\x7f"} {
		list = append(list, built{fmt.Sprintf("the name %+q", name), false, named(name), nil})
	}
	return slices.Concat(list, picks(), written(), threeFactors())
}

// logits makes the output of a language model: for tokens, the entries of a table, at n positions, which the input at has.
func (b *builder) logits(tokens, at uint32, n uint64) uint32 {
	table := b.tensor(&schema.Tensor{Kind: schema.ByFormula, Shape: []uint64{4}, Formula: &schema.Formula{Kind: schema.Progression, Offset: 5, Step: 1}, Max: 9})
	found := b.virtual([]uint64{1}, term(1, table, picked(tokens)))
	b.g.Tensors[found].Scales = []uint32{1}
	long := b.virtual([]uint64{8}, term(1, found, keeps(0, 0)))
	b.g.Outputs = []uint32{b.virtual([]uint64{n}, term(1, long, picked(at)))}
	return b.g.Outputs[0]
}

// picks are keys with an input that is an index: it says which entry of an axis is the output. The
// axis is longer than the text, so that some runs pick entries beyond the text.
func picks() (list []built) {
	const length = 3 // of the text; the axis has 8
	pick := func(terms func(x, y uint32) []*schema.Linear) *schema.Graph {
		b := &builder{}
		b.g.Free = []*schema.Free{{Name: "n", Bound: 8}}
		x, y, at := b.input(0, 9, 1), b.input(0, 9, 5), b.input(0, 7, 1)
		b.g.Tensors[x].Scales = []uint32{1}
		long := b.virtual([]uint64{8}, terms(x, y)...)
		twice := b.virtual([]uint64{8}, term(2, long))
		b.g.Outputs = []uint32{b.virtual([]uint64{1}, term(1, twice, picked(at)))}
		return &b.g
	}
	moved := keeps(0, 0)
	moved.Base = -2
	for _, k := range []struct {
		name string
		most int32 // the greatest index that may be picked
		g    *schema.Graph
	}{
		{"a longer axis", 2, pick(func(x, y uint32) []*schema.Linear { return []*schema.Linear{term(1, x, keeps(0, 0))} })},
		{"a longer axis of two terms", 4, pick(func(x, y uint32) []*schema.Linear {
			return []*schema.Linear{term(1, x, keeps(0, 0)), term(1, y, keeps(0, 0))}
		})},
		{"an axis of the key's own", 7, pick(func(x, y uint32) []*schema.Linear { return []*schema.Linear{term(1, y, keeps(0, 0))} })},
		{"a moved axis", 7, pick(func(x, y uint32) []*schema.Linear { return []*schema.Linear{term(1, x, moved)} })},
	} {
		for at := range int32(8) {
			list = append(list, built{fmt.Sprintf("entry %d of %s", at, k.name), at <= k.most, k.g,
				&proving{sizes: []int{length}, inputs: [][]int32{{1, 2, 3}, {4, 5, 6, 7, 8}, {at}}}})
		}
	}
	// An axis whose length is twice a size, half of it zeros: indexes of several texts would reach into the next one's entries.
	b := &builder{}
	b.g.Free = []*schema.Free{{Name: "n", Bound: 8}}
	x, at := b.input(0, 9, 1), b.input(0, 1, 1)
	long := b.virtual([]uint64{2}, term(1, x, keeps(0, 0)))
	b.g.Tensors[x].Scales, b.g.Tensors[long].Scales = []uint32{1}, []uint32{1}
	b.g.Outputs = []uint32{b.virtual([]uint64{1}, term(1, long, picked(at)))}
	list = append(list,
		built{"entry 1 of an axis of a size and as many zeros", true, &b.g, &proving{sizes: []int{1}, inputs: [][]int32{{5}, {1}}}},
		built{"the same of two texts", false, &b.g, &proving{sizes: []int{1}, texts: 2, inputs: [][]int32{{5, 7}, {1, 0}}}})
	// The last logits of a text: one position, or two.
	for _, n := range []int{1, 2} {
		b := &builder{}
		b.g.Free = []*schema.Free{{Name: "n", Bound: 8}}
		tokens, at := b.input(0, 3, 1), b.input(0, 7, uint64(n))
		b.g.Tensors[tokens].Scales = []uint32{1}
		b.logits(tokens, at, uint64(n))
		for first := range int32(8) {
			positions := []int32{first, first + 1}[:n]
			if int(first)+n > 8 {
				continue
			}
			list = append(list, built{fmt.Sprintf("logits at %v of a text of %d tokens", positions, length), int(first)+n == length, &b.g,
				&proving{&schema.Text{}, []int{length}, 0, [][]int32{{3, 1, 2}, positions}}})
		}
		if n == 2 {
			list = append(list, built{"logits in another order", false, &b.g, &proving{&schema.Text{}, []int{length}, 0, [][]int32{{3, 1, 2}, {2, 1}}}})
		}
	}
	return list
}

// written are keys of a model that writes any number of tokens. All tokens are 0. The number of written tokens and the length of the text
// determine the positions of the logits.
func written() (list []built) {
	const length = 5
	b := &builder{}
	b.g.Free = []*schema.Free{{Name: "n", Bound: 8}, {Name: "m", Bound: 8}}
	tokens, at := b.input(0, 3, 1), b.input(0, 7, 1)
	b.g.Tensors[tokens].Scales, b.g.Tensors[at].Scales = []uint32{1}, []uint32{2}
	b.g.Tensors[b.logits(tokens, at, 1)].Scales = []uint32{2}
	for _, positions := range [][]int32{{0}, {2}, {3}, {4}, {5}, {2, 3}, {1, 2}, {3, 3}, {3, 2}, {3, 4}, {2, 4}, {1, 2, 3}, {1, 1, 2}, {0, 1, 2, 3}, {0, 1, 2, 3, 4}} {
		n := len(positions)
		right := n < length
		for i, p := range positions {
			right = right && int(p) == length-1-n+i
		}
		list = append(list, built{fmt.Sprintf("a text of %d tokens of which %d are written, by logits at %v", length, n, positions), right, &b.g,
			&proving{&schema.Text{Writes: 1}, []int{length, n}, 0, [][]int32{make([]int32, length), positions}}})
	}
	// Two texts, with the positions of both. The last position is repeated for a text with fewer written tokens.
	for _, x := range []struct {
		positions []int32
		valid     bool
	}{
		{[]int32{3, 3}, true}, {[]int32{3, 0}, true}, {[]int32{0, 3}, true}, {[]int32{2, 2}, false}, {[]int32{3, 4}, false}, {[]int32{3, 5}, false},
		{[]int32{2, 3, 2, 3}, true}, {[]int32{2, 3, 0, 0}, true}, {[]int32{1, 1, 2, 3}, true}, {[]int32{2, 3, 0, 1}, true},
		{[]int32{3, 3, 2, 2}, false}, {[]int32{3, 3, 1, 2}, true}, {[]int32{2, 3, 3, 2}, false}, {[]int32{2, 3, 1, 3}, false}, {[]int32{2, 3, 4, 4}, false},
		{[]int32{1, 2, 0, 1}, false}, {[]int32{1, 2, 3, 0, 0, 0}, true}, {[]int32{1, 2, 2, 2, 3, 3}, false}, {[]int32{1, 2, 3, 0, 1, 0}, false},
	} {
		list = append(list, built{fmt.Sprintf("two texts of up to %d tokens, written by logits at %v", length, x.positions), x.valid, &b.g,
			&proving{&schema.Text{Writes: 1}, []int{length, len(x.positions) / 2}, 2, [][]int32{make([]int32, 2*length), x.positions}}})
	}
	return slices.Concat(list, writtenInRoom())
}

// writtenInRoom are keys with a fixed number of positions, whose model writes that many tokens or fewer. If it writes fewer, the last
// position is repeated. The written tokens are those behind the positions, which must be tokens of the text.
func writtenInRoom() (list []built) {
	const length = 5
	for n := 1; n <= 2; n++ {
		b := &builder{}
		b.g.Free = []*schema.Free{{Name: "n", Bound: 8}}
		tokens, at := b.input(0, 3, 1), b.input(0, 7, uint64(n))
		b.g.Tensors[tokens].Scales = []uint32{1}
		b.logits(tokens, at, uint64(n))
		for first := range int32(8) {
			for last := range int32(8) {
				positions := []int32{first, last}[:n]
				right := first <= length-2 && (n == 1 || last == first || last == first+1 && last <= length-2)
				if n == 1 && last > 0 {
					continue
				}
				list = append(list, built{fmt.Sprintf("logits at %v of %d tokens with room for %d written ones", positions, length, n), right, &b.g,
					&proving{&schema.Text{Writes: 1}, []int{length}, 0, [][]int32{make([]int32, length), positions}}})
			}
		}
	}
	return list
}

// picked is a group of a view that takes the entries of the first axis whose indexes are in the input ids.
func picked(ids uint32) *schema.Group {
	return &schema.Group{Out: []uint32{0}, In: []uint32{0}, Map: schema.PublicIndexes, Ids: ids}
}

// oneRow is a division by 1. Its remainder is looked up in a table of a single row, 0.
func oneRow() *schema.Graph {
	g := division{r: []uint32{0}}.graph()
	g.Tensors[1].Max = 1
	return g
}

// line is the key, with an honest proof if there is one.
func (b *built) line() *line {
	key := &schema.Key{Graph: b.graph, Security: &schema.Security{TargetBits: 20, GrindBits: 8}}
	if b.run != nil && b.run.text != nil {
		key.Texts = []*schema.Text{b.run.text}
	}
	of, rng := &golden.Case{}, rand.New(rand.NewPCG(1, 2))
	if b.run != nil {
		of.Instance.Sizes, of.Instance.Texts, of.Inputs, rng = b.run.sizes, b.run.texts, b.run.inputs, nil
	}
	return lineOf(b.name, key, b.valid, of, rng)
}

// lineOf is a line with a key that is built by hand, and an honest proof if one can be made. of has the run's sizes and inputs, and rng
// draws those that it lacks.
func lineOf(name string, key *schema.Key, valid bool, of *golden.Case, rng *rand.Rand) *line {
	file := schema.Append(binary.LittleEndian.AppendUint32([]byte(proof.KeyMagic), proof.Version), key)
	l := &line{Name: name, Key: file, Built: true, Want: valid}
	if made := prove(of, file, rng); made != nil {
		l.Key, l.Proof, l.Honest = made.Key, made.Proof, true
	}
	l.judge()
	return l
}
