package provemodel

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prove-model/prove-model/prover/proof"
)

// alterCached changes the key of the one cached commitment to the bundled model.
func alterCached(t *testing.T, c *Committed, opts []with, change func(k *proof.Key)) {
	t.Helper()
	e := entryOf(commitWith(opts...).CacheDir, newWatch(nil), c.circuit.commitmentID(c.key.Security))
	content := e.get()
	if content == nil {
		t.Fatal("nothing is cached")
	}
	key, err := proof.DecodeKey(content.Key)
	if err != nil {
		t.Fatal(err)
	}
	change(key)
	if content.Key, err = proof.EncodeKey(key); err != nil {
		t.Fatal(err)
	}
	e.put(content)
}

// A cache entry that is not used is not passed over in silence.
func TestUnusedCache(t *testing.T) {
	opts := append(slices.Clone(quick), withCache(t.TempDir()))
	first, _ := commit(t, opts...)
	alterCached(t, first, opts, func(k *proof.Key) { k.Circuit.Graph.Name += " of before" })
	r := &recorder{t: t}
	again, _ := commit(t, append(opts, withObserve(r))...)
	if again.Cached() {
		t.Error("the key of another graph is used")
	}
	if !slices.ContainsFunc(r.log, func(s string) bool { return strings.Contains(s, "cached commitment is not used") }) {
		t.Errorf("%q", r.log)
	}
}

// A quantised model that is kept is the one that would be made again, and one that is
// damaged is made again.
func TestKeptModel(t *testing.T) {
	dir := t.TempDir()
	m, in, samples := open(t)
	quantised := func(opts ...with) (*Circuit, *recorder) {
		r := &recorder{t: t}
		c, err := Quantise(t.Context(), m, samples, quantiseWith(append(opts, withObserve(r))...))
		if err != nil {
			t.Fatal(err)
		}
		return c, r
	}
	first, _ := quantised(withCache(dir))
	same := func(what string, c *Circuit) {
		t.Helper()
		want, err := Commit(t.Context(), first, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Commit(t.Context(), c, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Commitment() != want.Commitment() {
			t.Errorf("%s: another key", what)
		}
		a, err := first.Run(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.Run(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(a, b); d != "" {
			t.Errorf("%s: another run: %s", what, d)
		}
		if d := cmp.Diff(first.Report().Steps, c.Report().Steps); d != "" {
			t.Errorf("%s: another report: %s", what, d)
		}
	}
	again, _ := quantised(withCache(dir))
	if !again.Report().Cached {
		t.Error("ranges are not kept")
	}
	same("kept", again)
	given, _ := quantised(withCache(dir), withFromRanges(first.Ranges()))
	same("from ranges", given)

	settings, err := (&QuantiseOptions{}).settings(m.open.most)
	if err != nil {
		t.Fatal(err)
	}
	settings.Formats = first.quantised.Formats
	id := m.quantisedID(rangesOf(first.quantised), settings)
	content := entryOf(dir, newWatch(nil), id).get()
	if content == nil {
		t.Fatal("nothing is kept where it is looked for")
	}
	content.Extra = content.Extra[:len(content.Extra)/2]
	entryOf(dir, newWatch(nil), id).put(content)
	repaired, r := quantised(withCache(dir))
	same("repaired", repaired)
	if !slices.ContainsFunc(r.log, func(s string) bool { return strings.Contains(s, "cached model is not used") }) {
		t.Errorf("%q", r.log)
	}
}
