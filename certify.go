package provemodel

import (
	"bytes"
	"context"
	"fmt"

	"github.com/prove-model/prove-model/prover/certify"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// ErrNotShown is wrapped by the errors of Certify, and of Verify with a
// certificate, when the bounds of a circuit do not follow from its key and what
// a certificate can say of the weights. The error names the steps.
var ErrNotShown = certify.ErrNotShown

// Certify proves that the weights of a committed circuit respect the static
// bounds: with the certificate (Certificate) a verifier computes from the key
// that no integer of the model is ever as large as the field, and need not trust
// whoever issued the key for it. The certificate is verified before it is
// returned.
func Certify(ctx context.Context, c *Committed, opts ...Option) ([]byte, error) {
	o := apply(opts)
	w := o.watch()
	defer w.stop()
	var file bytes.Buffer
	err := await(ctx, func() error {
		_, err := certify.Prove(ctx, c.key, c.tree, c.circuit.quantised.Weights, c.circuit.quantised.Blocks, &file, o.device.prover(o, w))
		return err
	})
	w.end(err)
	if err != nil {
		return nil, err
	}
	err = w.run(ctx, PhaseCheck, func() error {
		check := &VerifyOptions{MinBits: 1, Certificate: bytes.NewReader(file.Bytes())}
		return check.certified(c.key, c.circuit.quantised.Graph)
	})
	if err != nil {
		if ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", ErrSelfCheck, err)
		}
		return nil, err
	}
	return file.Bytes(), nil
}

// certified checks the certificate for a circuit of the key.
func (o *VerifyOptions) certified(key *Key, g *model.Graph) error {
	c, err := certify.Verify(key, o.Certificate, o.policy())
	if err == nil {
		err = c.Check(g)
	}
	return invalid(err)
}
