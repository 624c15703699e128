package inspect

import (
	"fmt"
	"io"

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
	Key   *Key     `json:"key"`
}

// Frame is a part of the file with its size.
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
	if header.Key != key.Digest {
		return nil, fmt.Errorf("the proof was made for another key (%x, not %x)", header.Key, key.Digest)
	}
	p, err := key.PlanOf(header)
	if err != nil {
		return nil, err
	}
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
func (p *Proof) Print(w io.Writer) error {
	fmt.Fprintf(w, "proof       %s, not verified here\n", ui.Bytes(p.Bytes))
	fmt.Fprintf(w, "for key     %s, commitment %s\n", ui.Printable(p.Key.Name), p.Key.Commitment)
	p.Key.Hidden.print(w)
	if p.Texts > 0 {
		fmt.Fprintf(w, "texts       %d\n", p.Texts)
	}
	for _, name := range p.States {
		fmt.Fprintf(w, "states      %s\n", ui.Printable(name))
	}
	for _, name := range p.Hides {
		fmt.Fprintf(w, "hides       %s\n", ui.Printable(name))
	}
	var rows [][]string
	for _, f := range p.Frames {
		rows = append(rows, []string{f.Name, fmt.Sprint(f.Bytes)})
	}
	fmt.Fprintln(w)
	if err := ui.Table(w, []string{"frame", "bytes"}, rows); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return p.Key.PrintRounds(w)
}
