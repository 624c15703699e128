package prover

import (
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/proof"
)

// ErrOtherValues is wrapped by the error about imported keys and values that do not have the root which the earlier segment's proof
// states. Prove makes no proof then.
var ErrOtherValues = errors.New("keys and values of a segment before are not those that it has committed to")

var errShared = errors.New("the proof of a segment is made by one process, and is not resumed")

// checkSegment checks that Options.Segment is set if, and only if, the instance is a segment, that both have equally many earlier segments,
// and that the other options allow it.
func checkSegment(in *model.Instance, opts *Options) error {
	switch {
	case in.Segment == nil && opts.Segment == nil:
		return nil
	case in.Segment == nil || opts.Segment == nil || len(in.Segment.Past) != len(opts.Segment.Past):
		return errors.New("what a segment follows on does not belong to its circuit")
	case opts.Together != nil || opts.Results != nil:
		return errShared
	}
	return nil
}

// header returns the proof's header. It first commits to the trees that a header names, since the transcript absorbs their roots with
// the header, before everything else. The imported values of an earlier segment must have the root that the segment's proof states:
// otherwise no verifier would accept the chain.
func (r *run) header() (*proof.Header, error) {
	h := proof.NewHeader(r.key, r.plan)
	if len(r.plan.Graph.Instance.Committed) > 0 {
		return h, r.nameInputs(h)
	}
	if r.opts.Segment == nil {
		return h, nil
	}
	var roots []hash.Digest
	for i := range r.plan.Trees {
		t := &r.plan.Trees[i]
		if t.Apart == 0 {
			continue
		}
		var err error
		if r.trees[i], err = r.commitTree(i); err != nil {
			return nil, err
		}
		root := r.trees[i].Root()
		if t.Imported && root != r.opts.Segment.Past[t.Apart-1].Root {
			return nil, fmt.Errorf("%w: segment %d", ErrOtherValues, t.Apart)
		}
		roots = append(roots, root)
	}
	return h, h.Name(r.plan, roots, r.opts.Segment.Segment)
}
