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

// Proof is a proof file, taken apart but not verified.
type Proof struct {
	Bytes  int64   `json:"proof_bytes"`
	Frames []Frame `json:"frames"`
	// Texts is how many texts the proof is of, if not one.
	Texts int `json:"texts,omitempty"`
	// States names what is stated in place of outputs: their greatest entries.
	States []string `json:"states,omitempty"`
	// Hides names inputs and outputs that are not stated.
	Hides []string `json:"hides,omitempty"`
	// Segment is the place of a part of a text in the whole.
	Segment *Segment `json:"segment,omitempty"`
	Key     *Key     `json:"key"`
}

// Segment is what a proof of a part of a text names.
type Segment struct {
	First       int    `json:"first"` // the position of its first token
	Tokens      int    `json:"tokens"`
	Follows     bool   `json:"follows"`               // the first token is the model's
	Statement   string `json:"statement"`             // digest of its own
	Predecessor string `json:"predecessor,omitempty"` // of the segment before
	// Trees are those of keys and values, of the segments before and last of its own.
	Trees []FirstTree `json:"trees"`
}

// FirstTree is a tree that a header names.
type FirstTree struct {
	Root      string `json:"root"`
	RowLength int    `json:"row_length"`
	Rows      int    `json:"rows"`
	Tokens    int    `json:"tokens"`
}

// segmentOf describes a header's segment with the digest of its statement; nil if there is none.
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

// Frame is a part of the file with its size.
type Frame struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

// OfProof describes the proof read from r, made for key. The error says what
// is malformed; the statement is not checked.
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
