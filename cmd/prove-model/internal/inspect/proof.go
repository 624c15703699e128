package inspect

import (
	"fmt"
	"io"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/plan"
	"github.com/prove-model/prove-model/prover/proof"
)

// Proof is a proof file, taken apart but not verified.
type Proof struct {
	Bytes  int64   `json:"proof_bytes"`
	Frames []Frame `json:"frames"`
	Key    *Key    `json:"key"`
}

// Frame is a part of the file with the size of its body.
type Frame struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

// OfProof describes the proof read from r, made for key. The error says what
// is malformed; the statement is not checked.
func OfProof(key *proof.Key, r io.Reader) (*Proof, error) {
	in, err := proof.NewReader(r)
	if err != nil {
		return nil, err
	}
	header := in.Header()
	if made := header.Key; made != key.Digest {
		return nil, fmt.Errorf("the proof was made for another key (%x…, not %x…)", made[:6], key.Digest[:6])
	}
	p, err := plan.ForProof(key, header)
	if err != nil {
		return nil, err
	}
	d := &Proof{Key: describe(key, p)}
	in.Limit(proof.LimitsFor(p.Graph))
	start := in.Size()
	if _, _, err := in.Public(p.Graph); err != nil {
		return nil, err
	}
	d.Frames = []Frame{{"header", int(start)}, {"inputs and outputs", int(in.Size() - start)}}
	frame := func(name string, kind proof.FrameKind, index int) {
		if err == nil {
			var body []byte
			body, err = in.Frame(kind, index)
			d.Frames = append(d.Frames, Frame{name, len(body)})
		}
	}
	frame("commitments", proof.Commitments, 0)
	for i := range p.Graph.Chunks {
		frame(fmt.Sprintf("chunk %d", i), proof.Chunk, i)
	}
	frame("output claims", proof.IO, 0)
	frame("opening", proof.Opening, 0)
	if err == nil {
		err = in.End()
	}
	d.Bytes = in.Size()
	return d, err
}

// Print writes the description as text.
func (p *Proof) Print(w io.Writer) error {
	fmt.Fprintf(w, "proof       %s, not verified here\n", ui.Bytes(p.Bytes))
	fmt.Fprintf(w, "for key     %s, commitment %s\n\n", p.Key.Name, p.Key.Commitment)
	var rows [][]string
	for _, f := range p.Frames {
		rows = append(rows, []string{f.Name, fmt.Sprint(f.Bytes)})
	}
	if err := ui.Table(w, []string{"frame", "bytes"}, rows); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return p.Key.PrintRounds(w)
}
