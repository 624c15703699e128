package proof

import (
	"os"
	"testing"

	"github.com/prove-model/prove-model/prover/proof/proofpb"
)

func BenchmarkZZ(b *testing.B) {
	f, _ := os.ReadFile("/tmp/verify-w/v")
	md := (*proofpb.Key)(nil).ProtoReflect().Descriptor()
	b.Run("serial", func(b *testing.B) {
		for b.Loop() {
			budget := maxKeyMessages
			if err := wireOf(md).check(f[keyHeaderSize:], &budget); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("beside", func(b *testing.B) {
		for b.Loop() {
			budget := maxKeyMessages
			if err := checkCanonical(f[keyHeaderSize:], md, &budget); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("digest", func(b *testing.B) {
		for b.Loop() {
			keyDigest(f)
		}
	})
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			parseKey(f)
		}
	})
	_, g, _ := unmarshalKey(f[keyHeaderSize:])
	b.Run("graph", func(b *testing.B) {
		for b.Loop() {
			decodeGraph(g)
		}
	})
}
