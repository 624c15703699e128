package provemodel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/resident"
	"github.com/prove-model/prove-model/prover/machine/cache"
	"github.com/prove-model/prove-model/prover/math/arena"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// ErrLimited says that the process has a limit already.
var ErrLimited = arena.ErrBound

// LimitMemory has this process keep within so many bytes of memory, pages of mapped
// files included, until release is called. Weights and the tables of proofs that do not
// fit lie in files without a name in a folder, or in the cache's folder if that is
// empty; the system gives them memory as far as it has some. Commit and Prove begin
// nothing that cannot keep within the limit, and return a *MemoryError. Proofs are the
// same. release returns the most bytes that were in files, and the error of the first
// file that could not be had, for which memory was taken.
//
// There is one limit at a time; for a second the error is ErrLimited. Files, and what
// the system says about memory, are those of Linux: elsewhere only the collector keeps
// to the limit.
func LimitMemory(bytes int64, folder string) (release func() (inFiles int64, err error), err error) {
	if folder == "" {
		if folder, err = cache.DefaultPath(); err != nil {
			folder = os.TempDir()
		}
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("folder for what does not fit into memory: %w", err)
	}
	return arena.Bound(bytes, filepath.Clean(folder))
}

// MemoryLimit returns the limit of the process (LimitMemory), 0 if there is none.
func MemoryLimit() int64 { return arena.Bounded() }

// ContainerMemory returns the bytes of memory that the container of this process may
// have, and what says so, on Linux; 0 if there is no limit.
func ContainerMemory() (bytes int64, from string) { return resident.Container() }

// FreeHostMemory returns the bytes of memory that the system says are free, 0 if it
// does not say.
func FreeHostMemory() int64 { return resident.Available() }

// MemoryError says that something cannot be done within the limit (LimitMemory), and
// which is the least that would do.
type MemoryError struct {
	Limit, Least int64
	At           string // the model's node where that is, if one alone asks for it
}

func (e *MemoryError) Error() string {
	what := "this"
	if e.At != "" {
		what = "a run of the float model up to " + e.At
	}
	return fmt.Sprintf("%s takes %.2f GB of memory at least, and the limit is %.2f GB", what, gb(e.Least), gb(e.Limit))
}

// runnable refuses to run a float model whose values take more memory than the process may
// have, or than there is.
func runnable(g *graph.Graph) error {
	elements, n := g.Peak()
	if n == nil {
		return nil
	}
	least, at := 8*int64(elements), fmt.Sprintf("%s %s", n.Op.Kind(), graph.Quote(n.Name))
	if limit := arena.Bounded(); limit > 0 && least > limit {
		return &MemoryError{limit, least, at}
	}
	if free := FreeHostMemory(); free > 0 && least > free {
		return fmt.Errorf("a run of the float model up to %s takes %.2f GB of memory at least, and the system has %.2f GB free", at, gb(least), gb(free))
	}
	return nil
}

// publishable refuses a graph whose inputs and outputs have more entries than a proof may.
func publishable(g *graph.Graph) error {
	n := 0
	for _, in := range g.Inputs {
		n += graph.Size(in.Shape)
	}
	for _, name := range g.Outputs {
		if n += graph.Size(g.Shapes[name]); n > plan.MaxPublic {
			return fmt.Errorf("model: output %s has shape %v: inputs and outputs of a proof have %d entries at most", graph.Quote(name), g.Shapes[name], plan.MaxPublic)
		}
	}
	return nil
}

// gb are the units of settings.
func gb(bytes int64) float64 { return float64(bytes) / (1 << 30) }

// within says if an estimate is beyond the limit of the process.
func (e *Estimate) within() error {
	if limit := arena.Bounded(); limit > 0 && e.Least > limit {
		return &MemoryError{Limit: limit, Least: e.Least}
	}
	return nil
}

// bounded has the process keep to the budget of a proof if that would take more, beside
// what it has of weights; release ends that. A limit of the process goes before.
func (o *ProveOptions) bounded(e *Estimate, w *watch) (release func(), err error) {
	if o.MemoryBudget == 0 || e.Beside <= o.MemoryBudget || e.Memory <= e.Least || arena.Bounded() > 0 {
		return func() {}, nil
	}
	bytes := e.Memory - e.Beside + o.MemoryBudget
	if e.Least > bytes {
		least := e.Least - (e.Memory - e.Beside)
		w.warn("proving takes %.2f GB beside the weights at least, and the budget is %.2f GB: it will take more", gb(least), gb(o.MemoryBudget))
		bytes = e.Least
	}
	end, err := LimitMemory(bytes, o.CacheDir)
	if errors.Is(err, ErrLimited) {
		return func() {}, nil // that of another proof
	}
	if err != nil {
		return nil, err
	}
	return func() {
		if _, err := end(); err != nil {
			w.warn("the budget was not kept: %v", err)
		}
	}, nil
}
