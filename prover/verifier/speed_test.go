package verifier

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/prover/proof"
)

var pair = flag.String("files", "", "KEY,PROOF,...: verify these in BenchmarkFiles")

// BenchmarkFiles verifies pairs of a key and a proof, the key read before.
func BenchmarkFiles(b *testing.B) {
	if *pair == "" {
		b.Skip("for -files")
	}
	names := strings.Split(*pair, ",")
	for i := 0; i+1 < len(names); i += 2 {
		vk, err := os.ReadFile(names[i])
		if err != nil {
			b.Fatal(err)
		}
		file, err := os.ReadFile(names[i+1])
		if err != nil {
			b.Fatal(err)
		}
		key, err := proof.DecodeKey(vk)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(names[i+1], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Verify(key, bytes.NewReader(file)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
