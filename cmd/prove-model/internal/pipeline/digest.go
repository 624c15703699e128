package pipeline

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/prover/parallel"
)

// contentDigest identifies what a graph computes: its nodes, shapes and
// constants, wherever they were read from.
func contentDigest(g *graph.Graph) [32]byte {
	names := slices.Sorted(maps.Keys(g.Consts))
	consts := make([][32]byte, len(names))
	parallel.For(len(names), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			consts[i] = tensorDigest(g.Consts[names[i]])
		}
	})
	h := sha256.New()
	// Go syntax is injective, and prints maps in the order of their keys.
	fmt.Fprintf(h, "%#v\n%#v\n%#v\n%#v\n", g.Inputs, g.Outputs, g.Shapes, g.DTypes)
	for _, n := range g.Nodes {
		fmt.Fprintf(h, "%q %T %#v %q %q\n", n.Name, n.Op, n.Op, n.Inputs, n.Output)
	}
	for i, name := range names {
		fmt.Fprintf(h, "%q %x\n", name, consts[i])
	}
	return [32]byte(h.Sum(nil))
}

func tensorDigest(t *graph.Tensor) [32]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%#v %d %#v %d\n", t.Shape, int(t.DType), t.I64, len(t.F32))
	var buf [1 << 14]byte
	for block := range slices.Chunk(t.F32, len(buf)/4) {
		for i, x := range block {
			binary.LittleEndian.PutUint32(buf[4*i:], math.Float32bits(x))
		}
		h.Write(buf[:4*len(block)])
	}
	return [32]byte(h.Sum(nil))
}
