package inspect

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/proof"
)

// TestOwnParameters: what is shown is what the key asks for, not what a key made
// today would.
func TestOwnParameters(t *testing.T) {
	file, err := os.ReadFile("../../../../testdata/golden/digits/key.vk")
	if err != nil {
		t.Fatal(err)
	}
	key, err := proof.DecodeKey(file)
	if err != nil {
		t.Fatal(err)
	}
	key.Levels[0].Queries += 5
	if file, err = proof.EncodeKey(key); err != nil {
		t.Fatal(err)
	}
	if key, err = proof.DecodeKey(file); err != nil {
		t.Fatal(err)
	}
	d, err := OfKey(key)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("opening 0: %d queries", key.Levels[0].Queries)
	if !slices.ContainsFunc(d.Rounds, func(r Round) bool { return r.Name == want }) {
		t.Errorf("no round %q in %v", want, d.Rounds)
	}
}

// TestUnreachable: a key whose parameters do not give the security that it asks for
// is not shown as if they did.
func TestUnreachable(t *testing.T) {
	file, err := os.ReadFile("../../../../testdata/golden/digits/key.vk")
	if err != nil {
		t.Fatal(err)
	}
	key, err := proof.DecodeKey(file)
	if err != nil {
		t.Fatal(err)
	}
	key.Levels[0].Queries = 3
	if file, err = proof.EncodeKey(key); err != nil {
		t.Fatal(err)
	}
	if key, err = proof.DecodeKey(file); err != nil {
		t.Fatal(err)
	}
	if d, err := OfKey(key); err == nil {
		t.Errorf("shown with %.1f bits", d.MinBits)
	}
}
