package certify

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/reduce"
	"github.com/prove-model/prove-model/prover/protocol/whir"
	"github.com/prove-model/prove-model/prover/verifier"
)

// honest is what a witness is made of: the weights and the sums, by tensor of the key.
func (c *circuit) honest(t *testing.T, of committed) *forward.Witness {
	t.Helper()
	g := c.key.Circuit.Graph
	own := make(model.Weights, len(g.Tensors))
	for id, fixed := range c.fixed {
		own[fixed] = of.w[id]
	}
	sums := make([]int32, model.Size(g.Tensors[g.Inputs[0]].Shape))
	said := c.measured(of.key.Circuit.Graph, of.w)
	for i, s := range c.sums {
		sums[3*i], sums[3*i+1], sums[3*i+2] = int32(said.Sums[s].Positive), int32(said.Sums[s].Negative), int32(said.Sums[s].Both)
	}
	at, err := c.key.Plan(c.key.Circuit.Unit())
	if err != nil {
		t.Fatal(err)
	}
	w, err := forward.Run(context.Background(), at.Graph, own, [][]int32{sums})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// forge follows the protocol, without a look at its own claims, with a witness that may
// have been altered.
func (c *circuit) forge(t *testing.T, of committed, alter func(w *forward.Witness)) []byte {
	t.Helper()
	w := c.honest(t, of)
	if alter != nil {
		alter(w)
	}
	p, err := c.key.Plan(c.key.Circuit.Unit())
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	b := cpu.New(p.Graph, w)
	defer b.Close()
	file := bytes.NewBuffer(head(of.key, c.extras.encode()))
	inputs, outputs := [][]int32{w.Tensor(p.Graph.Inputs[0])}, [][]int32(nil)
	for _, id := range p.Graph.Outputs {
		outputs = append(outputs, w.Tensor(id))
	}
	out, err := proof.NewWriter(file, proof.NewHeader(c.key, p), p.Frames)
	check(err)
	check(out.WritePublic(p.Graph, inputs, outputs))
	main := proof.NewHeader(c.key, p).Statement(inputs, outputs)
	send := transcript.NewWriter(main)
	trees := make([]*whir.Tree, len(p.Trees))
	for i := range p.Trees {
		if p.Trees[i].Fixed {
			trees[i] = of.tree[i]
		} else {
			trees[i], err = b.Commit(ctx, p.Trees[i].Commitment)
			check(err)
			send.SendDigest(trees[i].Root())
		}
	}
	check(out.Write(send.Bytes()))
	var claims []plan.Claim
	var forks []*transcript.Sponge
	for i, f := range p.Forks {
		send := transcript.NewWriter(main.Fork(uint64(i)))
		role := reduce.NewUncheckedProver(ctx, send, b)
		claims = append(claims, reduce.Run(p, f, role, reduce.Public{Inputs: inputs, Outputs: outputs})...)
		check(role.Err())
		check(out.Write(send.Bytes()))
		forks = append(forks, send.Sponge)
	}
	main.Join(forks...)
	send = transcript.NewWriter(main)
	o := p.Opening()
	tau := send.Challenges(p.TailVars())
	terms, value := p.Combine(claims, tau, send.Challenge())
	passes, err := b.Opening(ctx, o)
	check(err)
	defer passes.Close()
	check(whir.Open(ctx, send, o.Params, trees, passes, o.RowOffsets, terms, value))
	check(out.Write(send.Bytes()))
	check(out.Close())
	return file.Bytes()
}

// Provers with full knowledge who claim too much of their weights are refused.
func TestDishonest(t *testing.T) {
	const count, weight = 9, 127
	w := random(count, weight, 1000)
	of := commit(t, layer(count, weight, 1000), w, quick)
	c, err := derive(of.key, &extras{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(of.key, bytes.NewReader(c.forge(t, of, nil)), anyBits); err != nil {
		t.Fatal("an honest one:", err)
	}
	g := c.key.Circuit.Graph
	sums := g.Inputs[0]
	// The look-ups of a fixed tensor, and those of slacks with what is left of them.
	var entries, slack int
	for i := range g.Steps {
		switch s := &g.Steps[i]; {
		case s.Out != model.None:
			entries = i
		case len(s.Acc.Linear) > 1 && slack == 0:
			slack = i
		}
	}
	positive, low := g.Steps[entries].Out, g.Steps[slack].Lo
	// The channel with the greatest sum has no slack.
	full := -1
	honest := c.honest(t, of)
	for i, key := range honest.Keys[slack] {
		if key == 0 && honest.Values[low][i] == 0 {
			full = i
		}
	}
	if full < 0 {
		t.Fatal("no channel is full")
	}
	less := func(w *forward.Witness) {
		w.Values[sums] = append([]int32{w.Values[sums][0] - 1}, w.Values[sums][1:]...)
	}
	for name, alter := range map[string]func(w *forward.Witness){
		"a sum that is too small": less,
		"and its slack is negative": func(w *forward.Witness) {
			less(w)
			w.Values[low][full], w.Keys[slack][full] = 1<<15-1, -1
		},
		"and modulo p it is a number": func(w *forward.Witness) {
			less(w)
			// p − 1 = 2^15·65535 + 2^15 − 2.
			w.Values[low][full], w.Keys[slack][full] = 1<<15-2, 1<<16-1
		},
		"and a positive part as well": func(w *forward.Witness) {
			less(w)
			for i := full * count; ; i++ {
				if w.Values[positive][i] > 0 {
					w.Values[positive][i]--
					return
				}
			}
		},
		"no positive parts": func(w *forward.Witness) {
			clear(w.Values[positive])
		},
		"larger sums than its slack": func(w *forward.Witness) { w.Values[sums][1]++ },
	} {
		if _, err := Verify(of.key, bytes.NewReader(c.forge(t, of, alter)), anyBits); !errors.Is(err, verifier.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}

	// The weights under the root are others than those that the rest is about.
	for name, change := range map[string]func(w, b []int32){
		"a weight is out of range": func(w, _ []int32) { w[5] = 1 << 20 },
		"it is negative":           func(w, _ []int32) { w[5] = -1 << 20 },
		"just out of range":        func(w, _ []int32) { w[5] = 128 },
		"a weight makes a sum too large": func(w, _ []int32) {
			for i := full * count; ; i++ {
				if w[i] >= 0 && w[i] < 127 {
					w[i]++
					return
				}
			}
		},
		"a bias is out of range": func(_, b []int32) { b[1] = 1001 },
	} {
		x, y := ints.All(w[1]), ints.All(w[2])
		change(x, y)
		hostile := commit(t, layer(count, weight, 1000), model.Weights{1: ints.Of(x), 2: ints.Of(y)}, quick)
		c, err := derive(hostile.key, &extras{})
		if err != nil {
			t.Fatal(err)
		}
		// The witness is that of weights as they should be; what is opened is not.
		said := hostile
		said.w = w
		for _, follow := range []bool{false, true} {
			file := c.forge(t, said, func(wit *forward.Witness) {
				wit.Weights[c.fixed[1]], wit.Weights[c.fixed[2]] = hostile.w[1], hostile.w[2]
				for i := range x {
					if follow && x[i] != ints.All(w[1])[i] {
						wit.Values[positive][i], wit.Keys[entries][i] = max(x[i], 0), x[i]
					}
				}
			})
			if _, err := Verify(hostile.key, bytes.NewReader(file), anyBits); !errors.Is(err, verifier.ErrInvalid) {
				t.Errorf("%s (%t): %v", name, follow, err)
			}
		}
	}
}

// To state weights does not make their sums anybody's choice.
func TestStatedWeights(t *testing.T) {
	w := random(9, 127, 1000)
	of := commit(t, layer(9, 127, 1000), w, quick)
	c, err := derive(of.key, &extras{stated: []model.TensorID{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	said, err := Verify(of.key, bytes.NewReader(c.forge(t, of, nil)), anyBits)
	if err != nil || len(said.Sums) != 1 {
		t.Fatalf("honest: %v", err)
	}
	file := c.forge(t, of, func(w *forward.Witness) { w.Values[c.key.Circuit.Graph.Inputs[0]] = make([]int32, 3) })
	if _, err := Verify(of.key, bytes.NewReader(file), anyBits); !errors.Is(err, verifier.ErrInvalid) {
		t.Errorf("sums of 0: %v", err)
	}
}
