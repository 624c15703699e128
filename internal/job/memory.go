package job

import (
	"errors"
	"fmt"
	"math"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/resident"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/math/arena"
)

// gb is the number of bytes of a GB in settings.
const gb = 1 << 30

// LimitMemory limits the process's memory to --memory-gb, or to what its container may
// have. release ends that, and warns if the limit could not be kept.
func LimitMemory(cfg *config.Config, ph *ui.Phases) (release func(), err error) {
	defer must.Catch(&err)
	bytes, from := int64(cfg.MemoryGB*gb), "--memory-gb"
	if bytes == 0 {
		bytes, from = resident.Container()
	}
	if bytes == 0 {
		return func() {}, nil
	}
	end := must.GetAs(provemodel.LimitMemory(bytes, cfg.CacheDir))("%s", from)
	return func() {
		inFiles, err := end()
		if err != nil {
			ph.Warn(fmt.Sprintf("%s: memory was taken for what does not fit, since there is no room in the cache's folder: %v", from, err))
		}
		if inFiles > 0 {
			ph.Printf("%.2f GB did not fit into memory at a time, and were in files", float64(inFiles)/gb)
		}
	}, nil
}

// MemoryHint adds a hint to an error about too little memory: the least limit that would do.
func MemoryHint(err error) error {
	var short *provemodel.MemoryError
	if !errors.As(err, &short) {
		return err
	}
	return WithHint(err, fmt.Sprintf("--memory-gb %.2f is the least that will do", up(short.Least)))
}

// up converts bytes to GB, rounded up to two decimals.
func up(bytes int64) float64 { return math.Ceil(float64(bytes)/gb*100) / 100 }

// Estimate prints how much memory and time the work will take, and warns if the system has less memory free.
func Estimate(c *provemodel.Circuit, in []provemodel.Input, ph *ui.Phases, opts *Options) (_ *provemodel.Estimate, err error) {
	defer must.Catch(&err)
	e := must.Get(c.EstimateTexts(in, &opts.Commit, &opts.Prove))
	device := ""
	if e.Device > 0 {
		device = fmt.Sprintf(", %s on a GPU", ui.Bytes(e.Device))
	}
	limit, kept := arena.Bounded(), ""
	if limit > 0 && e.Memory > limit {
		kept = fmt.Sprintf(", kept within %s", ui.Bytes(limit))
	}
	ph.Printf("takes about %s of memory%s%s, and %.2g s to commit, %.2g s to prove", ui.Bytes(e.Memory), kept, device, e.Commit, e.Prove)
	if free := resident.Available(); limit == 0 && free > 0 && e.Memory > free {
		ph.Warn(fmt.Sprintf("this takes about %s of memory, and the system says that %s are free: --memory-gb bounds it, from %.2f on",
			ui.Bytes(e.Memory), ui.Bytes(free), up(e.Least)))
	}
	return e, nil
}
