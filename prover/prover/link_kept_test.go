package prover

import (
	"bytes"
	"errors"
	stdflag "flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/verifier"
)

var updateLinks = stdflag.Bool("update-links", false, "make the links of testdata/links anew")

const linksFolder = "../../testdata/links"

// keptLinks are the links of testdata/links, which every verifier has to say the same of: of keys for so many proofs. Their masks are
// random, so they are not made again to be compared.
var keptLinks = map[string]struct {
	proofs    [2]int
	security  proof.Security
	different bool // weights, of which the prover opens either tree as it is
}{
	"rows":           {[2]int{2, 40}, proof.Security{TargetBits: 40, GrindBits: 4}, false},
	"poseidon2":      {[2]int{2, 2}, proof.Security{TargetBits: 40, GrindBits: 4, Hash: hash.Poseidon2}, false},
	"blake3":         {[2]int{2, 2}, proof.Security{TargetBits: 100, GrindBits: 16}, false},
	"rows_different": {[2]int{2, 40}, proof.Security{TargetBits: 40, GrindBits: 4}, true},
}

// TestKeptLinks verifies the links of testdata/links, and refuses those of different weights, and all with a bit changed.
func TestKeptLinks(t *testing.T) {
	if *updateLinks {
		for name := range keptLinks {
			keepLink(t, name)
		}
	}
	for name, c := range keptLinks {
		read := func(file string) []byte {
			b, err := os.ReadFile(filepath.Join(linksFolder, name, file))
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		former, err := proof.DecodeKey(read("former.vk"))
		if err != nil {
			t.Fatal(err)
		}
		renewed, err := proof.DecodeKey(read("key.vk"))
		if err != nil {
			t.Fatal(err)
		}
		check := func(b []byte) error {
			_, err := verifier.CheckLink(former, renewed, bytes.NewReader(b), 40)
			return err
		}
		l := read("key.vk.link")
		if err := check(l); (err == nil) == c.different || err != nil && !errors.Is(err, verifier.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		for at := 0; at < len(l); at += len(l)/20 + 1 {
			bad := bytes.Clone(l)
			bad[at] ^= 1 << (at % 8)
			if check(bad) == nil {
				t.Fatalf("%s: byte %d changed: accepted", name, at)
			}
		}
	}
}

// keepLink makes a link of testdata/links.
func keepLink(t *testing.T, name string) {
	c := keptLinks[name]
	defer func(s proof.Security) { linkSecurity = s }(linkSecurity)
	linkSecurity = c.security
	b := everything(rand.New(rand.NewPCG(1, 2)))
	b.g.Finish(0)
	w := b.w
	if c.different {
		w = altered(b.w)
	}
	former, _ := hidingKey(t, b, b.w, c.proofs[0], 1)
	renewed, _ := hidingKey(t, b, w, c.proofs[1], 2)
	l := openedAsTheyAre(t, former, renewed, b.w, w)
	folder := filepath.Join(linksFolder, name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"key.vk.link": l.Encode()}
	for name, k := range map[string]*proof.Key{"former.vk": former.Key, "key.vk": renewed.Key} {
		b, err := proof.EncodeKey(k)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = b
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
