package verifier

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/prove-model/prove-model/prover/proof"
)

// TestVerifyFiles: a key and a proof that are read together are accepted and refused as one
// after the other, with the same result and for the same kind of reason, whatever is damaged.
func TestVerifyFiles(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join("..", "..", "testdata", "golden", "*", "run.proof"))
	if err != nil || len(folders) == 0 {
		t.Fatal(folders, err)
	}
	read := func(name string) []byte {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	rng := rand.New(rand.NewPCG(1, 2))
	damaged := func(b []byte, among int) []byte {
		b = bytes.Clone(b)
		b[rng.IntN(min(among, len(b)))] ^= 1 << rng.IntN(8)
		return b
	}
	other := read(folders[0])
	valid, refused := 0, 0
	for _, name := range folders {
		vk, file := read(filepath.Join(filepath.Dir(name), "key.vk")), read(name)
		pairs := [][2][]byte{{vk, file}, {vk, other}, {vk, nil}, {nil, file}, {nil, nil}, {vk[:len(vk)/2], file}, {vk, file[:len(file)/2]}}
		for range 10 {
			pairs = append(pairs, [][2][]byte{
				{damaged(vk, len(vk)), file}, {vk, damaged(file, 100)}, {vk, damaged(file, len(file))}, {damaged(vk, len(vk)), damaged(file, 100)},
			}...)
		}
		for i, p := range pairs {
			policy := Policy{MinBits: 1}
			key, err := proof.ReadKey(bytes.NewReader(p[0]), proof.MaxKeySize)
			var want *Result
			if err == nil {
				want, err = policy.Verify(key, bytes.NewReader(p[1]))
			}
			gotKey, got, gotErr := policy.VerifyFiles(bytes.NewReader(p[0]), bytes.NewReader(p[1]))
			for _, kind := range []error{ErrInvalid, proof.ErrMalformed} {
				if errors.Is(err, kind) != errors.Is(gotErr, kind) {
					t.Fatalf("%s, pair %d: %v together, %v apart", name, i, gotErr, err)
				}
			}
			if (err == nil) != (gotErr == nil) || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s, pair %d: %v together, %v apart", name, i, gotErr, err)
			}
			if err != nil {
				refused++
				continue
			}
			if valid++; gotKey.Digest != key.Digest {
				t.Fatalf("%s, pair %d: another key", name, i)
			}
		}
	}
	if valid < len(folders) || refused < valid {
		t.Errorf("%d pairs are valid, %d are not", valid, refused)
	}
}
