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

// OpenChain verifies the proofs of a text's segments, given in order, and returns the chain that they form. ProveSegment proves the next
// segment of it. opts.Sampling is the rule by which the text's tokens were drawn; nil means that each token is the likeliest. stored has
// one file for each segment with the keys and values of its tokens (chain.Chain.Stored). If a file is missing or was altered, the keys
// and values are computed again from the tokens, and the observer is warned. The circuit must be that of a model that writes (MaxTokens),
// for texts of any length. stored and opts may be nil.
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

// readersOf returns a reader for each file.
func readersOf(files [][]byte) []io.Reader {
	return seq.Map(files, func(f []byte) io.Reader { return bytes.NewReader(f) })
}

// Begun returns what a chain knows of its text, for a longer text that begins with it (GenerateOptions.Prefix): the processor then does
// not compute the keys and values of the chain's tokens again. The result is empty if some of the chain's keys and values are out of the
// model's ranges. Begun checks nothing else. If they are not the model's, the text that is generated from them may be wrong, and
// ProveSegment then refuses it.
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
		if k < 0 { // a cache of an input, or of a value that only rows with logits read
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

// again runs a segment that has been proved, and returns its keys and values.
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

// ofSegment is what the proof of a segment needs in addition to what the proof of a whole text needs.
type ofSegment struct {
	imports [][]int32 // keys and values of the segments before this one
	next    *prover.Segment
	result  *verifier.Result
}

// segment begins the proof of a chain's next segment, whose tokens are ids, with logits at its last n positions.
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

// own returns the keys and values that a run computed for the segment's tokens, one slice for each tensor.
func (r *proving) own(wit *forward.Witness) [][]int32 {
	g := r.model.Graph
	return seq.Map(g.Apart[g.OwnTree()].Tensors, func(id model.TensorID) []int32 { return slices.Clone(wit.Tensor(id)) })
}

// ownSizes returns the lengths of the slices that own returns.
func (r *proving) ownSizes() []int {
	g := r.model.Graph
	return seq.Map(g.Apart[g.OwnTree()].Tensors, func(id model.TensorID) int { return model.Size(g.Tensors[id].Shape) })
}

// ProveSegment proves the next segment of a chain, and adds it to the chain. The first `given` tokens are given; the others are those
// that the model writes after them, by the chain's rule. If none is given, the first token is the one that the previous segment's logits
// choose. The proof is valid only together with those of the segments before it (VerifyOptions.Chain). These options are not for
// segments: those that hide, reveal, share, resume or compare with the float model, Sampling and Pass. opts may be nil.
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

// behind returns the inputs of a run, followed by the imported keys and values.
func (s *ofSegment) behind(inputs [][]int32) [][]int32 {
	if s == nil {
		return inputs
	}
	return slices.Concat(inputs, s.imports)
}

// follows returns the segment's place in its chain, which the prover needs; nil if the proof is not of a segment.
func (s *ofSegment) follows() *prover.Segment {
	if s == nil {
		return nil
	}
	return s.next
}

// verify verifies the proof that was just made. The proof of a segment is verified by itself
// (verifier.Policy.Segment): the trees of earlier segments that it refers to are the ones that the chain holds.
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

// Chain verifies the proofs of a text's segments, given in order, and that each follows the one before it. It returns what each of them
// states. If From is set, it must be the digest of the first proof's statement: that proof is read and not verified, and the result
// begins with the second one. Input and Certificate are about a single proof and must not be set. o may be nil.
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
