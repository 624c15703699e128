// Package hiding makes keys that hide weights and commitments to inputs, keeps the secrets of both in files, and counts the proofs that
// a secret still allows (docs/hiding.md).
package hiding

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/ledger"
	"github.com/prove-model/prove-model/prover/math/prf"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/prover"
)

// Weights is what of a key can be hidden.
const Weights = "weights"

// usualProofs is how many proofs a key allows if the user does not say.
const usualProofs = 50

// Key is what proofs of a key that hides weights take. A nil Key is that of a key which hides nothing.
type Key struct {
	tails  *prf.Key
	ledger *ledger.Ledger
}

// Draft is a key that hides weights and is not made yet: its layout is known, and its secret not written to disk.
type Draft struct {
	Plan   *plan.Plan
	secret ledger.Secret
	known  *ledger.Ledger // nil for a new key
	file   string
}

// NewDraft begins a key for a circuit. If the file has a secret the key is that secret's; else it gets a new one, which allows so many
// proofs (0: usualProofs).
func NewDraft(c *model.Template, sec proof.Security, file string, proofs int) (_ *Draft, err error) {
	defer must.Catch(&err)
	d := &Draft{file: file}
	must.OK(Possible(file))
	if d.known, err = ledger.Open(file); errors.Is(err, fs.ErrNotExist) {
		if proofs == 0 {
			proofs = usualProofs
		}
		d.Plan = must.Get(prover.PlanMasked(c, sec, proofs))
		d.secret = ledger.Secret{Seed: ledger.NewSeed(), RowVars: d.Plan.Choice.FixedRowVars, TailLog: d.Plan.Choice.FixedTailLog}
		d.secret.Positions = soundness.Budget(d.secret.RowVars, d.secret.TailLog)
		return d, nil
	}
	must.OK(err)
	d.secret = d.known.Secret
	if d.Plan, err = prover.PlanMaskedAs(c, sec, d.secret.RowVars, d.secret.TailLog); err != nil {
		return nil, d.other(err)
	}
	if most := d.secret.Positions / sec.Config().MostQueries(d.secret.TailLog); uint64(proofs) > most {
		return nil, fmt.Errorf("%s is the secret of a key for %d proofs, not %d: name another file for that of a new key", file, most, proofs)
	}
	return d, nil
}

// Possible says why no key can have its secret in a file, nil if one can: it has, or one can be made there.
func Possible(file string) error {
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := ledger.Possible(file); err != nil {
		return fmt.Errorf("the secret of a key that hides weights, %s, cannot be kept: %w", file, err)
	}
	return nil
}

// other is the error of a secret that was made for another key.
func (d *Draft) other(why error) error {
	err := fmt.Errorf("%s is the secret of the key with the commitment %x, and this is another model, calibration or setting: name another file for the secret of a new key",
		d.file, d.secret.Key)
	if why != nil {
		err = fmt.Errorf("%w (%w)", err, why)
	}
	return err
}

// Tails returns what the tails of the key's rows come from.
func (d *Draft) Tails(c *model.Template, w model.Weights, sec proof.Security) (*prf.Key, error) {
	return prover.TailsKey(c, d.Plan, w, sec, d.secret.Seed)
}

// Made ends a draft: the key with this digest was made with these tails. A new one's secret is on disk when Made returns.
func (d *Draft) Made(digest [32]byte, tails *prf.Key) (*Key, error) {
	if d.known != nil && d.secret.Key != digest {
		return nil, d.other(nil)
	}
	if d.known == nil {
		d.secret.Key = digest
		var err error
		if d.known, err = ledger.Create(d.file, d.secret); err != nil {
			return nil, err
		}
	}
	return &Key{tails, d.known}, nil
}

// Ready refuses n proofs of a plan that the secret does not allow with a share (ledger.Claim), before any work.
func (k *Key) Ready(p *plan.Plan, share ledger.Share, n int) error {
	switch {
	case k == nil && share != ledger.Share{} && len(p.Graph.Instance.Committed) == 0:
		return errors.New("option Share is of keys that hide weights, and of inputs that were committed to")
	case k == nil:
		return nil
	}
	if err := k.ledger.Claim(share); err != nil {
		return err
	}
	return k.ledger.Check(p.Params.Levels[0].Queries, n)
}

// Options are what the prover takes.
func (k *Key) Options() *prover.Hiding {
	if k == nil {
		return nil
	}
	return &prover.Hiding{Weights: k.tails, Reserve: func(id [16]byte, positions int) error { return k.ledger.Reserve(id, positions) }}
}

// Budget says how far the key is used up, nil for a nil Key.
func (k *Key) Budget(of *proof.Key) (*ledger.Budget, error) {
	if k == nil {
		return nil, nil
	}
	return budget(k.ledger, of)
}

func budget(l *ledger.Ledger, of *proof.Key) (*ledger.Budget, error) {
	b, err := l.Budget()
	if err != nil {
		return nil, err
	}
	b.Each = of.MostPositions()
	return b, nil
}

// ReadBudget returns the budget of a key by the file of its secret.
func ReadBudget(of *proof.Key, file string) (*ledger.Budget, error) {
	l, err := open(of, file)
	if err != nil {
		return nil, err
	}
	return budget(l, of)
}

// Check returns the error with which any proof of a key would be refused, as far as the file of its secret tells that by itself.
func Check(of *proof.Key, file string, share ledger.Share) error {
	l, err := open(of, file)
	if err == nil {
		err = l.Claim(share)
	}
	if err == nil {
		err = l.Check(int(of.Security.Config().LeastQueries(of.FixedTree().TailLog)), 1)
	}
	return err
}

func open(of *proof.Key, file string) (*ledger.Ledger, error) {
	l, err := ledger.Open(file)
	if err == nil && l.Key != of.Digest {
		err = fmt.Errorf("%s is the secret of another key, of commitment %x", file, l.Key)
	}
	return l, err
}
