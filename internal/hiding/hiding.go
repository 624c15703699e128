// Package hiding makes keys that hide weights, and commitments to inputs. It keeps the secrets of both in files, and counts there how
// many proofs a secret still allows (docs/hiding.md).
package hiding

import (
	"cmp"
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

// Weights is the value of CommitOptions.Hide for a key that hides weights, the only thing that a key can hide.
const Weights = "weights"

// usualProofs is the number of proofs that a new key allows if the user does not say.
const usualProofs = 50

// Key has the secret of a key that hides weights, which proofs of the key need. A nil Key stands for a key that hides
// nothing.
type Key struct {
	tails  *prf.Key // pseudo-random key of the tails of the weights' rows
	ledger *ledger.Ledger
}

// Draft is a key that hides weights and has not been made yet. Its layout is known. The secret of a new key is not on
// disk before Made.
type Draft struct {
	Plan   *plan.Plan
	secret ledger.Secret
	known  *ledger.Ledger // the ledger of an existing secret; nil for a new key
	file   string         // of the secret
}

// NewDraft begins a key for a circuit. If the file has a secret, the draft is of the key that the secret belongs to. Otherwise it gets
// a new secret, which allows so many proofs; 0 is usualProofs.
func NewDraft(c *model.Template, sec proof.Security, file string, proofs int) (_ *Draft, err error) {
	defer must.Catch(&err)
	d := &Draft{file: file}
	must.OK(Possible(file))
	if d.known, err = ledger.Open(file); errors.Is(err, fs.ErrNotExist) {
		d.Plan = must.Get(prover.PlanMasked(c, sec, cmp.Or(proofs, usualProofs)))
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

// Possible returns an error if no secret can be kept in a file: there is none, and none can be made there.
func Possible(file string) error {
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := ledger.Possible(file); err != nil {
		return fmt.Errorf("the secret of a key that hides weights, %s, cannot be kept: %w", file, err)
	}
	return nil
}

// other returns the error about a secret that belongs to another key, because of why unless that is nil.
func (d *Draft) other(why error) error {
	err := fmt.Errorf("%s is the secret of the key with the commitment %x, and this is another model, calibration or setting: name another file for the secret of a new key",
		d.file, d.secret.Key)
	if why != nil {
		err = fmt.Errorf("%w (%w)", err, why)
	}
	return err
}

// Tails returns the pseudo-random key from which the tails of the rows are made. It depends on the weights and on the
// secret's seed.
func (d *Draft) Tails(c *model.Template, w model.Weights, sec proof.Security) (*prf.Key, error) {
	return prover.TailsKey(c, d.Plan, w, sec, d.secret.Seed)
}

// Made ends a draft: digest is that of the key that was made with these tails. If the secret is new, it is on disk when
// Made returns.
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

// Ready returns an error, before any work, if the secret does not allow n proofs of a plan. share is the part of the
// budget that may be used here (ledger.Claim).
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

// Options returns what the prover needs to know of the secret.
func (k *Key) Options() *prover.Hiding {
	if k == nil {
		return nil
	}
	return &prover.Hiding{Weights: k.tails, Reserve: func(id [16]byte, positions int) error { return k.ledger.Reserve(id, positions) }}
}

// Budget says how many positions and proofs of the key are left; nil for a nil Key.
func (k *Key) Budget(of *proof.Key) (*ledger.Budget, error) {
	if k == nil {
		return nil, nil
	}
	return budget(k.ledger, of)
}

// budget returns the budget of a ledger, with the number of positions that a proof of the key opens at most.
func budget(l *ledger.Ledger, of *proof.Key) (_ *ledger.Budget, err error) {
	defer must.Catch(&err)
	b := must.Get(l.Budget())
	b.Each = of.MostPositions()
	return b, nil
}

// ReadBudget returns the budget of a key by the file of its secret.
func ReadBudget(of *proof.Key, file string) (_ *ledger.Budget, err error) {
	defer must.Catch(&err)
	l := must.Get(open(of, file))
	return budget(l, of)
}

// Check returns the error with which every proof of a key would be refused, as far as the file of its secret alone
// shows that.
func Check(of *proof.Key, file string, share ledger.Share) (err error) {
	defer must.Catch(&err)
	l := must.Get(open(of, file))
	must.OK(l.Claim(share))
	return l.Check(int(of.Security.Config().LeastQueries(of.FixedTree().TailLog)), 1)
}

// open opens the ledger in a file, and checks that it belongs to a key.
func open(of *proof.Key, file string) (*ledger.Ledger, error) {
	l, err := ledger.Open(file)
	if err == nil && l.Key != of.Digest {
		err = fmt.Errorf("%s is the secret of another key, of commitment %x", file, l.Key)
	}
	return l, err
}
