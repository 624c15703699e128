package provemodel

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/internal/devices"
	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
)

var errNoDriver = errors.New("no driver on this machine")

// Where there is no GPU, a wish for one is a warning and a demand an error.
func TestNoGPU(t *testing.T) {
	none := func(*GPUOptions) ([]devices.Found, error) { return nil, errNoDriver }
	r := &recorder{t: t}
	dev, err := openGPU(t.Context(), gpuWith(withObserve(r)), none)
	if err != nil || dev.GPU() || len(r.log) != 1 || !strings.Contains(r.log[0], errNoDriver.Error()) {
		t.Errorf("%v, said %q", err, r.log)
	}
	if _, err = openGPU(t.Context(), gpuWith(withObserve(r), withRequire()), none); !errors.Is(err, errNoDriver) {
		t.Errorf("required: %v", err)
	}
}

// finds finds devices.
func finds(all ...kernels.Device) func(*GPUOptions) ([]devices.Found, error) {
	return func(*GPUOptions) ([]devices.Found, error) {
		var found []devices.Found
		for i, d := range all {
			found = append(found, devices.Found{Name: fmt.Sprintf("GPU %d", i), Open: func() (kernels.Device, error) { return d, nil }})
		}
		return found, nil
	}
}

// proveOn proves the bundled input on a device, from the start, and returns the
// proof's bytes and the warnings.
func proveOn(t *testing.T, d kernels.Device, opts ...with) ([]byte, []string, error) {
	t.Helper()
	r := &recorder{t: t}
	opts = slices.Concat(quick, []with{withObserve(r)}, opts)
	dev, err := openGPU(t.Context(), gpuWith(opts...), finds(d))
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	opts = append(opts, withOn(dev))
	m, in, samples := open(t)
	var file []byte
	circuit, err := Quantise(t.Context(), m, samples, quantiseWith(opts...))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Commit(t.Context(), circuit, commitWith(opts...))
	if err == nil {
		var p *Proof
		if p, err = Prove(t.Context(), c, in, proveWith(opts...)); err == nil {
			file = p.File
		}
	}
	var warnings []string
	for _, s := range r.log {
		if strings.HasPrefix(s, "warning: ") {
			warnings = append(warnings, s)
		}
	}
	return file, warnings, err
}

// A proof has the same bytes on a device, on one that fails on the way, and on
// none; a required device that fails is an error.
func TestGPU(t *testing.T) {
	d := devicetest.Open(t)
	_, want := prove(t, quick...)
	sound := devicetest.NewFaulty(d, -1)
	got, warnings, err := proveOn(t, sound, withRequire(), withThreshold(1<<14))
	if err != nil || !bytes.Equal(got, want.File) || len(warnings) != 0 {
		t.Errorf("another proof, or %v, said %q", err, warnings)
	}
	if sound.Live() != 0 {
		t.Errorf("%d bytes are left on the device", sound.Live())
	}
	if sound.Allocs() == 0 {
		t.Fatal("nothing ran on the device")
	}
	// Under a budget that is too small for what a proof would keep it is made again. It takes more all the same, which is said once.
	tight := devicetest.NewFaulty(d, -1)
	got, warnings, err = proveOn(t, tight, withRequire(), withThreshold(1<<14), withBudget(1<<19))
	if err != nil || !bytes.Equal(got, want.File) || len(warnings) != 1 || !strings.Contains(warnings[0], "of the GPU beside the weights at least") {
		t.Errorf("under a budget: another proof, or %v, said %q", err, warnings)
	}
	if tight.Live() != 0 || tight.Allocs() <= sound.Allocs() {
		t.Errorf("under a budget: %d bytes are left on the device, after %d allocations where there were %d", tight.Live(), tight.Allocs(), sound.Allocs())
	}
	n := sound.Allocs() / 2
	faulty := devicetest.NewFaulty(d, n)
	got, warnings, err = proveOn(t, faulty, withThreshold(1<<14))
	if err != nil || !bytes.Equal(got, want.File) || len(warnings) != 1 {
		t.Errorf("allocation %d fails: another proof, or %v, said %q", n, err, warnings)
	}
	if faulty.Live() != 0 {
		t.Errorf("allocation %d fails: %d bytes are left on the device", n, faulty.Live())
	}
	// Some allocations can be done without: rows are packed on the host, chunks proved again.
	required := error(nil)
	for i := n; required == nil && i < n+8; i++ {
		_, _, required = proveOn(t, devicetest.NewFaulty(d, i), withRequire(), withThreshold(1<<14))
	}
	if !errors.Is(required, devicetest.ErrInjected) {
		t.Errorf("required, an allocation fails: %v", required)
	}
}

// On two devices of unequal memory, of which the first one is lost in the forward pass or
// later, the proof has the same bytes, there is one warning, and the other goes on.
func TestMultiGPU(t *testing.T) {
	if testing.Short() {
		t.Skip("the host takes seconds for each proof")
	}
	on := devicetest.Open(t)
	_, want := prove(t, quick...)
	for _, at := range []int{30, 300} { // operations that the first device does
		gpus := []*devicetest.Streams{
			devicetest.NewStreams(on, 1<<28, func(_ string, n int) error {
				if n > at {
					return errNoDriver
				}
				return nil
			}),
			devicetest.NewStreams(on, 1<<30, nil),
		}
		r := &recorder{t: t}
		opts := slices.Concat(quick, []with{withObserve(r), withThreshold(1 << 14), withStreams(2)})
		dev, err := openGPU(t.Context(), gpuWith(opts...), finds(gpus[0], gpus[1]))
		if err != nil {
			t.Fatal(err)
		}
		_, p := prove(t, append(opts, withOn(dev))...)
		if !bytes.Equal(p.File, want.File) {
			t.Errorf("%d operations: another proof", at)
		}
		warnings := 0
		for _, s := range r.log {
			if strings.HasPrefix(s, "warning: ") {
				warnings++
			}
		}
		if stats := dev.Stats(); warnings != 1 || !stats[0].Lost || stats[0].Uploaded == 0 || at == 30 && stats[1].Uploaded == 0 || stats[1].Pinned == 0 {
			t.Errorf("%d operations: said %q, did %+v", at, r.log, stats)
		}
		dev.Close()
		for i, d := range gpus {
			d.Drain() // what a fault has left
			if d.Live() != 0 {
				t.Errorf("%d operations: %d bytes are left on device %d", at, d.Live(), i)
			}
		}
	}
}

// What is wrong with some GPUs is a warning, and with a required one an error; a chunk
// that is too large for all is named before anything is proved.
func TestUnusableGPU(t *testing.T) {
	small := devicetest.NewStreams(devicetest.Open(t), 1<<16, nil)
	defer small.Drain()
	find := func(*GPUOptions) ([]devices.Found, error) {
		return []devices.Found{{Name: "GPU 0", Open: func() (kernels.Device, error) { return nil, errNoDriver }},
			{Name: "GPU 1", Open: func() (kernels.Device, error) { return small, nil }}}, nil
	}
	r := &recorder{t: t}
	dev, err := openGPU(t.Context(), gpuWith(withObserve(r), withThreshold(1)), find)
	if err != nil || len(dev.set().Names()) != 1 || len(r.log) != 1 || !strings.Contains(r.log[0], "GPU 0: "+errNoDriver.Error()+"; it is left out") {
		t.Errorf("%v, said %q", err, r.log)
	}
	if _, err := openGPU(t.Context(), gpuWith(withObserve(r), withRequire()), find); !errors.Is(err, errNoDriver) {
		t.Errorf("required: %v", err)
	}
	defer dev.Close()
	committed, _ := commit(t, quick...)
	p, err := committed.key.Plan(committed.key.Circuit.Unit())
	if err != nil {
		t.Fatal(err)
	}
	little := devices.Share{Memory: 1 << 16}
	dev.set().Foresee(little, p, newWatch(r).warn)
	(&Device{}).set().Foresee(little, p, newWatch(r).warn)
	if n := len(r.log); !strings.Contains(r.log[n-2], "chunk 1 of 1 takes about") || !strings.Contains(r.log[n-2], "it will be proved on the CPU") || !strings.Contains(r.log[n-1], "it will be proved alone") {
		t.Errorf("said %q", r.log)
	}
}

// TestManyOnDevice is for a GPU; the host in its place is too slow for so many
// proofs. Many proofs in one process take no more memory than the first, and an
// allocation that fails, anywhere, changes no byte.
func TestManyOnDevice(t *testing.T) {
	if os.Getenv("PROVE_MODEL_TEST_GPU") != "1" {
		t.Skip("PROVE_MODEL_TEST_GPU is not 1")
	}
	gpu := devicetest.Open(t)
	reserved := func() int64 {
		e, ok := gpu.(interface {
			Memory() (kernels.Memory, error)
		})
		if !ok {
			t.Fatal("the device does not tell its memory")
		}
		m, err := e.Memory()
		if err != nil {
			t.Fatal(err)
		}
		if m.Live != 0 {
			t.Errorf("%d bytes are left on the device", m.Live)
		}
		return m.Reserved
	}
	_, want := prove(t, quick...)
	run := func(failing int, opts ...with) *devicetest.Faulty {
		faulty := devicetest.NewFaulty(gpu, failing)
		got, _, err := proveOn(t, faulty, append(opts, withThreshold(1))...)
		if err != nil || !bytes.Equal(got, want.File) {
			t.Fatalf("failing allocation %d: another proof, or %v", failing, err)
		}
		return faulty
	}
	allocs := run(-1, withRequire()).Allocs()
	first := reserved()
	for range 100 {
		run(-1, withRequire())
	}
	if now := reserved(); now > first {
		t.Errorf("after 100 proofs the device's pool holds %d bytes, %d after the first", now, first)
	}
	for n := 0; n < allocs; n += max(1, allocs/100) {
		run(n)
	}
	reserved()
	t.Logf("%d allocations a proof, %d bytes held by the pool", allocs, first)
}
