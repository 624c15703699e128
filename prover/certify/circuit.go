package certify

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/bounds"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// Sizes of look-ups, in bits (docs/proof-format.md, "The certificate file").
const (
	oneTable = 16 // the largest range that one look-up checks
	limb     = 15 // the lower part of a larger range, which takes two look-ups
	weights  = 20 // the largest table in which the positive parts of weights are looked up
	widest   = 30 // the largest range of all
)

// maxSteps bounds the look-ups of a certificate, and the fixed tensors of a key that has one, as
// a hostile key might ask for many.
const maxSteps = 1 << 16

var errSteps = errors.New("it takes too many look-ups")

// circuit is the circuit of a certificate, and what a proof of it says about the certified key.
type circuit struct {
	key    *proof.Key // of the certificate
	extras *extras
	sums   []bounds.Sum // the sums of weights that it bounds, in the order of its input
	// ranges are the intervals in which it proves the entries of the key's fixed tensors to lie.
	ranges map[model.TensorID]bounds.Interval
	// fixed has the certificate's tensor for each fixed tensor of the key.
	fixed map[model.TensorID]model.TensorID
	cuts  map[model.TensorID]int // the bits that are cut off weights before their positive part is looked up
}

// derive returns the circuit of a certificate of a key with these extras. It depends
// on nothing else.
func derive(key *proof.Key, e *extras) (*circuit, error) {
	of := key.Circuit.Graph
	c := &circuit{
		extras: e, sums: bounds.Sums(of), ranges: map[model.TensorID]bounds.Interval{},
		fixed: map[model.TensorID]model.TensorID{}, cuts: map[model.TensorID]int{},
	}
	fixed, stated, summed := of.FixedIDs(), map[model.TensorID]bool{}, map[model.TensorID][]int{}
	if len(fixed) > maxSteps {
		return nil, fmt.Errorf("it has %d fixed tensors, more than %d", len(fixed), maxSteps)
	}
	for _, id := range e.stated {
		stated[id] = true
	}
	for i, s := range c.sums {
		summed[s.Tensor] = append(summed[s.Tensor], i)
	}
	// The name ties every challenge to the key and the extras, and says what the proof is.
	name := fmt.Sprintf("certificate of the weights of key %x with %x", key.Digest, sha256.Sum256(e.encode()))
	b := &builder{g: &model.Graph{Name: name}, tables: map[string]model.TableID{}}
	b.sums = b.add(model.Tensor{Name: "sums", Kind: model.Input, Shape: []int{max(1, 3*len(c.sums))}, Max: model.Bound - 1})
	b.g.Inputs, b.g.Outputs = []model.TensorID{b.sums}, []model.TensorID{b.sums}
	// All fixed tensors of the key in their order, so that they have the same places under the same root.
	for _, id := range fixed {
		t := &of.Tensors[id]
		c.fixed[id] = b.add(model.Tensor{Name: t.Name, Shape: t.Shape, Kind: model.Fixed, Min: t.Min, Max: t.Max})
	}
	for _, id := range fixed {
		var err error
		if stated[id] {
			b.g.Outputs = append(b.g.Outputs, c.fixed[id])
		}
		switch {
		case summed[id] != nil:
			err = c.summed(b, id, summed[id])
		case stated[id]: // the verifier sees the values, which are in their range, as all public values have to be
			c.ranges[id] = bounds.Interval{Min: of.Tensors[id].Min, Max: of.Tensors[id].Max}
		default:
			c.ranges[id], err = b.entries(c.fixed[id])
		}
		if err == nil && len(b.g.Steps) > maxSteps {
			err = errSteps
		}
		if err != nil {
			return nil, fmt.Errorf("%q cannot be certified: %w", of.Tensors[id].Name, err)
		}
	}
	for _, id := range of.Base {
		b.g.Base = append(b.g.Base, c.fixed[id])
	}
	return c, c.commit(b.g, key)
}

// commit makes the certificate's key: g with the roots and the security of the certified key.
func (c *circuit) commit(g *model.Graph, key *proof.Key) error {
	t := &model.Template{Graph: g}
	at, err := t.At(t.Unit())
	if err != nil {
		return err
	}
	var rows []int
	var roots []hash.Digest
	for _, tree := range key.Trees {
		if tree.TailLog > 0 {
			return errors.New("a key whose tree has tails has no certificate")
		}
		rows, roots = append(rows, tree.RowVars), append(roots, tree.Root)
	}
	p, err := plan.WithRows(at, key.Security.Config(), rows...)
	if err == nil {
		c.key, err = proof.NewKey(t, p, key.Security, roots...)
	}
	return err
}

// builder adds tensors, tables and steps to a circuit.
type builder struct {
	g      *model.Graph
	sums   model.TensorID           // the input
	tables map[string]model.TableID // by name
}

func (b *builder) add(t model.Tensor) model.TensorID {
	b.g.Tensors = append(b.g.Tensors, t)
	return model.TensorID(len(b.g.Tensors) - 1)
}

// table returns the table that has t's name. It adds t if there is none.
func (b *builder) table(t model.Table) model.TableID {
	id, ok := b.tables[t.Name]
	if !ok {
		id = model.TableID(len(b.g.Tables))
		b.tables[t.Name] = id
		t.Values = model.None
		b.g.Tables = append(b.g.Tables, t)
	}
	return id
}

// lookup adds the look-up out = table(⌊acc/2^shift⌋), and those that keep the remainder
// in [0, 2^shift). It returns the remainder, None if shift is 0.
func (b *builder) lookup(name string, shape []int, acc model.Acc, shift int, table model.TableID, out model.TensorID) (remainder model.TensorID) {
	remainder = model.None
	if shift > 0 {
		remainder = b.add(model.Tensor{Name: "low bits", Shape: shape, Kind: model.Witness, Max: 1<<shift - 1})
	}
	b.g.Steps = append(b.g.Steps, model.Step{
		Kind: model.StepLookup, Name: name, Shape: shape, Acc: acc, Shift: shift, Lo: remainder, Table: table, Out: out, Den: model.None,
	})
	if shift > 0 {
		b.inRange(name, shape, model.Acc{Linear: []model.Linear{{Coef: 1, Src: remainder}}}, shift)
	}
	return remainder
}

// inRange adds the look-ups of 0 ≤ acc < 2^bits.
func (b *builder) inRange(name string, shape []int, acc model.Acc, bits int) {
	shift := 0
	if bits > oneTable {
		shift = limb
	}
	bits -= shift
	t := b.table(model.Table{Name: fmt.Sprintf("range %d", bits), Kind: model.TableRange, Bits: bits})
	b.lookup(name, shape, acc, shift, t, model.None)
}

// entries adds the look-ups that keep the entries of a fixed tensor in its range.
func (b *builder) entries(id model.TensorID) (bounds.Interval, error) {
	t := b.g.Tensors[id]
	bits := max(1, model.Log2Ceil(int(t.Max-t.Min)+1))
	if bits > widest {
		return bounds.Interval{}, fmt.Errorf("its range [%d, %d] has more than %d bits", t.Min, t.Max, widest)
	}
	// W − Min and Max − W are both in [0, 2^bits). As 2·(2^30 − 1) < p = 2^31 − 1, W is between Min and Max.
	b.inRange(t.Name, t.Shape, model.Acc{Const: -t.Min, Linear: []model.Linear{{Coef: 1, Src: id}}}, bits)
	if t.Max-t.Min+1 < 1<<bits {
		b.inRange(t.Name, t.Shape, model.Acc{Const: t.Max, Linear: []model.Linear{{Coef: -1, Src: id}}}, bits)
	}
	return bounds.Interval{Min: t.Min, Max: t.Max}, nil
}

// summed adds the look-ups for a tensor that products sum over. One of its entries w gives the positive
// part P ≥ max(w, 0), which is committed to, and keeps w in [−2^(bits−1), 2^(bits−1)), the least such
// range with [Min, Max] in it. The others bound the given sums (indexes of c.sums) of P, of P − w and
// of 2·P − w, which is at least |w|.
func (c *circuit) summed(b *builder, of model.TensorID, sums []int) error {
	id := c.fixed[of]
	t := b.g.Tensors[id]
	bits := 1 // of a table of keys [−2^(bits−1), 2^(bits−1))
	for t.Min < -(1<<(bits-1)) || t.Max >= 1<<(bits-1) {
		bits++
	}
	cut := max(0, bits-weights)
	if bits > widest {
		return fmt.Errorf("its range [%d, %d] has more than %d bits", t.Min, t.Max, widest)
	}
	half := int64(1) << (bits - cut - 1)
	positive := b.add(model.Tensor{Name: "positive part", Shape: t.Shape, Kind: model.Witness, Max: half - 1})
	rows := b.table(model.Table{
		Name: fmt.Sprintf("positive part %d", bits-cut), Kind: model.TablePiecewise, Bits: bits - cut, Min: -half,
		Pieces: []model.Piece{{End: half}, {End: 2 * half, Slope: 1}},
	})
	low := b.lookup(t.Name, t.Shape, model.Acc{Linear: []model.Linear{{Coef: 1, Src: id}}}, cut, rows, positive)
	// What an entry takes from a bound: −P, −(P − w) and −(2·P − w), with P = 2^cut·positive + low.
	less := make([][]model.Linear, 3)
	for i, times := range []int64{1, 1, 2} {
		less[i] = append(less[i], model.Linear{Coef: -times << cut, Src: positive})
		if low != model.None {
			less[i] = append(less[i], model.Linear{Coef: -times, Src: low})
		}
		if i > 0 {
			less[i] = append(less[i], model.Linear{Coef: 1, Src: id})
		}
	}
	c.cuts[of] = cut
	c.ranges[of] = bounds.Interval{Min: -1 << (bits - 1), Max: 1<<(bits-1) - 1}
	for _, i := range sums {
		for part, terms := range less {
			if err := b.sum(t, c.sums[i].Axes, 3*i+part, terms, bits); err != nil {
				return err
			}
		}
	}
	return nil
}

// sum adds the look-ups that prove 0 ≤ S − Σ for every index of the axes that are not summed. S is
// entry at of the certificate's input. Σ sums a part of every entry of t, such as P, over some
// axes (bit a of axes is axis a). less is the negative of that part, which is in [0, 2^bits].
//
// One look-up would show this modulo p only. So Σ is subtracted from S in pieces along the longest
// axis, each below 2^30, and what is left after every piece is looked up in [0, 2^30). A number in
// [0, 2^30) less a piece is above −2^30, so if it is negative, it is no number in [0, 2^30) modulo p.
func (b *builder) sum(t model.Tensor, axes uint, at int, less []model.Linear, bits int) error {
	view := &model.View{}
	longest, others := -1, int64(1) // the longest axis that is summed, and the entries along the others for each of its indexes
	var shape []int
	for a, d := range t.Shape {
		g := model.Group{In: []int{a}}
		if axes>>a&1 == 1 {
			g.Sum = []model.SumIndex{{Dim: d, Stride: 1}}
			others *= int64(d)
			if longest < 0 || d > t.Shape[longest] {
				longest = a
			}
		} else {
			g.Out, g.Strides = []int{len(shape)}, []int{1}
			shape = append(shape, d)
		}
		view.Groups = append(view.Groups, g)
	}
	others /= int64(t.Shape[longest])
	most := others << bits // bounds the sum for one index of the longest axis
	if others > model.Bound || most >= model.Bound {
		return fmt.Errorf("sums over %d entries at once do not fit in %d bits", others, widest)
	}
	for step, to := int((model.Bound-1)/most), 0; to < t.Shape[longest]; {
		to = min(to+step, t.Shape[longest])
		v := &model.View{Groups: slices.Clone(view.Groups)}
		v.Groups[longest].Sum = []model.SumIndex{{Dim: to, Stride: 1}}
		if len(b.g.Steps) > maxSteps {
			return errSteps
		}
		acc := model.Acc{Linear: []model.Linear{{Coef: 1, Src: b.sums, View: entry(at, len(shape))}}}
		for _, l := range less {
			acc.Linear = append(acc.Linear, model.Linear{Coef: l.Coef, Src: l.Src, View: v})
		}
		b.inRange(t.Name, shape, acc, widest)
	}
	return nil
}

// entry views entry at of a list as a tensor of the given rank, all of whose entries are that one.
func entry(at, rank int) *model.View {
	v := &model.View{Groups: []model.Group{{In: []int{0}, Base: at}}}
	for j := range rank {
		v.Groups = append(v.Groups, model.Group{Out: []int{j}, Strides: []int{0}})
	}
	return v
}
