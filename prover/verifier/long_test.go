package verifier

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/proof"
)

// TestLongOutput alters single entries of an output that the transcript absorbs as the
// digests of its columns.
func TestLongOutput(t *testing.T) {
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "golden", "long", name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	key, err := proof.DecodeKey(read("key.vk"))
	if err != nil {
		t.Fatal(err)
	}
	file := read("run.proof")
	// with is the proof file with other outputs.
	with := func(alter func(v []int32)) []byte {
		in, err := proof.NewReader(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		p, err := key.PlanOf(in.Header())
		if err != nil {
			t.Fatal(err)
		}
		in.Limit(proof.LimitsFor(p))
		inputs, outputs, err := in.Public(p.Graph)
		if err != nil {
			t.Fatal(err)
		}
		alter(outputs[0])
		var b bytes.Buffer
		out, err := proof.NewWriter(&b, in.Header(), p.Frames)
		if err == nil {
			err = out.WritePublic(p.Graph, inputs, outputs)
		}
		for range p.Frames {
			body, readErr := in.Next()
			if err = errors.Join(err, readErr); err == nil {
				err = out.Write(body)
			}
		}
		if err = errors.Join(err, out.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	if same := with(func([]int32) {}); !bytes.Equal(same, file) {
		t.Fatal("the proof is another one when it is written again")
	}
	result, err := Verify(key, bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	n := len(result.Outputs[0])
	for _, i := range []int{0, 511, 512, n / 2, n - 1} {
		altered := with(func(v []int32) { v[i]-- })
		if _, err := Verify(key, bytes.NewReader(altered)); !errors.Is(err, ErrInvalid) {
			t.Errorf("entry %d of %d altered: %v", i, n, err)
		}
	}
	column := with(func(v []int32) { // the same entries in another order
		j := slices.IndexFunc(v, func(x int32) bool { return x != v[0] })
		v[0], v[j] = v[j], v[0]
	})
	if _, err := Verify(key, bytes.NewReader(column)); !errors.Is(err, ErrInvalid) {
		t.Errorf("two entries exchanged: %v", err)
	}
}
