package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/hiding"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/machine/ledger"
	"github.com/prove-model/prove-model/prover/statement"
)

// private is printed below results that tell more than a proof that hides something.
const private = "private     what is printed here of accuracy, saturated values and times is in no proof: it is for whoever has the weights"

// hiddenKey describes a key that hides weights, to the owner of its secret.
type hiddenKey struct {
	What   string `json:"what"` // HideWeights
	Secret string `json:"secret"`
	ledger.Budget
	Proofs uint64 `json:"proofs_left"`
}

// hiddenOf describes a key that hides weights; nil for other keys.
func hiddenOf(cfg *config.Config, c *provemodel.Committed) (*hiddenKey, error) {
	b, err := c.Budget()
	if b == nil || err != nil {
		return nil, err
	}
	return &hiddenKey{config.HideWeights, cfg.Secret, *b, b.Proofs()}, nil
}

func (h *hiddenKey) Print(w io.Writer) {
	if h == nil {
		return
	}
	ui.Line(w, "hidden", "weights; public: inputs, outputs, and what `inspect --vk` lists: architecture, shapes, names, scales, ranges")
	ui.Line(w, "secret", "%s: keep it, where it is, and show it to nobody", h.Secret)
	ui.Line(w, "budget", "%d of %d positions left, of which a proof takes %d: %d proofs%s", h.Left, h.Positions, h.Each, h.Proofs, h.OfShare())
}

// printHidden prints for a verifier what a proof hides; nothing for a proof that hides nothing.
func printHidden(w io.Writer, masked bool, proofs int, hidden []statement.Hidden) {
	for _, h := range hidden {
		ui.Line(w, "hidden", "%s", h.String())
	}
	ui.LineIf(len(hidden) > 0 && proofs == 0, w, "public", "inputs and outputs above, which model it is, its weights, sizes, and ranges as the key has them")
	switch {
	case proofs > 0:
		ui.Line(w, "hidden", "weights, values inside of the model and how many were saturated: computationally, if the prover is this program")
		ui.Line(w, "public", "inputs and outputs above, sizes, and what `inspect --vk` says of the key: architecture, names, scales, ranges")
		ui.Line(w, "budget", "the key is good for %d proofs; only whoever has its secret can count them", proofs)
	case masked:
		ui.Line(w, "hidden", "values inside of the model, and how many were saturated, but not the weights: the key does not hide them")
	}
	ui.LineIf(len(hidden) > 0, w, "told", "what the public part says of the hidden one; that nothing else does is the word of the program that proved")
}

// secretPath returns the file of the secret of the key in a file.
func secretPath(cfg *config.Config, vk string) string { return cmp.Or(cfg.Secret, vk+".secret") }

// isThere says whether a file exists, or may exist in a folder that cannot be read.
func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil || errors.Is(err, fs.ErrPermission)
}

// keyIn returns the key in a file, and whether it hides weights. A file that is not a key counts as no key: outputs.create
// refuses to replace such a file.
func keyIn(path string) (k *provemodel.Key, hides bool) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if k, err = provemodel.ReadKey(f); err != nil {
		return nil, false
	}
	return k, k.Hides()
}

// hidesForKey checks what a new key is to hide, and sets the file of its secret. It refuses to put a key that does not
// hide weights in the place of one that does.
func hidesForKey(cfg *config.Config) error {
	vk := outputPath(cfg.VK, cfg.Model, ".vk")
	what, _ := cfg.HiddenOf() // no error: it was checked when the settings were read
	switch _, hides := keyIn(vk); {
	case what.Run():
		return job.WithHint(errors.New("--hide: a key hides weights; inputs and outputs are hidden by a proof"), "say --hide input or --hide output where a proof is made")
	case cfg.Hide == "" && (cfg.Proofs != 0 || cfg.Secret != ""):
		return job.WithHint(errors.New("--proofs and --secret are of keys that hide weights"), "add --hide weights")
	case cfg.Hide == "" && hides:
		return job.WithHint(fmt.Errorf("%s hides weights, and a key that does not would take its place", vk), "add --hide weights, or name another file with --vk")
	case cfg.Hide == "" && isThere(secretPath(cfg, vk)):
		return job.WithHint(fmt.Errorf("%s is the secret of a key that hides weights, and a key of the same name that does not would say something of them", secretPath(cfg, vk)),
			"add --hide weights, which makes the key again, or name another file with --vk")
	case cfg.Hide == "":
		return nil
	case cfg.Certify:
		return job.WithHint(errors.New("--certify: a key that hides weights has no certificate, which would state their sums and ranges"), "leave it out")
	}
	cfg.Secret = secretPath(cfg, vk)
	return hiding.Possible(cfg.Secret)
}

// hidesForProof completes the settings of what a proof hides: it hides weights if its key does, and an input that was
// committed to.
func hidesForProof(cfg *config.Config) error {
	vk := outputPath(cfg.VK, cfg.Model, ".vk")
	secret := secretPath(cfg, vk)
	const commit = "prove-model commit --hide weights makes one"
	if name, file := cfg.InputOf(); file != "" { // an input that was committed to is hidden
		what := strings.TrimSuffix("input:"+name, ":")
		if !slices.Contains(strings.Split(cfg.Hide, ","), what) {
			cfg.Hide = strings.Trim(cfg.Hide+","+what, ",")
		}
	}
	what, _ := cfg.HiddenOf() // likewise
	if what.Run() && len(cfg.Calibration) == 0 && cfg.Ranges == "" {
		return job.WithHint(errors.New("--hide: the ranges in the key could be those of the hidden input, which would say something of it"),
			"give the samples that the ranges come from with --calibration, or the ranges with --ranges")
	}
	switch key, hides := keyIn(vk); {
	case hides && !isThere(secret):
		return job.WithHint(fmt.Errorf("%s hides weights, and its secret %s is not there: only who has it makes proofs of the key", vk, secret), "name the secret with --secret, or another key with --vk")
	case hides:
		if cfg.Secret = secret; !what.Weights {
			cfg.Hide = strings.Trim(cfg.Hide+","+config.HideWeights, ",")
		}
		number, of, _ := cfg.ShareOf()
		return shareHint(hiding.Check(key, secret, ledger.Share{Number: number, Of: of}))
	case what.Weights && key != nil:
		return job.WithHint(fmt.Errorf("--hide: the root of %s does not hide weights", vk), commit)
	case key == nil && isThere(secret):
		return job.WithHint(fmt.Errorf("%s is the secret of a key that hides weights, and there is no key %s: a proof of another key would say something of the same weights", secret, vk), again(cfg))
	case what.Weights:
		return job.WithHint(fmt.Errorf("--hide: there is no key %s, and one that hides weights is made before its proofs", vk), commit)
	case isThere(secret) && cfg.Secret == "":
		return job.WithHint(fmt.Errorf("%s is the secret of a key that hides weights, and %s is none: a proof of it would say something of the same weights", secret, vk), again(cfg))
	case cfg.Share != "" && cfg.InputCommitment == "" || cfg.Secret != "":
		return job.WithHint(fmt.Errorf("--share and --secret are of keys that hide weights, and %s is none", vk), commit)
	}
	return nil
}

// again says how a key that is gone is made again from its secret.
func again(cfg *config.Config) string {
	command := "commit --hide weights"
	if cfg.Secret != "" {
		command += " --secret " + cfg.Secret
	}
	return "prove-model " + command + " with the same model, samples and settings makes the key again; or name another key with --vk"
}

// shareHint adds a hint to an error about a ledger that was moved, or about shares.
func shareHint(err error) error {
	switch {
	case errors.Is(err, ledger.ErrOlder):
		return err // its text says what helps
	case errors.Is(err, ledger.ErrMoved):
		return job.WithHint(err, "if it is the latest copy, and no other is used, say so with --share 1, or with the share that it had; docs/hiding.md says how to use several")
	case errors.Is(err, ledger.ErrShare):
		return job.WithHint(err, "inspect --vk with --secret says which share it is; docs/hiding.md says how to use several")
	}
	return err
}
