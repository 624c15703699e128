package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/math/field"
)

// DeviceKernel is the speed of a kernel on a device, or of a step that consists of many
// kernels.
type DeviceKernel struct {
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`    // what is counted
	Units   int     `json:"units"`   // in one call
	Seconds float64 `json:"seconds"` // of one call; 0 for a measurement of memory
	// Bytes is how many bytes a call must read and write. OfCopy is their rate as a
	// fraction of the rate of a copy on the device, which is measured in the same run.
	// Both are 0 if bandwidth does not matter.
	Bytes  int     `json:"bytes,omitempty"`
	OfCopy float64 `json:"of_copy,omitempty"`
}

// String gives time and rates on one line.
func (k DeviceKernel) String() string {
	if k.Seconds == 0 {
		return fmt.Sprintf("%-44s %9.3f GB", k.Name, 1e-9*float64(k.Units))
	}
	s := fmt.Sprintf("%-44s %9.3f ms %12.4g %s/s", k.Name, 1e3*k.Seconds, float64(k.Units)/k.Seconds, k.Unit)
	if k.Bytes > 0 {
		s += fmt.Sprintf(" %8.0f GB/s, %3.0f %% of a copy", 1e-9*float64(k.Bytes)/k.Seconds, 100*k.OfCopy)
	}
	return s
}

// deviceBench measures kernels on one device.
type deviceBench struct {
	ctx    context.Context
	dev    kernels.Device
	report func(DeviceKernel)
	copied float64 // rate of a copy, in bytes a second, reads and writes together
	held   []kernels.Ptr
}

// DeviceKernels measures every kernel on a device, and calls report after each.
func DeviceKernels(ctx context.Context, dev kernels.Device, report func(DeviceKernel)) (err error) {
	defer must.Catch(&err) // of launchers, and of a backend
	b := &deviceBench{ctx: ctx, dev: dev, report: report}
	defer b.free()
	for _, f := range []func(*deviceBench){copies, sumcheckKernels, restrictKernels, logupKernels, sumcheckSteps, hashDeviceKernels, codeDeviceKernels, pairKernels, commitSteps} {
		must.OK(ctx.Err())
		f(b)
		b.free()
	}
	return nil
}

// free frees the memory that alloc has returned.
func (b *deviceBench) free() {
	for _, p := range b.held {
		b.dev.Free(p)
	}
	b.held = nil
}

// alloc returns memory that is freed at the end of the group of kernels.
func (b *deviceBench) alloc(bytes int) kernels.Ptr {
	p := must.Get(b.dev.Alloc(bytes))
	b.held = append(b.held, p)
	return p
}

// heaps returns the eq heaps of a point with that many coordinates, on the device.
func (b *deviceBench) heaps(vars int) *kernels.EqHeaps {
	h := must.Get(kernels.NewEqHeaps(b.dev, extensions(vars, 1)))
	b.held = append(b.held, h.Memory())
	return h
}

// random returns n words of 64 random bits.
func (b *deviceBench) random(n int) kernels.Ptr {
	p := b.alloc(8 * n)
	must.OK(kernels.Random(b.dev, p, n, uint64(len(b.held))))
	return p
}

// elements returns n random elements of K.
func (b *deviceBench) elements(n int) kernels.Ptr {
	p := b.random(2 * n)
	must.OK(kernels.FromInt32(b.dev, p, p, 4*n))
	return p
}

// kernel measures a launch, or a few, that moves `bytes` bytes: the shortest time of
// ten measurements. Each measurement is of several calls in a row, so that their
// launches overlap.
func (b *deviceBench) kernel(name, unit string, units, bytes int, f func() error) {
	const inRow = 4
	var times []time.Duration
	must.OK(f())
	for range 10 {
		t := must.Get(b.dev.Time(func() error {
			for range inRow {
				if err := f(); err != nil {
					return err
				}
			}
			return nil
		}))
		times = append(times, t/inRow)
	}
	b.add(name, unit, units, bytes, slices.Min(times))
}

// step measures the time of a call until its result is there, without the time of
// prepare: the shortest of five.
func (b *deviceBench) step(name, unit string, units int, prepare, f func()) {
	var times []time.Duration
	for range 5 {
		prepare()
		must.OK(b.dev.Sync())
		start := time.Now()
		f()
		times = append(times, time.Since(start))
	}
	b.add(name, unit, units, 0, slices.Min(times))
}

// add reports a measurement.
func (b *deviceBench) add(name, unit string, units, bytes int, t time.Duration) {
	k := DeviceKernel{Name: name, Unit: unit, Units: units, Bytes: bytes, Seconds: t.Seconds()}
	if bytes > 0 {
		rate := float64(bytes) / k.Seconds
		if b.copied == 0 {
			b.copied = rate // the first kernel is the copy
		}
		k.OfCopy = rate / b.copied
	}
	b.report(k)
}

// copies measures a copy, which the other kernels are compared with.
func copies(b *deviceBench) {
	const n = 1 << 30
	from, to := b.random(n/8), b.alloc(n)
	b.kernel("copy of 2^30 bytes", "byte", n, 2*n, func() error { return b.dev.Copy(to, from, n) })
}

// elementBytes is the size of an element of K.
const elementBytes = 16

// challenge stands for any challenge.
var challenge = field.NewQM31(123456789, 987654321, 1<<30, 7)
