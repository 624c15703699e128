package weights

import (
	"maps"
	"slices"

	"github.com/prove-model/prove-model/internal/mapped"
)

// Tensors is a [Set] of tensors by name, and the files that they point into.
type Tensors struct {
	ByName map[string]*Tensor
	From   []*mapped.File
}

// Names implements [Set].
func (t *Tensors) Names() []string { return slices.Sorted(maps.Keys(t.ByName)) }

// Get implements [Set].
func (t *Tensors) Get(name string) *Tensor { return t.ByName[name] }

// Files implements [Set].
func (t *Tensors) Files() []*mapped.File { return t.From }

// Close closes the files.
func (t *Tensors) Close() {
	for _, f := range t.From {
		f.Close()
	}
}
