package certify

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/circuit/bounds"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/prover/verifier"
	"github.com/prove-model/prove-model/quantise/fixed"
)

const (
	// Magic starts every certificate file.
	Magic = "PM.crt\r\n"
	// Version is the version of the certificate format.
	Version = 1
)

// ErrNotShown is wrapped by the errors that say that a circuit's static bounds do not follow
// from what a certificate says. Whoever relies on these bounds has to trust the key's issuer.
var ErrNotShown = errors.New("the static bounds do not follow from the key")

// Prove writes the certificate of a key. weights and trees are those of the key's
// commitment (prover.Commit), and blocks those of its circuit (quantise.Model). If the
// static bounds would not follow from the certificate, the error wraps ErrNotShown and
// names the steps.
func Prove(ctx context.Context, key *proof.Key, trees prover.Trees, weights model.Weights, blocks []fixed.Block, out io.Writer, opts prover.Options) (stats *prover.Stats, err error) {
	defer must.Catch(&err)
	e := &extras{blocks: blocks}
	columns := columnsOf(key.Circuit.Graph, weights)
	unit := must.Get(key.Circuit.At(key.Circuit.Unit()))
	if _, e.stated, err = e.arguments(key.Circuit, unit, columns); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotShown, err)
	}
	c := must.Get(derive(key, e))
	// What the certificate will say: if the static bounds did not follow from that, it would be of no use.
	said := &Certificate{Certified: c.measured(key.Circuit.Graph, weights), of: key.Circuit, extras: e, columns: columns}
	must.OK(said.checkSizes())
	// The certificate's circuit runs on the key's weights, with the measured sums for its input.
	g := c.key.Circuit.Graph
	own := make(model.Weights, len(g.Tensors))
	for id, fixed := range c.fixed {
		own[fixed] = weights[id]
	}
	sums := make([]int32, model.Size(g.Tensors[g.Inputs[0]].Shape))
	for i, s := range c.sums {
		parts := said.Sums[s]
		if parts.Both >= model.Bound {
			return nil, fmt.Errorf("%w: sums of %q are over 30 bits", ErrNotShown, key.Circuit.Graph.Tensors[s.Tensor].Name)
		}
		sums[3*i], sums[3*i+1], sums[3*i+2] = int32(parts.Positive), int32(parts.Negative), int32(parts.Both)
	}
	at := must.Get(c.key.Plan(c.key.Circuit.Unit()))
	wit, err := forward.Run(ctx, at.Graph, own, [][]int32{sums})
	if err != nil {
		return nil, fmt.Errorf("the weights are not what the key says of them: %w", err)
	}
	must.Get(out.Write(head(key, e.encode())))
	return prover.Prove(ctx, c.key, c.key.Circuit.Unit(), trees, wit, out, opts)
}

// measured returns what a certificate says of these weights: their ranges and sums.
func (c *circuit) measured(g *model.Graph, w model.Weights) bounds.Certified {
	out := bounds.Certified{Ranges: c.ranges, Sums: map[bounds.Sum]bounds.SumBound{}}
	for _, s := range c.sums {
		out.Sums[s] = bounds.MeasureSum(g.Tensors[s.Tensor].Shape, s.Axes, w[s.Tensor], c.cuts[s.Tensor])
	}
	return out
}

// head returns the bytes of a certificate of a key that come before its proof.
func head(key *proof.Key, extras []byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(Magic), Version)
	b = append(b, key.Digest[:]...)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(extras))), extras...)
}

// checkSizes checks the bounds at the least sizes of free dimensions and at the
// greatest, each only if the circuit has an instance of these sizes.
func (c *Certificate) checkSizes() error {
	t, most := c.of, model.Instance{}
	for _, d := range t.Free {
		most.Sizes = append(most.Sizes, d.Bound)
	}
	for _, in := range []model.Instance{t.Unit(), most} {
		if g, err := t.At(in); err == nil {
			if err := c.check(g); err != nil {
				return err
			}
		}
	}
	return nil
}

// Certificate is what a valid certificate says of a key's weights.
type Certificate struct {
	bounds.Certified
	Strength soundness.Strength // of the certificate's proof
	Bytes    int64              // the size of the certificate

	of      *model.Template // the certified key's circuit
	extras  *extras
	columns *fixed.Columns // the values that the certificate states
}

// Verify checks a certificate of a key, in one pass, as verifier.Verify does a proof. Its proof has to
// satisfy the policy, except for the policy's commitment, which is not that of the certificate's
// key. Errors about its bytes or what it proves wrap verifier.ErrInvalid or proof.ErrMalformed.
func Verify(key *proof.Key, r io.Reader, policy verifier.Policy) (said *Certificate, err error) {
	e, size, err := readHead(r, key)
	if err != nil {
		return nil, err
	}
	c, err := derive(key, e)
	if err != nil {
		return nil, fmt.Errorf("%w: there is no certificate of this key: %w", verifier.ErrInvalid, err)
	}
	policy.Commitment = nil
	result, err := policy.Verify(c.key, r)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	said = &Certificate{
		Certified: bounds.Certified{Ranges: c.ranges, Sums: map[bounds.Sum]bounds.SumBound{}}, of: key.Circuit, extras: e,
		Strength: result.Strength, Bytes: size + result.Bytes,
	}
	in := result.Inputs[0]
	for i, s := range c.sums {
		said.Sums[s] = bounds.SumBound{Positive: int64(in[3*i]), Negative: int64(in[3*i+1]), Both: int64(in[3*i+2])}
	}
	columns := map[model.TensorID][]int32{}
	for i, id := range e.stated {
		columns[id] = result.Outputs[1+i]
	}
	said.columns = fixed.NewColumns(columns)
	return said, nil
}

// readHead reads the bytes of a certificate of a key that come before its proof. size is how many
// it read.
func readHead(r io.Reader, key *proof.Key) (e *extras, size int64, err error) {
	b := make([]byte, len(Magic)+8+len(key.Digest))
	read := func(b []byte) (bool, error) {
		n, err := io.ReadFull(r, b)
		size += int64(n)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil
		}
		return n == len(b), err
	}
	whole, err := read(b)
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("reading the certificate: %w", err)
	case !whole || string(b[:len(Magic)]) != Magic:
		return nil, 0, fmt.Errorf("%w certificate: not a prove-model certificate", proof.ErrMalformed)
	}
	b = b[len(Magic):]
	if v := binary.LittleEndian.Uint32(b); v != Version {
		return nil, 0, fmt.Errorf("%w certificate: version %d, this program reads version %d", proof.ErrMalformed, v, Version)
	}
	if of := b[4 : 4+len(key.Digest)]; !bytes.Equal(of, key.Digest[:]) {
		return nil, 0, fmt.Errorf("%w: the certificate is that of another key, of commitment %x, not %x", verifier.ErrInvalid, of, key.Digest)
	}
	n := binary.LittleEndian.Uint32(b[4+len(key.Digest):])
	if n > maxExtras {
		return nil, 0, fmt.Errorf("%w certificate: %d bytes before its proof", proof.ErrMalformed, n)
	}
	b = make([]byte, n)
	if whole, err = read(b); err != nil {
		return nil, 0, fmt.Errorf("reading the certificate: %w", err)
	} else if !whole {
		return nil, 0, fmt.Errorf("%w certificate: it ends early", proof.ErrMalformed)
	}
	if e, err = decodeExtras(b, key.Circuit.Graph); err == nil && !bytes.Equal(e.encode(), b) {
		err = fmt.Errorf("%w certificate: another encoding of the same", proof.ErrMalformed)
	}
	return e, size, err
}

// Check checks that the static bounds of g, an instance of the key's circuit, follow from
// the certificate. Whoever relies on a proof checks the instance of that proof. The error
// wraps verifier.ErrInvalid and ErrNotShown.
func (c *Certificate) Check(g *model.Graph) error {
	if err := c.check(g); err != nil {
		return fmt.Errorf("%w: %w", verifier.ErrInvalid, err)
	}
	return nil
}

// check is Check with an error that wraps ErrNotShown alone.
func (c *Certificate) check(g *model.Graph) error {
	arguments, _, err := c.extras.arguments(c.of, g, c.columns)
	if err == nil {
		err = bounds.Check(g, &c.Certified, arguments...)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotShown, err)
	}
	return nil
}
