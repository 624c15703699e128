package provemodel

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/prove-model/prove-model/prover/machine/cache"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/whir"
	"github.com/prove-model/prove-model/prover/prover"
)

// Key is a verification key: the quantised model without its weights, and a
// commitment to these. Its digest stands for the model.
type Key = proof.Key

// Commitment is the digest of a key, which stands for the model with its
// weights. Publish it, and compare it whole.
type Commitment [32]byte

// String returns the commitment in hexadecimal.
func (c Commitment) String() string { return hex.EncodeToString(c[:]) }

// ParseCommitment is the inverse of Commitment.String.
func ParseCommitment(s string) (Commitment, error) {
	var c Commitment
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(c) {
		return c, fmt.Errorf("commitment %q: want %d hexadecimal digits", s, 2*len(c))
	}
	copy(c[:], b)
	return c, nil
}

// ReadKey reads a key file. The error wraps ErrInvalid if it is not one.
func ReadKey(r io.Reader) (*Key, error) {
	key, err := proof.ReadKey(r, proof.MaxKeySize)
	return key, invalid(err)
}

// Committed is a circuit with its key, ready to prove any number of runs, also
// of several goroutines at once.
type Committed struct {
	circuit *Circuit
	key     *Key
	file    []byte
	tree    *whir.Tree // nil if the model has no weights
	cached  bool
}

// Circuit returns the circuit.
func (c *Committed) Circuit() *Circuit { return c.circuit }

// Key returns the key, which must not be changed.
func (c *Committed) Key() *Key { return c.key }

// KeyFile returns the key as verifiers read it (ReadKey). It must not be
// changed.
func (c *Committed) KeyFile() []byte { return c.file }

// Commitment returns the digest of the key.
func (c *Committed) Commitment() Commitment { return c.key.Digest }

// Cached says that the commitment is that of an earlier run.
func (c *Committed) Cached() bool { return c.cached }

// Commit commits to a circuit's weights and makes its key.
func Commit(ctx context.Context, c *Circuit, opts ...Option) (*Committed, error) {
	o := apply(opts)
	w := o.watch()
	defer w.stop()
	sec := o.security
	var err error
	if sec.Mode, err = proof.ParseMode(o.soundness); err != nil {
		return nil, err
	}
	entry := o.entry(w, c.commitmentID(sec))
	if known := entry.commitment(c); known != nil {
		return known, ctx.Err()
	}
	e, p, err := c.estimateUnit(o, sec)
	if err == nil {
		err = e.within()
	}
	if err != nil {
		return nil, err
	}
	o.device.reserve(p, 1, w)
	made := &Committed{circuit: c}
	err = w.run(ctx, PhaseCommitModel, func() (err error) {
		made.key, made.tree, err = prover.CommitPlanned(ctx, c.quantised.Circuit, p, c.quantised.Weights, sec, prover.Options{Backend: o.device.backend(w)})
		if err == nil {
			err = made.key.SetSource(c.source)
		}
		if err == nil && c.language != nil {
			err = made.key.SetText(c.language)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	made.file = made.key.Encoded()
	content := &cache.Entry{Key: made.file}
	if made.tree != nil {
		if content.Layers, err = made.tree.Layers(ctx); err != nil {
			return nil, err
		}
	}
	entry.put(content)
	return made, nil
}

// check verifies a proof as anyone would who has key and proof.
func (c *Committed) check(file []byte, by *Sampling) error {
	key, err := ReadKey(bytes.NewReader(c.file))
	if err == nil {
		_, err = Verify(key, bytes.NewReader(file), &VerifyOptions{MinBits: 1, Sampling: by})
	}
	return err
}
