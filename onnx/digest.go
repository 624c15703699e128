package onnx

import (
	"crypto/sha256"

	"github.com/prove-model/prove-model/prover/parallel"
)

// Digests returns the SHA-256 of every file that the graph was read from: the
// model's own, then those of its external data by increasing name. There is
// none for a graph made in memory. It reads them whole, before Close.
func (g *Graph) Digests() [][sha256.Size]byte {
	digests := make([][sha256.Size]byte, len(g.files))
	parallel.For(len(digests), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			digests[i] = sha256.Sum256(g.files[i].data)
		}
	})
	return digests
}
