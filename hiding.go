package provemodel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/prove-model/prove-model/prover/machine/cache"
	"github.com/prove-model/prove-model/prover/machine/ledger"
	"github.com/prove-model/prove-model/prover/math/prf"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/plan"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/prover"
)

// HideWeights is the value of CommitOptions.Hide for keys that hide weights.
const HideWeights = "weights"

// defaultProofs is for how many proofs a key is made that hides weights.
const defaultProofs = 50

// Errors about the secret of a key that hides weights.
var (
	// ErrUsedUp is wrapped by the error of Prove when a key that hides weights is not good for another proof.
	ErrUsedUp = ledger.ErrUsedUp
	// ErrMovedSecret is wrapped by the error of Prove when the secret's ledger was counted elsewhere, or may be an older copy
	// (ProveOptions.Share).
	ErrMovedSecret = ledger.ErrMoved
)

// Budget says how far a key that hides weights is used up. A proof opens rows of the weights at some positions, and as long as
// all proofs together open no more than Positions, what they open says nothing of the weights.
type Budget struct {
	Positions uint64 `json:"positions"`            // at which all proofs together may open rows
	Left      uint64 `json:"positions_left"`       // of these
	Each      int    `json:"positions_of_a_proof"` // most that a proof takes
}

// Proofs returns for how many more proofs the key is good.
func (b *Budget) Proofs() uint64 { return b.Left / uint64(b.Each) }

// Budget returns that of a committed key that hides weights, nil for others.
func (c *Committed) Budget() (*Budget, error) {
	if c.hiding == nil {
		return nil, nil
	}
	return c.hiding.ledger.budget(c.key)
}

// ReadBudget returns the budget of a key by the file of its secret.
func ReadBudget(key *Key, secretFile string) (*Budget, error) {
	l, err := ledgerOf(key, secretFile)
	if err != nil {
		return nil, err
	}
	return l.budget(key)
}

// CheckSecret returns the error with which Prove would refuse any proof of a key that hides weights, which it tells by the file of the
// key's secret alone; nil if it would not. share is that of ProveOptions.
func CheckSecret(key *Key, secretFile string, share int) error {
	l, err := ledgerOf(key, secretFile)
	if err == nil {
		err = l.Claim(share)
	}
	if err == nil {
		err = l.Check(int(key.Security.Config().LeastQueries(key.FixedTree().TailLog)), 1)
	}
	return err
}

func ledgerOf(key *Key, secretFile string) (*counted, error) {
	l, err := ledger.Open(secretFile)
	if err != nil {
		return nil, err
	}
	if l.Key != key.Digest {
		return nil, fmt.Errorf("%s is the secret of another key, of commitment %x", secretFile, l.Key)
	}
	return &counted{l}, nil
}

// hiding is what proofs of a key that hides weights take besides.
type hiding struct {
	tails  *prf.Key
	ledger *counted
}

// counted is a ledger in its file.
type counted struct{ *ledger.Ledger }

func (l *counted) budget(key *Key) (*Budget, error) {
	left, err := l.Left()
	if err != nil {
		return nil, err
	}
	return &Budget{Positions: l.Positions, Left: left, Each: key.MostPositions()}, nil
}

// checkHiding refuses options that go together with no key that hides weights, or with those alone.
func (o *CommitOptions) checkHiding() error {
	switch {
	case o.Hide == "" && (o.SecretFile != "" || o.Proofs != 0):
		return errors.New("options SecretFile and Proofs are of keys that hide weights, and Hide is empty")
	case o.Hide == "":
		return nil
	case o.Hide != HideWeights:
		return fmt.Errorf("option Hide is %q: want %q, or nothing", o.Hide, HideWeights)
	case o.SecretFile == "":
		return errors.New("a key that hides weights has a secret: option SecretFile says in which file")
	case o.Proofs < 0:
		return fmt.Errorf("option Proofs is %d: want 1 or more, or 0 for %d", o.Proofs, defaultProofs)
	}
	return onProcessor(o.Device)
}

// onProcessor refuses GPUs, which do not make proofs that hide weights.
func onProcessor(d *Device) error {
	if d != nil && d.GPU() {
		return errors.New("keys that hide weights, and their proofs, are made on the processor alone: ask for no GPU")
	}
	return nil
}

// rowsOf returns the row length and the tails of a key that hides weights, and its secret if it has been made before.
func (c *Circuit) rowsOf(o *CommitOptions, sec proof.Security) (p *plan.Plan, known *ledger.Ledger, err error) {
	if !c.hides {
		return nil, nil, errors.New("the circuit tells of its weights: quantise with option Hide for a key that hides them")
	}
	known, err = ledger.Open(o.SecretFile)
	if errors.Is(err, fs.ErrNotExist) {
		proofs := o.Proofs
		if proofs == 0 {
			proofs = defaultProofs
		}
		p, err = prover.PlanMasked(c.quantised.Circuit, sec, proofs)
		return p, nil, err
	}
	if err != nil {
		return nil, nil, err
	}
	if p, err = prover.PlanMaskedAs(c.quantised.Circuit, sec, known.RowVars, known.TailLog); err != nil {
		return nil, nil, c.otherKey(o.SecretFile, known, err)
	}
	most := known.Positions / sec.Config().MostQueries(known.TailLog)
	if uint64(o.Proofs) > most {
		return nil, nil, fmt.Errorf("%s is the secret of a key for %d proofs, not %d: name another file for that of a new key", o.SecretFile, most, o.Proofs)
	}
	return p, known, nil
}

// otherKey is the error of a secret that was made for another key.
func (c *Circuit) otherKey(file string, l *ledger.Ledger, why error) error {
	err := fmt.Errorf("%s is the secret of the key with the commitment %x, and this is another model, calibration or setting: name another file for the secret of a new key", file, l.Key)
	if why != nil {
		err = fmt.Errorf("%w (%w)", err, why)
	}
	return err
}

// commitHiding is Commit for a key that hides weights.
func (c *Circuit) commitHiding(ctx context.Context, o *CommitOptions, sec proof.Security, w *watch) (*Committed, error) {
	p, known, err := c.rowsOf(o, sec)
	if err != nil {
		return nil, err
	}
	dev := orProcessor(o.Device)
	e, err := c.estimatePlan(dev, p)
	if err == nil {
		err = e.within()
	}
	if err != nil {
		return nil, err
	}
	secret := ledger.Secret{Seed: ledger.NewSeed(), RowVars: p.Choice.FixedRowVars, TailLog: p.Choice.FixedTailLog}
	secret.Positions = soundness.Budget(secret.RowVars, secret.TailLog)
	if known != nil {
		secret = known.Secret
	}
	made := &Committed{circuit: c, hiding: &hiding{}}
	var entry *entry
	err = w.run(ctx, phaseCommitModel, func() (err error) {
		if made.hiding.tails, err = prover.TailsKey(c.quantised.Circuit, p, c.quantised.Weights, sec, secret.Seed); err != nil {
			return err
		}
		entry = entryOf(o.CacheDir, w, c.hidingID(sec, made.hiding.tails))
		if found := entry.commitment(c); found != nil {
			made.key, made.tree, made.cached = found.key, found.tree, true
			return nil
		}
		made.key, made.tree, err = prover.CommitMasked(ctx, c.quantised.Circuit, p, c.quantised.Weights, sec, made.hiding.tails, prover.Options{Backend: dev.set().Backend(w.warn)})
		if err == nil && c.language != nil {
			err = made.key.SetText(c.language)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	made.file = made.key.Encoded()
	if known == nil {
		secret.Key = made.key.Digest
		if known, err = ledger.Create(o.SecretFile, secret); err != nil {
			return nil, err
		}
	} else if known.Key != made.key.Digest {
		return nil, c.otherKey(o.SecretFile, known, nil)
	}
	made.hiding.ledger = &counted{known}
	if !made.cached {
		content := &cache.Entry{Key: made.file}
		if content.Layers, err = made.tree.Layers(ctx); err != nil {
			return nil, err
		}
		entry.put(content)
	}
	return made, nil
}

// hidingID names the commitment to a circuit with tails, which nobody can guess the name of who does not know them.
func (c *Circuit) hidingID(sec proof.Security, tails *prf.Key) *cache.ID {
	id := c.commitmentID(sec)
	if id == nil {
		return nil
	}
	h := cache.NewHasher()
	h.Add("commitment", id[:])
	h.Add("tails", tails[:])
	hidden := h.ID()
	return &hidden
}

// ready refuses proofs, n of a plan, that the key's secret does not allow, before any work.
func (h *hiding) ready(o *ProveOptions, p *plan.Plan, n int) error {
	if h == nil {
		if o.Share != 0 {
			return errors.New("option Share is of keys that hide weights")
		}
		return nil
	}
	if o.Resume {
		return errors.New("proofs of a key that hides weights are not resumed, as their masks are made anew each time: option Resume is for others")
	}
	if err := onProcessor(o.Device); err != nil {
		return err
	}
	if err := h.ledger.Claim(o.Share); err != nil {
		return err
	}
	return h.ledger.Check(p.Params.Levels[0].Queries, n)
}

// options are what the prover takes, nil for a key that hides nothing.
func (h *hiding) options() *prover.Hiding {
	if h == nil {
		return nil
	}
	return &prover.Hiding{Weights: h.tails, Reserve: func(id [16]byte, positions int) error { return h.ledger.Reserve(id, positions) }}
}
