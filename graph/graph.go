package graph

import (
	"crypto/sha256"
	"errors"
	"io"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/vocabulary"
)

// Graph is a model in the normal form that the package documentation
// describes. A [Builder] makes one.
type Graph struct {
	Name    string
	Inputs  []Input
	Outputs []string           // names of node outputs, or of an input that is passed through
	Nodes   []*Node            // topologically ordered
	Consts  map[string]*Tensor // values that do not depend on the inputs
	Shapes  map[string][]int   // of inputs, constants and node outputs
	DTypes  map[string]DType   // likewise; computed values of any float type are Float

	// Alike lists groups of values that are the same quantity at several steps of a recurrence. Calibration sees each step only a few
	// times, so it gives all values of a group one common range.
	Alike [][]string

	// Rebind, if set, makes the model for other sizes of the axes that it leaves open; sizes
	// has these by symbol. The result shares the files of this graph, and the constants that
	// do not depend on the sizes. It may be used until this graph is closed.
	Rebind func(sizes map[string]int) (*Graph, error)

	// Typed, if set, makes a graph that computes more closely as the file says: it rounds at
	// the casts to floating-point types of 16 bits, and keeps doubles that float32 does not
	// hold. This graph does neither. The result is only for float runs. It shares files and
	// constants of this graph.
	Typed func() (*Graph, error)

	// Vocabulary says how strings that the model takes become inputs of the graph, and which strings its outputs stand for.
	// It is nil if the model has no strings.
	Vocabulary *vocabulary.Vocabulary

	// Files are the files that the graph was read from, the model file first. Consts may
	// point into them, until Close.
	Files []File
}

// File is a file that a graph was read from.
type File interface {
	io.Closer
	Bytes() []byte // the whole of it, until Close
}

// Input is an input of the graph.
type Input struct {
	Name  string
	Shape []int // with the sizes of open axes for which the graph was made
	// Symbols names the axes whose size the model leaves open, such as
	// "batch"; axes of fixed size have "". It is nil if all are fixed.
	Symbols []string
	DType   DType
	// Numbers says which numbers the input may have. If some may be NaN or infinite, only
	// the operators [Finite] and [Class] read the input.
	Numbers Numbers
}

// Node is one operation.
type Node struct {
	Op     Op
	Name   string   // unique in the graph, for messages
	Inputs []string // names of values
	Output string   // name of the value that the node computes
	// Within says that the output has an integer type of 32 or 64 bits, and that the model's
	// arithmetic may overflow this type. The model would wrap around there. Neither a float
	// run nor a circuit wraps: RunNode returns an error for values outside of the type's
	// range.
	Within bool
}

// Makers maps the name of each node's output to the node.
func (g *Graph) Makers() map[string]*Node {
	by := make(map[string]*Node, len(g.Nodes))
	for _, n := range g.Nodes {
		by[n.Output] = n
	}
	return by
}

// Digests returns the SHA-256 of each of Files, which it reads whole. The list is empty
// for a graph made in memory.
func (g *Graph) Digests() [][sha256.Size]byte {
	digests := make([][sha256.Size]byte, len(g.Files))
	parallel.For(len(digests), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			digests[i] = sha256.Sum256(g.Files[i].Bytes())
		}
	})
	return digests
}

// Close closes the files that the graph's constants may point into. The
// constants must not be used afterwards.
func (g *Graph) Close() error {
	var errs []error
	for _, f := range g.Files {
		errs = append(errs, f.Close())
	}
	g.Files = nil
	return errors.Join(errs...)
}
