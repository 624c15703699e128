package bench

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/resident"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/math/arena"
)

// ScaleRow is the measurement of a perceptron of about 2^Log parameters, on an input of
// Tokens rows.
type ScaleRow struct {
	Log     int `json:"log_parameters"`
	Tokens  int `json:"tokens"`
	Devices int `json:"devices"` // number of GPUs; 0: the processor
	*Model
	// Refused says why the perceptron was not proved; all but its size is missing then.
	Refused string `json:"refused,omitempty"`
}

// Scaling says which sizes are measured: From and To are log2 of the numbers of parameters.
type Scaling struct {
	Layers, From, To int
	Tokens           []int
	// Devices are numbers of GPUs, 0 for the processor; if there are none, the devices of
	// the settings are used.
	Devices []int
}

// Scale measures perceptrons of all sizes, the smallest first, so that the peak of
// memory so far is that of the current one. Perceptrons that would take more memory
// than there is are refused.
func Scale(ctx context.Context, cfg *config.Config, s Scaling, ph *ui.Phases, report func(ScaleRow)) (err error) {
	defer must.Catch(&err)
	for log := s.From; log <= s.To; log++ {
		for _, tokens := range s.Tokens {
			g := must.Get(Perceptron(s.Layers, widthFor(s.Layers, log), tokens))
			for _, n := range s.on(cfg) {
				row := ScaleRow{Log: log, Tokens: tokens, Devices: n}
				local := *cfg
				if s.Devices != nil {
					local.GPU, local.MultiGPU, local.Devices = config.GPUOff, false, ""
				}
				if n > 0 && s.Devices != nil {
					local.GPU, local.Devices = config.GPURequire, upTo(n)
				}
				row.measure(ctx, &local, job.Made(g, cfg.Seed), ph)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				report(row)
				debug.FreeOSMemory()
			}
		}
	}
	return nil
}

// widthFor returns the width for which so many layers have 2^log parameters together.
func widthFor(layers, log int) int {
	return max(1, int(math.Round(math.Sqrt(math.Ldexp(1/float64(layers), log)))))
}

// on lists the numbers of GPUs to measure with.
func (s *Scaling) on(cfg *config.Config) []int {
	if s.Devices != nil {
		return s.Devices
	}
	if numbers, err := cfg.DeviceNumbers(); err == nil && numbers != nil {
		return []int{len(numbers)}
	}
	if cfg.GPU == config.GPUOff && !cfg.MultiGPU {
		return []int{0}
	}
	return []int{1}
}

// upTo lists the numbers of the first n GPUs, as --devices takes them.
func upTo(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = strconv.Itoa(i)
	}
	return strings.Join(list, ",")
}

// measure measures one size, or sets Refused.
func (r *ScaleRow) measure(ctx context.Context, cfg *config.Config, j *job.Job, ph *ui.Phases) {
	defer j.Close()
	r.Model = &Model{Name: j.Model.Name(), Parameters: j.Model.Parameters()}
	// A parameter takes at least one byte, and opening the commitment to it four more. With a limit, only an eighth of
	// the parameters' bytes must fit.
	least, free := int64(r.Parameters), resident.Available()
	if limit := arena.Bounded(); limit == 0 {
		least *= 5
	} else {
		least, free = least/8, min(free, limit)
	}
	if free > 0 && least > free {
		r.Refused = fmt.Sprintf("it takes %s of memory at least, and %s are free", ui.Bytes(least), ui.Bytes(free))
		return
	}
	if m, err := Measure(ctx, cfg, j, 1, 0, ph); err != nil {
		r.Refused = err.Error()
	} else {
		r.Model = m
	}
}

// ScaleRows are the measurements of several sizes.
type ScaleRows []ScaleRow

// Print writes one row for each size.
func (l ScaleRows) Print(w io.Writer) {
	header := []string{"parameters", "tokens", "GPUs", "commit s", "cpu s", "prove s", "cpu s", "verify ms", "proof KB", "peak GB", "estimated"}
	ui.Table(w, header, seq.Map(l, func(r ScaleRow) []string {
		size := ui.Cells("2^%d\t%d\t%d", r.Log, r.Tokens, r.Devices)
		if r.Refused != "" {
			return append(size, r.Refused, "", "", "", "", "", "", "")
		}
		return append(size, ui.Cells("%.2f\t%.2f\t%.2f\t%.2f\t%.1f\t%.1f\t%.2f\t%.2f", r.Commit, r.CommitCPU, r.Prove, r.ProveCPU,
			1e3*r.Verify, float64(r.ProofBytes)/1e3, float64(r.PeakMemory)/1e9, float64(r.Estimated)/1e9)...)
	}))
}
