package inspect

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// Proof describes a proof file. The proof is not verified.
type Proof struct {
	Bytes  int64   `json:"proof_bytes"`
	Frames []Frame `json:"frames"`
	// Texts is the number of texts of a proof of several texts.
	Texts int `json:"texts,omitempty"`
	// States names the values that the proof states in place of outputs: indexes of their greatest entries.
	States []string `json:"states,omitempty"`
	// Hides names the inputs and outputs that are not stated.
	Hides []string `json:"hides,omitempty"`
	// Segment is set for the proof of a segment of a text.
	Segment *Segment `json:"segment,omitempty"`
	Key     *Key     `json:"key"`
}

// Segment describes the place of a segment in its text.
type Segment struct {
	First       int    `json:"first"` // position of its first token in the text
	Tokens      int    `json:"tokens"`
	Follows     bool   `json:"follows"`               // whether the model chose the first token
	Statement   string `json:"statement"`             // digest of its statement
	Predecessor string `json:"predecessor,omitempty"` // digest of the statement of the segment before
	// Trees are the trees of keys and values: those of the segments before, then the segment's own.
	Trees []FirstTree `json:"trees"`
}

// FirstTree is a tree that a proof's header names.
type FirstTree struct {
	Root      string `json:"root"`
	RowLength int    `json:"row_length"`
	Rows      int    `json:"rows"`
	Tokens    int    `json:"tokens"`
}

// segmentOf describes the segment of a header, with the digest of its statement; nil if there is none.
func segmentOf(h *proof.Header, statement [32]byte) *Segment {
	if h.Segment == nil {
		return nil
	}
	s := &Segment{Follows: h.Segment.Follows, Statement: fmt.Sprintf("%x", statement)}
	if len(h.Trees) > 1 {
		s.Predecessor = fmt.Sprintf("%x", h.Segment.Predecessor)
	}
	for _, t := range h.Trees {
		root := make([]byte, 0, 32)
		for _, w := range t.Root {
			root = binary.LittleEndian.AppendUint32(root, w)
		}
		s.First, s.Tokens = s.First+s.Tokens, t.Tokens
		s.Trees = append(s.Trees, FirstTree{fmt.Sprintf("%x", root), 1 << t.RowVars, t.Rows, t.Tokens})
	}
	return s
}

// print writes the description as text; nothing if s is nil.
func (s *Segment) print(w io.Writer) {
	if s == nil {
		return
	}
	follows := ""
	if s.Follows {
		follows = ", the first of which is the model's"
	}
	ui.Line(w, "segment", "%d tokens from token %d%s: it holds only with the %d segments before", s.Tokens, s.First, follows, len(s.Trees)-1)
	ui.Line(w, "statement", "%s", s.Statement)
	ui.LineIf(s.Predecessor != "", w, "behind", "%s", s.Predecessor)
	for _, t := range s.Trees {
		ui.Line(w, "tree", "%s of %d tokens, %d rows of %d values", t.Root, t.Tokens, t.Rows, t.RowLength)
	}
}

// Frame is a part of the file, with its size.
type Frame struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

// OfProof describes the proof read from r, which was made for key. It returns an error
// if the file is malformed, and does not check the statement.
func OfProof(key *proof.Key, r io.Reader) (_ *Proof, err error) {
	defer must.Catch(&err)
	in := must.Get(proof.NewReader(r))
	header := in.Header()
	if header.Key != key.Digest {
		return nil, fmt.Errorf("the proof was made for another key (%x, not %x)", header.Key, key.Digest)
	}
	p := must.Get(key.PlanOf(header))
	in.Limit(proof.LimitsFor(p))
	d := &Proof{Key: describe(key, p), Texts: p.Graph.Texts}
	for _, r := range p.Graph.Reveals {
		d.States = append(d.States, p.Graph.Tensors[r.At].Name)
	}
	for _, id := range p.Graph.Hidden {
		d.Hides = append(d.Hides, "input "+p.Graph.Tensors[id].Name)
	}
	for _, id := range p.Graph.HiddenOutputs {
		d.Hides = append(d.Hides, "output "+p.Graph.Tensors[id].Name)
	}
	start := in.Size()
	if _, _, err := in.Public(p.Graph); err != nil {
		return nil, err
	}
	d.Segment = segmentOf(header, in.Statement())
	d.Frames = []Frame{{"header", int(start)}, {"inputs and outputs", int(in.Size() - start)}}
	for _, f := range p.Frames {
		before := in.Size()
		if _, err := in.Next(); err != nil {
			return d, err
		}
		name := f.String()
		if f.Kind == plan.IO {
			name = "output claims"
		}
		d.Frames = append(d.Frames, Frame{name, int(in.Size() - before)})
	}
	err = in.End()
	d.Bytes = in.Size()
	return d, err
}

// Print writes the description as text.
func (p *Proof) Print(w io.Writer) {
	ui.Line(w, "proof", "%s, not verified here", ui.Bytes(p.Bytes))
	ui.Line(w, "for key", "%s, commitment %s", p.Key.Name, p.Key.Commitment)
	p.Key.Hidden.print(w)
	ui.LineIf(p.Texts > 0, w, "texts", "%d", p.Texts)
	p.Segment.print(w)
	for _, name := range p.States {
		ui.Line(w, "states", "%s", name)
	}
	for _, name := range p.Hides {
		ui.Line(w, "hides", "%s", name)
	}
	fmt.Fprintln(w)
	ui.Table(w, []string{"frame", "bytes"}, seq.Map(p.Frames, func(f Frame) []string { return ui.Cells("%s\t%d", f.Name, f.Bytes) }))
	p.Key.printRounds(w)
}
