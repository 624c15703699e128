package onnx

import (
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/onnx/onnxpb"
)

// mostSteps bounds the steps of a recurrent operator, which is unrolled.
const mostSteps = 4096

// recurrent has the inputs and attributes that LSTM, GRU and RNN share.
type recurrent struct {
	*op
	x                    graph.Value // (time, batch, inputs)
	steps, batch, hidden int
	gates                int
	directions           int
	reverse              []bool
	activations          []func(graph.Value) graph.Value
	clip                 float64
	lens                 []int // lengths of the batch's sequences; nil if all have length steps
	batchFirst           bool
}

// directions says, for each direction of a recurrent operator, whether it goes from the
// last step to the first.
var directions = map[string][]bool{"forward": {false}, "reverse": {true}, "bidirectional": {false, true}}

// recurrent reads and checks these inputs and attributes. The operator has the given numbers of
// gates, and of activation functions for each direction, whose default names are given.
func (o *op) recurrent(gates, functions int, defaults ...string) *recurrent {
	r := &recurrent{op: o, gates: gates, x: o.in(0)}
	r.batchFirst = o.flagAttr("layout", false)
	if r.batchFirst {
		r.x = o.Transpose(r.x, []int{1, 0, 2})
	}
	in, sr := o.shape(r.x), o.shape(o.in(2))
	o.failIf(len(in) != 3 || len(sr) != 3, "input and recurrence have shapes %v and %v", in, sr)
	r.steps, r.batch, r.hidden = in[0], in[1], sr[2]
	o.failIf(r.steps > mostSteps, "%d steps; %d at most are supported", r.steps, mostSteps)
	o.ignore("hidden_size")
	r.reverse = choiceAttr(o, "direction", "forward", directions)
	r.directions = len(r.reverse)
	sw := o.shape(o.in(1))
	o.failIf(!slices.Equal(sw, []int{r.directions, gates * r.hidden, in[2]}) || !slices.Equal(sr[:2], sw[:2]),
		"weights of shapes %v and %v for an input of shape %v", sw, sr, in)
	r.clip = o.floatAttr("clip", 0)
	names := o.stringsAttr("activations")
	if len(names) == 0 {
		names = slices.Repeat(defaults, r.directions)
	}
	o.failIf(len(names) != functions*r.directions, "%d activations, not %d", len(names), functions*r.directions)
	alpha, beta := o.floatsAttr("activation_alpha"), o.floatsAttr("activation_beta")
	r.activations = each(names, func(name string) func(graph.Value) graph.Value { return o.activation(name, &alpha, &beta) })
	if o.has(4) {
		r.lens = o.lengthsOf(r.batch, r.steps)
	}
	return r
}

// lengthsOf reads the lengths of the batch's sequences; nil if all of them are steps.
func (o *op) lengthsOf(batch, steps int) []int {
	list := o.intsInput(4, "the lengths of the sequences")
	o.failIf(len(list) != batch, "%d lengths for a batch of %d", len(list), batch)
	lens := make([]int, batch)
	for i, n := range list {
		o.failIf(n < 0 || n > int64(steps), "lengths %v of %d steps", list, steps)
		lens[i] = int(n)
	}
	if len(lens) == 0 || slices.Min(lens) == steps {
		return nil
	}
	return lens
}

// activation returns the activation function of this name. A function with parameters
// takes them from the beginning of the lists, which it shortens.
func (o *op) activation(name string, alpha, beta *[]float64) func(graph.Value) graph.Value {
	take := func(list *[]float64, def float64) float64 {
		if len(*list) == 0 {
			return def
		}
		v := (*list)[0]
		*list = (*list)[1:]
		return v
	}
	switch name {
	case "Affine":
		a, b := take(alpha, 1), take(beta, 0)
		return func(x graph.Value) graph.Value { return o.affine(x, a, b) }
	case "ScaledTanh":
		a, b := take(alpha, 1), take(beta, 1)
		return func(x graph.Value) graph.Value { return o.Mul(o.Apply(graph.Tanh, o.Mul(x, o.Number(b))), o.Number(a)) }
	case "LeakyRelu", "Elu", "HardSigmoid":
		f, lists := graph.FunctionNamed(name), map[string]*[]float64{"alpha": alpha, "beta": beta}
		params := each(f.Params, func(p graph.Param) float64 { return take(lists[p.Name], p.Default) })
		return func(x graph.Value) graph.Value { return o.Apply(f, x, params...) }
	case "Relu", "Tanh", "Sigmoid", "Softsign", "Softplus":
		f := graph.FunctionNamed(name)
		return func(x graph.Value) graph.Value { return o.Apply(f, x) }
	}
	o.failf("activation %s is not supported", graph.Quote(name))
	return nil
}

// stringsAttr returns a list of strings, empty if there is none.
func (o *op) stringsAttr(name string) []string {
	a := o.attr(name, onnxpb.AttributeProto_STRINGS)
	return each(a.GetStrings(), func(s []byte) string { return string(s) })
}

// of returns the part of direction d of an input whose first axis is the direction.
func (r *recurrent) of(v graph.Value, d int) graph.Value {
	s := r.shape(v)
	r.failIf(len(s) == 0 || s[0] != r.directions, "a tensor of shape %v for %d directions", s, r.directions)
	return r.Reshape(r.SliceAxis(v, 0, d, 1, 1), s[1:])
}

// part returns the part of v for gate i: along the last axis, the hidden entries from
// i·hidden on.
func (r *recurrent) part(v graph.Value, i int) graph.Value {
	return r.SliceAxis(v, len(r.shape(v))-1, i*r.hidden, 1, r.hidden)
}

// projected is x·Wᵀ for all steps at once, of shape (time, batch, gates·hidden).
func (r *recurrent) projected(d int) graph.Value {
	return r.MatMul(r.x, r.Transpose(r.of(r.in(1), d), []int{1, 0}))
}

// biases returns the two halves of B, which are added to x·Wᵀ and h·Rᵀ; zero Values if
// there is no B.
func (r *recurrent) biases(d int) (w, u graph.Value) {
	if !r.has(3) {
		return
	}
	b := r.of(r.in(3), d)
	n := r.gates * r.hidden
	s := r.shape(b)
	r.failIf(len(s) != 1 || s[0] != 2*n, "a bias of shape %v for %d gates of %d", s, r.gates, r.hidden)
	return r.SliceAxis(b, 0, 0, 1, n), r.SliceAxis(b, 0, n, 1, n)
}

// initial returns the initial state of direction d: from input i, or zeros if that is
// absent.
func (r *recurrent) initial(i, d int) graph.Value {
	if !r.has(i) {
		zero := &graph.Tensor{Shape: []int{}, DType: graph.Float, F32: []float32{0}, Public: true}
		return r.Fill([]int{r.batch, r.hidden}, zero)
	}
	v := r.in(i)
	if r.batchFirst {
		v = r.Transpose(v, []int{1, 0, 2})
	}
	return r.of(v, d)
}

// plus is a sum with a bias that may be missing.
func (r *recurrent) plus(x, bias graph.Value) graph.Value {
	if !r.Valid(bias) {
		return x
	}
	return r.Add(x, bias)
}

// clipped applies the attribute clip, which limits the argument of an activation.
func (r *recurrent) clipped(x graph.Value) graph.Value {
	if r.clip <= 0 {
		return x
	}
	return r.Clip(x, -r.clip, r.clip)
}

// run unrolls direction d. step computes the next states from the projected input of a
// step and the states before it. Its first state is also the output of the step. run
// returns the outputs in the order of time, and the last states. Beyond the end of a
// shorter sequence outputs are 0 and states stay.
func (r *recurrent) run(d int, projected graph.Value, states []graph.Value, step func(x graph.Value, states []graph.Value) []graph.Value) (outs []graph.Value, last []graph.Value) {
	outs = make([]graph.Value, r.steps)
	width := r.shape(projected)[2]
	for k := range r.steps {
		t := k
		if r.reverse[d] {
			t = r.steps - 1 - k
		}
		x := r.Reshape(r.SliceAxis(projected, 0, t, 1, 1), []int{r.batch, width})
		next := step(x, states)
		out := next[0]
		if r.lens != nil {
			r.room(r.batch)
			if slices.Min(r.lens) <= t { // some sequences are over
				mask := r.truths([]int{r.batch, 1}, func(i int) bool { return t < r.lens[i] })
				out = r.Where(mask, out, r.Number(0))
				for i := range next {
					next[i] = r.Where(mask, next[i], states[i])
				}
			}
		}
		outs[t] = r.Reshape(out, []int{1, 1, r.batch, r.hidden})
		states = next
	}
	return outs, states
}

// results makes the joined outputs of all directions output 0, and the last states the
// further outputs.
func (r *recurrent) results(outs, states [][]graph.Value) {
	if r.wanted(0) {
		joined := func(steps []graph.Value) graph.Value { return r.Concat(0, steps...) }
		y := r.Concat(1, each(outs, joined)...) // (time, directions, batch, hidden)
		if r.batchFirst {
			y = r.Transpose(y, []int{2, 0, 1, 3})
		}
		r.result(0, y)
	}
	for i := range states[0] {
		if !r.wanted(1 + i) {
			continue
		}
		last := func(s []graph.Value) graph.Value { return r.Reshape(s[i], []int{1, r.batch, r.hidden}) }
		y := r.Concat(0, each(states, last)...)
		if r.batchFirst {
			y = r.Transpose(y, []int{1, 0, 2})
		}
		r.result(1+i, y)
	}
}

// lowerRNN is h = f(x·Wᵀ + h·Rᵀ + b).
func lowerRNN(o *op) {
	r := o.recurrent(1, 1, "Tanh")
	outs, states := make([][]graph.Value, r.directions), make([][]graph.Value, r.directions)
	for d := range r.directions {
		bw, bu := r.biases(d)
		x := r.plus(r.plus(r.projected(d), bw), bu)
		u := r.Transpose(r.of(r.in(2), d), []int{1, 0})
		outs[d], states[d] = r.run(d, x, []graph.Value{r.initial(5, d)}, func(x graph.Value, s []graph.Value) []graph.Value {
			return []graph.Value{r.activations[d](r.clipped(r.Add(x, r.MatMul(s[0], u))))}
		})
	}
	r.results(outs, states)
}

// lowerGRU is h = (1 − z)·n + z·h with gates z, r, n.
func lowerGRU(o *op) {
	r := o.recurrent(3, 2, "Sigmoid", "Tanh")
	linear := o.flagAttr("linear_before_reset", false)
	outs, states := make([][]graph.Value, r.directions), make([][]graph.Value, r.directions)
	for d := range r.directions {
		f, g := r.activations[2*d], r.activations[2*d+1]
		bw, bu := r.biases(d)
		x := r.plus(r.projected(d), bw)
		u := r.Transpose(r.of(r.in(2), d), []int{1, 0})
		gates, candidate := r.SliceAxis(u, 1, 0, 1, 2*r.hidden), r.part(u, 2)
		var bg, bn graph.Value
		if r.Valid(bu) {
			bg, bn = r.SliceAxis(bu, 0, 0, 1, 2*r.hidden), r.part(bu, 2)
		}
		outs[d], states[d] = r.run(d, x, []graph.Value{r.initial(5, d)}, func(x graph.Value, s []graph.Value) []graph.Value {
			h := s[0]
			zr := r.Add(r.SliceAxis(x, 1, 0, 1, 2*r.hidden), r.plus(r.MatMul(h, gates), bg))
			zr = f(r.clipped(zr))
			z, reset := r.part(zr, 0), r.part(zr, 1)
			var n graph.Value
			if linear {
				n = r.Mul(reset, r.plus(r.MatMul(h, candidate), bn))
			} else {
				n = r.plus(r.MatMul(r.Mul(reset, h), candidate), bn)
			}
			n = g(r.clipped(r.Add(r.part(x, 2), n)))
			return []graph.Value{r.Add(n, r.Mul(z, r.Sub(h, n)))}
		})
	}
	r.results(outs, states)
}

// lowerLSTM has the gates i, o, f and c, in this order, and peepholes if they are given:
// the new cell state is f·cell + i·c, and the output is o·h(new cell state).
func lowerLSTM(o *op) {
	r := o.recurrent(4, 3, "Sigmoid", "Tanh", "Tanh")
	coupled := o.flagAttr("input_forget", false)
	outs, states := make([][]graph.Value, r.directions), make([][]graph.Value, r.directions)
	for d := range r.directions {
		f, g, h := r.activations[3*d], r.activations[3*d+1], r.activations[3*d+2]
		bw, bu := r.biases(d)
		x := r.plus(r.plus(r.projected(d), bw), bu)
		u := r.Transpose(r.of(r.in(2), d), []int{1, 0})
		var peep graph.Value
		if r.has(7) {
			peep = r.of(r.in(7), d)
		}
		look := func(x, c graph.Value, i int) graph.Value {
			if !r.Valid(peep) {
				return x
			}
			return r.Add(x, r.Mul(r.part(peep, i), c))
		}
		outs[d], states[d] = r.run(d, x, []graph.Value{r.initial(5, d), r.initial(6, d)}, func(x graph.Value, s []graph.Value) []graph.Value {
			cell := s[1]
			all := r.Add(x, r.MatMul(s[0], u))
			in := f(r.clipped(look(r.part(all, 0), cell, 0)))
			var forget graph.Value
			if coupled {
				forget = r.Sub(r.Number(1), in)
			} else {
				forget = f(r.clipped(look(r.part(all, 2), cell, 2)))
			}
			next := r.Add(r.Mul(forget, cell), r.Mul(in, g(r.clipped(r.part(all, 3)))))
			out := f(r.clipped(look(r.part(all, 1), next, 1)))
			return []graph.Value{r.Mul(out, h(next)), next}
		})
	}
	r.results(outs, states)
}
