package schema

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// Every key and every frame that is kept is a message of the schema, and written again it is the
// same bytes.
func TestGolden(t *testing.T) {
	keys, err := filepath.Glob("../../testdata/golden/*/key.vk")
	if err != nil || len(keys) < 10 {
		t.Fatal(keys, err)
	}
	for _, file := range keys {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var key Key
		if err := Decode(b[12:], &key); err != nil {
			t.Fatal(file, err)
		}
		if !bytes.Equal(Append(nil, &key), b[12:]) || !Equal(&key, Clone(&key)) {
			t.Errorf("%s is another key", file)
		}
		if b, err = os.ReadFile(filepath.Join(filepath.Dir(file), "run.proof")); err != nil {
			t.Fatal(err)
		}
		for b = b[8:]; len(b) > 0; {
			body, n := protowire.ConsumeBytes(b)
			var frame Frame
			if n < 0 {
				t.Fatal(file)
			}
			if err := Decode(body, &frame); err != nil {
				t.Fatal(file, err)
			}
			if !bytes.Equal(Append(nil, &frame), body) {
				t.Errorf("%s: a frame of its proof is another one", file)
			}
			b = b[n:]
		}
	}
}
