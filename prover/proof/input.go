package proof

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/proof/wire"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
)

// InputMagic starts every file of an input commitment.
const InputMagic = "PM.inp\r\n"

// MaxInputSize is the size of the largest file of an input commitment that DecodeInput accepts.
const MaxInputSize = 1 << 10

// InputCommitment is a commitment to one hidden input, alone in its tree, which proofs for several models may name
// (docs/protocol.md, "Hidden inputs and outputs"). Its Digest covers everything that the root depends on. Proofs that show the same
// digest are of the same input.
type InputCommitment struct {
	Hash hash.Suite
	Root hash.Digest
	// Each row has 2^RowVars values and a tail of a 2^TailLog-th of that. Its code is 2^LogBlowup times as long as the row.
	RowVars, TailLog, LogBlowup int
	// Frac is the scale: the entries are integers in units of 2^(−Frac), each below 2^30 in absolute value.
	Frac int
	// Shape is the shape of the tensor, which has at most model.MaxVars variables.
	Shape []int
}

var inputMessage = wire.New("Input", nil,
	versionField[InputCommitment](),
	rootField(2, func(c *InputCommitment) *hash.Digest { return &c.Root }),
	wire.Num(3, "row_vars", count, func(c *InputCommitment) *int { return &c.RowVars }),
	wire.Num(4, "tail_log", wire.Number{Kind: wire.Uint32, Most: soundness.MaxTailLog}, func(c *InputCommitment) *int { return &c.TailLog }),
	wire.Num(5, "log_blowup", count, func(c *InputCommitment) *int { return &c.LogBlowup }),
	wire.Num(6, "frac", exponent, func(c *InputCommitment) *int { return &c.Frac }),
	wire.Num(7, "hash", wire.EnumOf(2), func(c *InputCommitment) *hash.Suite { return &c.Hash }),
	wire.Nums(8, "shape", size, func(c *InputCommitment) *[]int { return &c.Shape }),
)

// Encode returns the commitment's file.
func (c *InputCommitment) Encode() []byte { return inputMessage.Append([]byte(InputMagic), c) }

// Digest returns the SHA-256 of a prefix and the file. All proofs that name the commitment have this digest in common.
func (c *InputCommitment) Digest() [sha256.Size]byte {
	return sha256.Sum256(append([]byte("prove-model input\n"), c.Encode()...))
}

// DecodeInput reads the file of an input commitment. It cannot check that the entries under the root are small; each proof does that
// for the input that it reads. Its errors wrap ErrMalformed.
func DecodeInput(b []byte) (*InputCommitment, error) {
	c := &InputCommitment{}
	err := errors.New("it is none")
	if body, ok := bytes.CutPrefix(b, []byte(InputMagic)); ok && len(b) <= MaxInputSize {
		if err = inputMessage.Decode(body, c, 1); err == nil {
			err = c.check()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w commitment to an input: %w", ErrMalformed, err)
	}
	return c, nil
}

// check checks that the parameters of a commitment that was read from a file are in range.
func (c *InputCommitment) check() error {
	if c.RowVars < 1 || c.RowVars+c.LogBlowup > soundness.MaxLogDomain || c.LogBlowup != soundness.DefaultConfig.LogBlowup ||
		c.TailLog < soundness.MinTailLog || c.TailLog > soundness.MaxTailLog {
		return fmt.Errorf("rows of 2^%d values at a rate of 2^-%d, with tails of a 2^%d-th", c.RowVars, c.LogBlowup, c.TailLog)
	}
	if len(c.Shape) > model.MaxVars {
		return fmt.Errorf("%d axes", len(c.Shape))
	}
	vars := 0
	for _, d := range c.Shape {
		if d < 1 {
			return errors.New("an axis without indexes")
		}
		if vars += model.Log2Ceil(d); vars > model.MaxVars {
			return errors.New("it is too large")
		}
	}
	return checkDigest(c.Hash, c.Root)
}

// Inputs returns the input commitments that the header names, and the places of these inputs among the key's. g is the circuit of the
// proof (Key.GraphOf).
func (h *Header) Inputs(g *model.Graph) (list []*InputCommitment, places []int) {
	for i, c := range g.Instance.Committed {
		t := &h.Trees[i]
		list = append(list, &InputCommitment{Hash: h.Hash, Root: t.Root, RowVars: t.RowVars, TailLog: t.TailLog, LogBlowup: t.LogBlowup, Frac: t.Frac,
			Shape: g.Tensors[g.Apart[i].Tensors[0]].Shape})
		places = append(places, c.Input)
	}
	return list, places
}
