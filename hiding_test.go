package provemodel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/internal/hiding"
	"github.com/prove-model/prove-model/prover/machine/ledger"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/prover/verifier"
	"github.com/prove-model/prove-model/web/verdict"
)

func withHide() with { return func(e *every) { e.quantise.Hide = true } }

func withHidden(secret string, proofs int) with {
	return func(e *every) {
		e.commit.Hide, e.commit.SecretFile, e.commit.Proofs = hiding.Weights, secret, proofs
	}
}

func withShare(number, of int) with {
	return func(e *every) { e.prove.Share = ledger.Share{Number: number, Of: of} }
}

// hidden are settings for a key that hides weights, and the file of its secret.
func hidden(t *testing.T, proofs int) (settings []with, secret string) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	secret = filepath.Join(t.TempDir(), "digits.vk.secret")
	return append([]with{withHide(), withHidden(secret, proofs)}, quick...), secret
}

// began is an observer that remembers the phases that have begun.
type began struct{ phases []Phase }

func (b *began) Begin(p Phase)     { b.phases = append(b.phases, p) }
func (b *began) Progress(int, int) {}
func (b *began) End(error)         {}
func (b *began) Warn(string)       {}

// TestHiddenWeights: as many proofs of a key that hides weights verify as its budget is for, and no more are begun; and the key is
// made again from its secret, also from the cache.
func TestHiddenWeights(t *testing.T) {
	settings, secret := hidden(t, 2)
	settings = append(settings, withCache(t.TempDir()))
	c, in := commit(t, settings...)
	if c.Key().Source != nil || !c.Key().Hides() || c.Key().Proofs() < 2 {
		t.Fatalf("a key for %d proofs, made from %v", c.Key().Proofs(), c.Key().Source)
	}
	if info, err := os.Stat(secret); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the secret: %v, %v", info, err)
	}
	again, _ := commit(t, settings...)
	if !again.Cached() || !bytes.Equal(again.KeyFile(), c.KeyFile()) {
		t.Error("the same secret gives another key, or it is not cached")
	}
	if again, _ = commit(t, append(settings, withCache(""))...); again.Cached() || !bytes.Equal(again.KeyFile(), c.KeyFile()) {
		t.Error("the same secret gives another key")
	}
	b, err := c.Budget()
	if err != nil || b.Left != b.Positions || b.Proofs() != uint64(c.Key().Proofs()) {
		t.Fatalf("%+v, %v", b, err)
	}
	made := 0
	for ; ; made++ {
		seen := &began{}
		p, err := Prove(t.Context(), again, in, proveWith(append(settings, withObserve(seen))...))
		if errors.Is(err, ledger.ErrUsedUp) {
			if len(seen.phases) > 0 {
				t.Errorf("a proof beyond the budget was begun: %v", seen.phases)
			}
			if want := "more positions, and a proof takes"; !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err := Verify(c.Key(), bytes.NewReader(p.File), &VerifyOptions{MinBits: 1})
		if err != nil {
			t.Fatal(err)
		}
		web, err := verdict.Of(c.KeyFile(), p.File, &verdict.Options{MinBits: 1}, func(int, int) {})
		if err != nil || !web.Masked || web.HiddenFor != s.HiddenFor {
			t.Errorf("the page's verdict: %+v, %v", web, err)
		}
		if !s.Masked || s.HiddenFor != c.Key().Proofs() || s.Saturated != nil {
			t.Errorf("masked %v, hidden for %d proofs, saturated %v", s.Masked, s.HiddenFor, s.Saturated)
		}
	}
	if b, err = c.Budget(); err != nil || made < c.Key().Proofs() || int(b.Positions)/b.Each > made || b.Proofs() != 0 {
		t.Errorf("%d proofs, %+v, %v", made, b, err)
	}
	if read, err := hiding.ReadBudget(c.Key(), secret); err != nil || *read != *b {
		t.Errorf("%+v, %v", read, err)
	}
}

// TestHiddenEach: several proofs are refused together if there are too many, and count one by one else.
func TestHiddenEach(t *testing.T) {
	settings, _ := hidden(t, 2)
	c, in := commit(t, settings...)
	b, err := c.Budget()
	if err != nil {
		t.Fatal(err)
	}
	many := make([]Input, b.Proofs()+2)
	for i := range many {
		many[i] = in
	}
	if _, err := c.ProveEach(t.Context(), many, nil, proveWith(settings...)); !errors.Is(err, ledger.ErrUsedUp) {
		t.Errorf("%d proofs: %v", len(many), err)
	}
	if now, _ := c.Budget(); now.Left != b.Left {
		t.Errorf("refused proofs took %d positions", b.Left-now.Left)
	}
	proofs, err := c.ProveEach(t.Context(), many[:2], nil, proveWith(settings...))
	if err != nil {
		t.Fatal(err)
	}
	if now, _ := c.Budget(); now.Left >= b.Left || bytes.Equal(proofs[0].File, proofs[1].File) {
		t.Errorf("two proofs took %d positions", b.Left-now.Left)
	}
}

// TestHiddenRefusals: what does not go with a key that hides weights is refused before any work, and so is a secret that is another
// key's, or whose ledger may be an older copy.
func TestHiddenRefusals(t *testing.T) {
	settings, secret := hidden(t, 2)
	c, in := commit(t, settings...)
	plain, _ := commit(t, quick...)
	seen := &began{}
	settings = append(settings, withObserve(seen))
	proving := func(more ...with) error {
		_, err := Prove(t.Context(), c, in, proveWith(append(settings, more...)...))
		return err
	}
	committing := func(of *Committed, more ...with) error {
		_, err := Commit(t.Context(), of.Circuit(), commitWith(append(settings, more...)...))
		return err
	}
	resume := func(e *every) { e.prove.Resume, e.prove.CacheDir = true, t.TempDir() }
	_, certified := c.Certify(t.Context(), nil)
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"resume":      {proving(resume), "are not resumed"},
		"together":    {proving(func(e *every) { e.prove.Together = together{} }), "by one process"},
		"help":        {c.Help(t.Context(), in, nil, nil, nil), "by one process"},
		"certificate": {certified, "has no certificate"},
		"check":       {CheckKey(t.Context(), digits+"digits.onnx", c.Key(), nil), "its commitment depends on a secret"},
		"circuit":     {committing(plain), "quantise with option Hide"},
		"more":        {committing(c, withHidden(secret, 1000)), "is the secret of a key for"},
		"security":    {committing(c, withSecurityBits(50)), "is the secret of the key with the commitment"},
		"share":       {func() error { _, err := Prove(t.Context(), plain, in, proveWith(withShare(1, 1))); return err }(), "of keys that hide weights"},
		"divided":     {proving(withShare(2, 3)), "the key is used up"},
		"contradicts": {proving(withShare(1, 3)), "it is share 2/3 of the budget, not 1/3"},
		"undivided":   {proving(withShare(1, 1)), "it is share 2/3 of the budget, not 1/1"},
	} {
		if tc.err == nil || !strings.Contains(tc.err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, tc.err, tc.want)
		}
	}
	for _, p := range seen.phases {
		if p != phaseCommitModel {
			t.Errorf("work was begun: %v", seen.phases)
		}
	}
	file, err := os.ReadFile(secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(secret, secret+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(secret, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := proving(); !errors.Is(err, ledger.ErrMoved) {
		t.Errorf("a secret that was put back: %v", err)
	}
}

// together are processes that share a proof.
type together struct{ prover.Together }

// TestHiddenKeysDiffer: keys of the same weights with other secrets have nothing in common but what they say of the circuit, and say
// it alike.
func TestHiddenKeysDiffer(t *testing.T) {
	a, _ := hidden(t, 2)
	b, _ := hidden(t, 2)
	first, _ := commit(t, a...)
	second, _ := commit(t, b...)
	x, y := first.Key(), second.Key()
	if x.Trees[0].Root == y.Trees[0].Root {
		t.Error("two secrets give one root")
	}
	same := *y
	same.Trees = []proof.Tree{{Root: x.Trees[0].Root, RowVars: y.Trees[0].RowVars, TailLog: y.Trees[0].TailLog}}
	if file, err := proof.EncodeKey(&same); err != nil || !bytes.Equal(file, first.KeyFile()) {
		t.Errorf("keys of the same weights differ beside the root: %v", err)
	}
}

// TestWeightsAreNowhere: no few weights in a row are in a key that hides them, a proof, the errors of a prover that is refused, or what the cache
// has of the commitment, in any encoding. They are where they must be, in the quantised weights.
func TestWeightsAreNowhere(t *testing.T) {
	settings, secret := hidden(t, 2)
	folder := t.TempDir()
	c, in := commit(t, append(settings, func(e *every) { e.commit.CacheDir = folder })...)
	p, err := Prove(t.Context(), c, in, proveWith(settings...))
	if err != nil {
		t.Fatal(err)
	}
	places := map[string][]byte{"key": c.KeyFile(), "proof": p.File}
	if places["secret"], err = os.ReadFile(secret); err != nil {
		t.Fatal(err)
	}
	_, refused := Prove(t.Context(), c, in, proveWith(append(settings, withShare(1, 100))...))
	places["error"] = []byte(refused.Error())
	err = filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			places["cache "+path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil || len(places) < 5 {
		t.Fatalf("%d places, %v", len(places), err)
	}
	searched := 0
	for _, w := range c.circuit.quantised.Weights {
		if w == nil || w.Len() < 6 {
			continue
		}
		values := ints.All(w)
		for _, from := range []int{0, len(values) / 3, len(values) - 6} {
			run := values[from : from+6]
			if slices.Max(run)-slices.Min(run) < 4 {
				continue // zeros are everywhere
			}
			for _, pattern := range encodings(run) {
				searched++
				for name, text := range places {
					if bytes.Contains(text, pattern) {
						t.Errorf("weights %v are in %s", run, name)
					}
				}
			}
		}
		if !slices.ContainsFunc(encodings(values[:6]), func(b []byte) bool { return bytes.HasPrefix(ints.Bytes(w), b) }) {
			t.Errorf("weights %v are not found where they are", values[:6])
		}
	}
	if searched < 50 {
		t.Fatalf("%d searches", searched)
	}
}

// encodings are the ways in which numbers could stand somewhere: as integers of 8 to 32 bits, elements of the field, and text.
func encodings(values []int32) (all [][]byte) {
	var list [6][]byte
	for _, v := range values {
		list[0] = append(list[0], byte(v))
		list[1] = binary.LittleEndian.AppendUint16(list[1], uint16(v))
		list[2] = binary.BigEndian.AppendUint16(list[2], uint16(v))
		list[3] = binary.LittleEndian.AppendUint32(list[3], uint32(v))
		list[4] = binary.BigEndian.AppendUint32(list[4], uint32(v))
		list[5] = binary.LittleEndian.AppendUint32(list[5], uint32(field.FromInt32(v)))
	}
	from := 0 // as many bytes as the values take
	switch width := ints.WidthOf(values); width {
	case 2:
		from = 1
	case 4:
		from = 3
	}
	all = append(list[from:], []byte(strings.Trim(fmt.Sprint(values), "[]")))
	return append(all, []byte(strings.ReplaceAll(strings.Trim(fmt.Sprint(values), "[]"), " ", ",")))
}

// TestHiddenInput: a proof hides an input and what it does not reveal of an output, under a plain key and under one that hides weights; it
// says so, and no few entries of either are in it, in what the cache has afterwards, or in the error of a verifier who asks for the input.
func TestHiddenInput(t *testing.T) {
	hiding, _ := hidden(t, 2)
	for name, settings := range map[string][]with{"plain key": quick, "hidden weights": hiding} {
		folder := t.TempDir()
		settings = append(slices.Clone(settings), withCache(folder), func(e *every) {
			e.prove.HideInputs, e.prove.HideOutputs, e.prove.Reveal = []string{""}, []string{"logits"}, map[string]int{"logits": 0}
		})
		c, in := commit(t, settings...)
		p, err := Prove(t.Context(), c, in, proveWith(settings...))
		if err != nil {
			t.Fatal(err)
		}
		s, err := Verify(c.Key(), bytes.NewReader(p.File), &VerifyOptions{MinBits: 1})
		if err != nil {
			t.Fatal(err)
		}
		if !s.Masked || len(s.Inputs) != 0 || len(s.Outputs) != 1 || len(s.Reveals) != 1 || len(s.Hidden) != 1 || s.Hidden[0].Name != "image" {
			t.Errorf("%s: it states %+v", name, s)
		}
		given, err := ReadArrays(digits + "input.json")
		if err != nil {
			t.Fatal(err)
		}
		_, refused := Verify(c.Key(), bytes.NewReader(p.File), &VerifyOptions{MinBits: 1, Input: given})
		if !errors.Is(refused, ErrOtherInput) || !strings.Contains(refused.Error(), "it hides its inputs") {
			t.Errorf("%s: %v", name, refused)
		}
		places := map[string][]byte{"key": c.KeyFile(), "proof": p.File, "error": []byte(refused.Error())}
		err = filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				places["cache "+path], err = os.ReadFile(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		plain, err := Prove(t.Context(), c, in, proveWith(append(settings, func(e *every) { e.prove.HideInputs, e.prove.HideOutputs, e.prove.Reveal = nil, nil, nil })...))
		if err != nil {
			t.Fatal(err)
		}
		ints, _, err := c.circuit.quantised.QuantiseInput(in)
		if err != nil {
			t.Fatal(err)
		}
		values := ints[0][32:40]
		for _, pattern := range encodings(values) {
			for place, text := range places {
				if bytes.Contains(text, pattern) {
					t.Errorf("%s: the input's %v is in %s", name, values, place)
				}
			}
		}
		if s, err := Verify(c.Key(), bytes.NewReader(plain.File), &VerifyOptions{MinBits: 1}); err != nil || len(s.Inputs) != 1 || len(s.Hidden) != 0 {
			t.Errorf("%s: a proof that hides nothing of the statement: %v", name, err)
		}
	}
}

// TestHiddenInputRefusals: what cannot be hidden, or not together with something else, is refused before any work.
func TestHiddenInputRefusals(t *testing.T) {
	c, in := commit(t, quick...)
	seen := &began{}
	for name, tc := range map[string]struct {
		set  func(o *ProveOptions)
		want string
	}{
		"no such input":  {func(o *ProveOptions) { o.HideInputs = []string{"other"} }, `the model has no "other"`},
		"no such output": {func(o *ProveOptions) { o.HideOutputs = []string{"other"} }, `the model has no "other"`},
		"all outputs":    {func(o *ProveOptions) { o.HideOutputs = []string{""} }, "states no output says nothing"},
		"resume":         {func(o *ProveOptions) { o.HideInputs, o.Resume, o.CacheDir = []string{""}, true, t.TempDir() }, "are not resumed"},
		"together":       {func(o *ProveOptions) { o.HideInputs, o.Together = []string{""}, together{} }, "by one process"},
	} {
		_, err := Prove(t.Context(), c, in, proveWith(append(quick, withObserve(seen), func(e *every) { tc.set(&e.prove) })...))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	if len(seen.phases) > 0 {
		t.Errorf("work was begun: %v", seen.phases)
	}
}

// TestLinkedKeys: two keys of one model are linked, and of a model of which one weight differs they are not.
func TestLinkedKeys(t *testing.T) {
	make := func(secret string) *Committed {
		c, _ := commit(t, append([]with{withHide(), withHidden(filepath.Join(t.TempDir(), secret), 3)}, quick...)...)
		return c
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	from, to := make("a"), make("b")
	file, err := from.Link(t.Context(), to, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := verifier.CheckLink(from.Key(), to.Key(), bytes.NewReader(file), 1); err != nil || s.Total <= 0 {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := verifier.CheckLink(from.Key(), to.Key(), bytes.NewReader(file), 0); !errors.Is(err, ErrInvalid) {
		t.Errorf("a weak key: %v", err)
	}
	if _, err := verifier.CheckLink(from.Key(), to.Key(), bytes.NewReader(file[1:]), 1); !errors.Is(err, ErrInvalid) {
		t.Errorf("a damaged file: %v", err)
	}
	before, err := to.Budget()
	if err != nil {
		t.Fatal(err)
	}
	altered := *from.circuit
	altered.quantised.Weights = slices.Clone(altered.quantised.Weights)
	i := slices.IndexFunc(altered.quantised.Weights, func(v ints.Ints) bool { return v != nil })
	values := slices.Clone(ints.All(altered.quantised.Weights[i]))
	values[0] ^= 1
	altered.quantised.Weights[i] = ints.Of(values)
	other := *from
	other.circuit = &altered
	if _, err := other.Link(t.Context(), to, nil, nil); !errors.Is(err, ErrSelfCheck) {
		t.Errorf("other weights than the keys': %v", err)
	}
	if after, err := to.Budget(); err != nil || after.Left >= before.Left {
		t.Errorf("%v positions left after %v, %v", after, before, err)
	}
	plain, _ := commit(t, quick...)
	if _, err := from.Link(t.Context(), plain, nil, nil); err == nil {
		t.Error("a plain key: no error")
	}
}
