package provemodel

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/prover/chain"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/prover/verifier"
)

// OpenChain returns the chain that the proofs of a text's segments are, in order: ProveSegment proves the next one. The proofs are
// verified, with the rule by which tokens were drawn (ProveOptions.Sampling), nil if each is the likeliest. stored has the keys and values of
// the segments as files (chain.Chain.Stored). Where one is missing, or was altered, they are computed again from the tokens, and the observer is
// warned. The circuit must be of a model that writes (MaxTokens), for texts of any length. stored and opts may be nil.
func (c *Committed) OpenChain(ctx context.Context, proofs, stored [][]byte, opts *ProveOptions) (_ *chain.Chain, err error) {
	defer must.Catch(&err)
	o := orDefault(opts)
	ch := &chain.Chain{By: o.Sampling}
	if len(proofs) == 0 {
		return ch, nil
	}
	w := newWatch(o.Observer)
	defer w.stop()
	found, err := verifier.Policy{MinBits: 1, Sampling: o.Sampling}.Chain(c.key, nil, nil, readersOf(proofs)...)
	if err != nil {
		return nil, invalid(err)
	}
	for i, r := range found.Segments {
		s := must.Get(c.segment(ch, slices.Concat(r.Written.Prompt, r.Written.Tokens), len(r.Inputs[1])))
		var file []byte
		if i < len(stored) {
			file = stored[i]
		}
		own, err := chain.Read(file, r.Segment.Statement, s.ownSizes())
		if err != nil {
			w.warn("keys and values of segment %d: %v; they are computed again", i+1, err)
			s.o, s.w, s.device = o, w, orProcessor(o.Device)
			own = must.Get(s.again(ctx))
		}
		ch.Add(r, own)
	}
	return ch, nil
}

// readersOf are files to be read.
func readersOf(files [][]byte) []io.Reader {
	return seq.Map(files, func(f []byte) io.Reader { return bytes.NewReader(f) })
}

// Begun returns what a chain has of its text, for a text that goes on from it (GenerateOptions.Prefix): the processor does not compute it
// again. Of keys and values that the model cannot have it has nothing. What is written with others than the model's does not hold with the
// chain's proofs: ProveSegment refuses it.
func (c *Committed) Begun(ch *chain.Chain) (_ *Pass, err error) {
	defer must.Catch(&err)
	p := &Pass{text: keptText{circuit: c.circuit, caches: c.circuit.caches()}}
	if ch.Segments() == 0 || p.text.caches == nil {
		return p, nil
	}
	g := must.Get(c.circuit.quantised.Circuit.At(c.circuit.quantised.Circuit.Choose(ch.Instance(1, 1))))
	own := g.Apart[g.OwnTree()].Tensors
	values, tokens := ch.Values(), ch.Tokens()
	var caches []forward.RowCache
	var parts [][][]int32
	for _, x := range p.text.caches {
		k := slices.Index(own, x.Of)
		if k < 0 { // an input, or what is read of later rows alone, where there are logits
			continue
		}
		t := &c.circuit.quantised.Graph.Tensors[x.Of]
		var list [][]int32
		for i := k; i < len(values); i += len(own) {
			if slices.ContainsFunc(values[i], func(v int32) bool { return int64(v) < t.Min || int64(v) > t.Max }) {
				return p, nil
			}
			list = append(list, values[i])
		}
		caches, parts = append(caches, x), append(parts, list)
	}
	if len(caches) < len(own) {
		return p, nil
	}
	p.text.tokens, p.text.kept = tokens, forward.NewFirstRows(c.circuit.quantised.Graph, caches, len(tokens), parts)
	return p, nil
}

// again computes the keys and values of a segment that has been proved.
func (r *proving) again(ctx context.Context) (_ [][]int32, err error) {
	defer must.Catch(&err)
	p, _, err := r.planned(r.o, r.model)
	must.OK(err)
	set := r.device.set()
	set.Reserve(p, 1, r.w.warn)
	var made [][]int32
	must.OK(await(ctx, func() error {
		wit, err := forward.RunOn(ctx, set.Machine(r.o.share(), p, r.w.warn), r.model.Graph, r.model.Weights, r.segment.behind(r.ints))
		if err != nil {
			return err
		}
		defer wit.Close()
		made = r.own(wit)
		return set.Kept(wit, r.w.warn)
	}))
	return made, nil
}

// ofSegment is what the proof of a segment has beside that of a text.
type ofSegment struct {
	imports [][]int32 // keys and values of the segments before
	next    *prover.Segment
	result  *verifier.Result
}

// segment is the proof of a chain's next segment, of these tokens with logits at the last n positions.
func (c *Committed) segment(ch *chain.Chain, ids []int, n int) (_ *proving, err error) {
	defer must.Catch(&err)
	if c.hiding != nil {
		return nil, fmt.Errorf("%w: the key hides weights, and roots of keys and values would show what is known of them: prove the text as one", model.ErrSegment)
	}
	if c.circuit.refuse != nil {
		must.OK(c.circuit.refuse(reals(append(ch.Tokens(), ids...))))
	}
	q := must.Get(c.circuit.quantised.At(c.circuit.quantised.Circuit.Choose(ch.Instance(len(ids), n))))
	in := Input{reals(ids), make([]float64, n)}
	for i := range in[1] {
		in[1][i] = float64(len(ids) - n + i)
	}
	ints, _, err := q.QuantiseInput(in)
	if err == nil {
		err = c.key.CheckStatement(&q.Graph.Instance, ints)
	}
	must.OKAs(err, "no proof of this segment is valid")
	return &proving{Committed: c, model: q, ints: ints, segment: &ofSegment{imports: ch.Values()}}, nil
}

// own are the keys and values of a segment's tokens in a run.
func (r *proving) own(wit *forward.Witness) [][]int32 {
	g := r.model.Graph
	return seq.Map(g.Apart[g.OwnTree()].Tensors, func(id model.TensorID) []int32 { return slices.Clone(wit.Tensor(id)) })
}

// ownSizes are the numbers of their entries.
func (r *proving) ownSizes() []int {
	g := r.model.Graph
	return seq.Map(g.Apart[g.OwnTree()].Tensors, func(id model.TensorID) int { return model.Size(g.Tensors[id].Shape) })
}

// ProveSegment proves the next segment of a chain, and adds it: so many of its tokens are given, and the others are what the model goes on
// with, by the chain's rule. If none is given the segment begins with the token that the one before leaves to be chosen. The proof holds
// with those of the segments before (VerifyOptions.Chain). Options that hide, reveal, share, resume, or compare with the float model are for
// other proofs, as are Sampling and Pass. opts may be nil.
func (c *Committed) ProveSegment(ctx context.Context, ch *chain.Chain, tokens []int, given int, opts *ProveOptions) (_ *Proof, err error) {
	defer must.Catch(&err)
	o := *orDefault(opts)
	must.OK(o.validate())
	switch {
	case o.hides():
		return nil, fmt.Errorf("%w: a masked proof of a segment would have to hide keys and values from the next one's: prove the text as one", model.ErrSegment)
	case o.Resume || o.Together != nil || o.MaxError != 0 || len(o.Reveal) > 0 || o.Pass != nil:
		return nil, errors.New("options that reveal, share, resume, or compare with the float model are not for segments of a text")
	case len(tokens) == 0 || given < 0 || given > len(tokens):
		return nil, fmt.Errorf("a segment of %d tokens, %d of them given", len(tokens), given)
	case given == 0 && !ch.Follows(tokens[0]):
		return nil, fmt.Errorf("%w: the segment goes on with token %d, and the model with %d", verifier.ErrOtherToken, tokens[0], ch.Leaves())
	}
	o.Sampling = ch.By
	w := newWatch(o.Observer)
	defer w.stop()
	s := must.Get(c.segment(ch, tokens, len(tokens)-max(given, 1)+1))
	s.o, s.w, s.device, s.segment.next = &o, w, orProcessor(o.Device), ch.Next(given == 0)
	if s.plan, _, err = c.planned(&o, s.model); err != nil {
		return nil, err
	}
	need := c.circuit.estimate(&o, s.model, s.plan)
	must.OK(need.within())
	release := must.Get(o.bounded(need, w))
	defer release()
	defer s.close()
	must.OK(s.forward(ctx, nil))
	own := s.own(s.wit)
	p, err := s.prove(ctx)
	if err == nil {
		ch.Add(s.segment.result, own)
	}
	return p, err
}

// behind are the inputs of a run with what is imported behind them.
func (s *ofSegment) behind(inputs [][]int32) [][]int32 {
	if s == nil {
		return inputs
	}
	return slices.Concat(inputs, s.imports)
}

// follows is what the proof follows on; nil if it is of no segment.
func (s *ofSegment) follows() *prover.Segment {
	if s == nil {
		return nil
	}
	return s.next
}

// verify verifies the proof that was just made. The trees that a segment's rests on are those that the chain has.
func (r *proving) verify(file []byte) error {
	if r.segment == nil {
		return r.check(file, r.o.Sampling)
	}
	key, err := ReadKey(bytes.NewReader(r.file))
	if err == nil {
		r.segment.result, err = verifier.Policy{MinBits: 1, Sampling: r.o.Sampling}.Segment(key, bytes.NewReader(file))
	}
	return err
}

// Chain verifies the proofs of a text's segments, in order, each as the one behind the one before, and returns what each states. If From is
// set, the first proof is that of the segment with this statement, which is read and not verified, and the result begins behind it.
// Input and Certificate are about one proof and must not be set. o may be nil.
func (o *VerifyOptions) Chain(key *Key, proofs ...io.Reader) ([]*Statement, error) {
	o = orDefault(o)
	if err := o.validate(); err != nil {
		return nil, err
	}
	var pinned io.Reader
	switch {
	case o.Input != nil || o.Certificate != nil:
		return nil, errors.New("options Input and Certificate are about one proof, and a chain has several")
	case o.From != nil && len(proofs) == 0:
		return nil, errors.New("option From is the statement of a segment whose proof is not there")
	case o.From != nil:
		pinned, proofs = proofs[0], proofs[1:]
	}
	found, err := o.policy().Chain(key, (*[sha256.Size]byte)(o.From), pinned, proofs...)
	if err != nil {
		return nil, invalid(err)
	}
	var list []*Statement
	for _, r := range found.Segments {
		s, err := o.stated(key, r)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}
