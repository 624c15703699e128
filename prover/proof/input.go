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

// InputMagic starts every file of an input's commitment.
const InputMagic = "PM.inp\r\n"

// MaxInputSize is the size of the largest such file that is accepted.
const MaxInputSize = 1 << 10

// InputCommitment commits to an input, which proofs of several models may be of. Its digest, which such proofs show, says all that the root
// is of: one tensor, alone in its tree.
type InputCommitment struct {
	Hash hash.Suite
	Root hash.Digest
	// Rows have 2^RowVars values, and tails of a 2^TailLog-th of that. The code of each is 2^LogBlowup times as long.
	RowVars, TailLog, LogBlowup int
	// Entries are integers in units of 2^(−Frac), each below 2^30 in absolute value.
	Frac int
	// Shape is at most model.MaxVars variables large.
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

// Encode returns the file of the commitment.
func (c *InputCommitment) Encode() []byte { return inputMessage.Append([]byte(InputMagic), c) }

// Digest is the SHA-256 of the file under a prefix: what proofs of the input have in common.
func (c *InputCommitment) Digest() [sha256.Size]byte {
	return sha256.Sum256(append([]byte("prove-model input\n"), c.Encode()...))
}

// DecodeInput reads the file of an input's commitment. Its errors wrap ErrMalformed.
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

// check checks a commitment that comes from elsewhere.
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

// Inputs returns the commitments to inputs of a proof whose circuit is g, and the places of these among the key's inputs.
func (h *Header) Inputs(g *model.Graph) (list []*InputCommitment, places []int) {
	for i, c := range g.Instance.Committed {
		t := &h.Trees[i]
		list = append(list, &InputCommitment{Hash: h.Hash, Root: t.Root, RowVars: t.RowVars, TailLog: t.TailLog, LogBlowup: t.LogBlowup, Frac: t.Frac,
			Shape: g.Tensors[g.Apart[i].Tensors[0]].Shape})
		places = append(places, c.Input)
	}
	return list, places
}
