package provemodel

import (
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/prover/proof"
)

// alterCached changes the key of the one cached commitment to the bundled model.
func alterCached(t *testing.T, c *Committed, opts []Option, change func(k *proof.Key)) {
	t.Helper()
	o := apply(opts)
	e := o.entry(o.watch(), c.circuit.commitmentID(c.key.Security))
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
	opts := append(slices.Clone(quick), Cache(t.TempDir()))
	first, _ := commit(t, opts...)
	alterCached(t, first, opts, func(k *proof.Key) { k.Circuit.Graph.Name += " of before" })
	r := &recorder{t: t}
	again, _ := commit(t, append(opts, Observe(r))...)
	if again.Cached() {
		t.Error("the key of another graph is used")
	}
	if !slices.ContainsFunc(r.log, func(s string) bool { return strings.Contains(s, "cached commitment is not used") }) {
		t.Errorf("%q", r.log)
	}
}
