package inspect

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/prover/proof"
)

// altered returns the key of the bundled digits and a proof for it whose header has
// been changed.
func altered(t *testing.T, change func(*proof.Header)) (*proof.Key, []byte) {
	t.Helper()
	file, err := os.ReadFile("../../../../testdata/golden/digits/key.vk")
	if err != nil {
		t.Fatal(err)
	}
	key, err := proof.DecodeKey(file)
	if err != nil {
		t.Fatal(err)
	}
	if file, err = os.ReadFile("../../../../testdata/golden/digits/run.proof"); err != nil {
		t.Fatal(err)
	}
	r, err := proof.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	p, err := key.PlanOf(r.Header())
	if err != nil {
		t.Fatal(err)
	}
	r.Limit(proof.LimitsFor(p))
	header := *r.Header()
	header.Levels = slices.Clone(header.Levels)
	change(&header)
	var out bytes.Buffer
	w, err := proof.NewWriter(&out, &header, p.Frames)
	if err != nil {
		t.Fatal(err)
	}
	in, values, err := r.Public(p.Graph)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WritePublic(p.Graph, in, values); err != nil {
		t.Fatal(err)
	}
	for range p.Frames {
		body, err := r.Next()
		if err == nil {
			err = w.Write(body)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return key, out.Bytes()
}

// TestOwnParameters: what is shown of a proof are its own parameters, not those that
// a proof made today would have.
func TestOwnParameters(t *testing.T) {
	var want string
	key, file := altered(t, func(h *proof.Header) {
		h.Levels[0].Queries += 5
		want = fmt.Sprintf("opening 0: %d queries", h.Levels[0].Queries)
	})
	d, err := OfProof(key, bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(d.Key.Rounds, func(r Round) bool { return r.Name == want }) {
		t.Errorf("no round %q in %v", want, d.Key.Rounds)
	}
}

// TestUnreachable: a proof whose parameters do not give the security that its key
// asks for is not shown as if they did.
func TestUnreachable(t *testing.T) {
	key, file := altered(t, func(h *proof.Header) { h.Levels[0].Queries = 3 })
	if d, err := OfProof(key, bytes.NewReader(file)); err == nil || !strings.Contains(err.Error(), "queries") {
		t.Errorf("%v, %v", d, err)
	}
}
