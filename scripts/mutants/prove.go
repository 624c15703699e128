package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prove-model/prove-model/internal/golden"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/prover"
)

// most is the most entries (size) of a circuit that is run.
const most = 1 << 17

// prove makes an honest proof for a mutated key, or returns nil if that cannot be done. It uses the case's weights
// and inputs where they still fit, and draws others where not. The key that it returns has the root of these weights.
func prove(c *golden.Case, file []byte, rng *rand.Rand) (made *golden.Files) {
	what := "reading the key"
	defer func() {
		if p := recover(); p != nil { // a panic is a bug of the prover, whatever the key
			panic(fmt.Sprintf("%s, a mutant of %s: %v\n%x", what, c.Name, p, file))
		}
	}()
	key, err := proof.DecodeKey(file)
	if err != nil {
		return nil
	}
	in := instance(c, key.Circuit, rng)
	what = "its circuit"
	g, err := key.Circuit.At(in)
	if err != nil || size(g) > most {
		return nil
	}
	w, inputs := weights(c, key.Circuit.Graph, rng), inputs(c, g, rng)
	if inputs == nil {
		return nil
	}
	what = "running it"
	wit, err := forward.Run(context.Background(), g, w, inputs)
	if err != nil {
		return nil
	}
	what = "what it reveals"
	if wit, in, err = revealed(key.Circuit, in, wit, rng); err != nil {
		return nil
	}
	defer wit.Close()
	what = "committing to it"
	own, tree, err := prover.Commit(context.Background(), key.Circuit, w, key.Security, prover.Options{})
	if err != nil {
		return nil
	}
	if own.Source, own.Texts = key.Source, key.Texts; own.SetSource(key.Source) != nil {
		return nil
	}
	what = "proving it"
	var out bytes.Buffer
	opts := prover.Options{}
	if in.Hides() || rng != nil && rng.IntN(4) == 0 {
		opts.Hiding = &prover.Hiding{TailLog: 2 + rng.IntN(3)} // with masks that are drawn anew each time
	}
	if _, err := prover.Prove(context.Background(), own, in, tree, wit, &out, opts); err != nil {
		return nil
	}
	return &golden.Files{Key: own.Encoded(), Proof: out.Bytes()}
}

// revealed makes some runs, at random, state only the greatest entries of outputs, where that can be proved, or hide inputs and outputs.
// Without a generator it changes nothing.
func revealed(t *model.Template, in model.Instance, wit *forward.Witness, rng *rand.Rand) (*forward.Witness, model.Instance, error) {
	if rng == nil {
		return wit, in, nil
	}
	of := in
	for i := range t.Graph.Outputs {
		if r := (model.Reveal{Output: i, Top: rng.IntN(4)}); rng.IntN(3) == 0 {
			of.Reveals = append(of.Reveals, r)
		}
	}
	if rng.IntN(4) == 0 {
		for i := range t.Graph.Inputs {
			if rng.IntN(2) == 0 {
				of.HiddenInputs = append(of.HiddenInputs, i)
			}
		}
		for i := range t.Graph.Outputs {
			if rng.IntN(3) == 0 && !slices.ContainsFunc(of.Reveals, func(r model.Reveal) bool { return r.Output == i }) {
				of.HiddenOutputs = append(of.HiddenOutputs, i)
			}
		}
	}
	if len(of.Reveals) == 0 && !of.Hides() {
		return wit, in, nil
	}
	g, err := t.At(of)
	if err != nil || size(g) > most {
		return wit, in, nil
	}
	wit, err = forward.Restate(context.Background(), nil, wit, g)
	return wit, of, err
}

// instance draws the sizes and the chunks of a circuit; often they are those of the case.
// Without a generator it returns the case's own.
func instance(c *golden.Case, t *model.Template, rng *rand.Rand) model.Instance {
	if rng == nil {
		return c.Instance
	}
	in := t.Unit()
	for f := range in.Sizes {
		in.Sizes[f] = 1 + rng.IntN(min(t.Free[f].Bound, 3))
		if f < len(c.Instance.Sizes) && rng.IntN(4) > 0 {
			in.Sizes[f] = c.Instance.Sizes[f]
		}
	}
	if in.Texts = c.Instance.Texts; rng.IntN(4) == 0 {
		in.Texts = rng.IntN(4)
	}
	if rng.IntN(2) == 0 {
		in.ChunkEntries = c.Instance.ChunkEntries
	} else if rng.IntN(4) == 0 {
		in.ChunkEntries = 1 + rng.IntN(1000)
	}
	return in
}

// size estimates the work of running a circuit: the entries of all tensors and steps, and a part of the products' operations.
func size(g *model.Graph) int {
	n := 0
	for i := range g.Tensors {
		n += min(model.Size(g.Tensors[i].Shape), most+1)
	}
	for i := range g.Steps {
		n += min(model.Size(g.Steps[i].Shape), most+1)
		for _, p := range g.Steps[i].Acc.Products {
			n += min(model.Size(g.Tensors[p.A].Shape), most+1) * min(model.Size(g.Tensors[p.B].Shape), most+1) >> 8
		}
	}
	return n
}

// weights are those of the case for the tensors whose size still fits, and drawn ones for the others.
func weights(c *golden.Case, g *model.Graph, rng *rand.Rand) model.Weights {
	w := make(model.Weights, len(g.Tensors))
	for _, id := range g.FixedIDs() {
		t := &g.Tensors[id]
		if int(id) < len(c.Weights) && c.Weights[id] != nil && c.Weights[id].Len() == model.Size(t.Shape) {
			w[id] = c.Weights[id]
			continue
		}
		w[id] = ints.Int32s(drawn(t, rng))
	}
	return w
}

// inputs are those of the case where they still fit, and drawn ones elsewhere. They are nil if an input that follows from the given ones
// would be out of its range.
func inputs(c *golden.Case, g *model.Graph, rng *rand.Rand) [][]int32 {
	given := g.Given()
	list := make([][]int32, len(given))
	for i, id := range given {
		t := &g.Tensors[id]
		if t.Kind == model.Empty {
			continue
		}
		if i < len(c.Inputs) && len(c.Inputs[i]) == model.Size(t.Shape) && within(c.Inputs[i], t) {
			list[i] = c.Inputs[i]
			continue
		}
		list[i] = drawn(t, rng)
	}
	list = g.Widen(list, nil, true)
	for i, id := range g.Inputs[len(given):] {
		if !within(list[len(given)+i], &g.Tensors[id]) {
			return nil
		}
	}
	return list
}

func within(v []int32, t *model.Tensor) bool {
	for _, x := range v {
		if int64(x) < t.Min || int64(x) > t.Max {
			return false
		}
	}
	return true
}

// drawn are random entries of a tensor, within its range.
func drawn(t *model.Tensor, rng *rand.Rand) []int32 {
	v := make([]int32, model.Size(t.Shape))
	for i := range v {
		v[i] = int32(t.Min + rng.Int64N(t.Max-t.Min+1))
	}
	return v
}

// renamed is the proof of a golden case, changed to name another key, with a correct checksum.
func renamed(of golden.Files, key []byte) []byte {
	file := bytes.Replace(of.Proof, digest(of.Key), digest(key), 1)
	end := protowire.AppendBytes([]byte{0x3a}, make([]byte, sha256.Size))
	body := file[:len(file)-len(end)-1]
	sum := sha256.Sum256(body)
	return append(bytes.Clone(body), append([]byte{byte(len(end))}, protowire.AppendBytes([]byte{0x3a}, sum[:])...)...)
}
