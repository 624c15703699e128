package provemodel

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
)

// gpuFor opens a device for tests, of which r is told.
func gpuFor(t *testing.T, d kernels.Device, r *recorder, opts ...with) *Device {
	t.Helper()
	dev, err := openGPU(t.Context(), gpuWith(append(opts, withObserve(r))...), finds(d))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dev.Close)
	return dev
}

// writesOn has a device write, and holds every logit against the processor's.
func writesOn(t *testing.T, dev *Device, c *Circuit, prompt, tokens []int) {
	t.Helper()
	n := len(tokens)
	in, err := textInput(prompt, nil, n, len(prompt)+n, c.quantised.Circuit.Free[0].Bound, n)
	if err != nil {
		t.Fatal(err)
	}
	q, err := c.sized(in)
	if err != nil {
		t.Fatal(err)
	}
	ints, _, err := q.QuantiseInput(in)
	if err != nil {
		t.Fatal(err)
	}
	warn := func(format string, args ...any) { t.Errorf(format, args...) }
	want, err := c.write(t.Context(), nil, warn, q, ints, prompt, prefix{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.writeOn(t.Context(), dev.set(), warn, q, ints, prompt)
	if err != nil {
		t.Fatal(err)
	}
	defer got.close()
	for i, token := range tokens {
		if !slices.Equal(got.logits(), want.logits()) {
			t.Fatalf("logits of token %d are others on a device", i)
		}
		if i == n-1 {
			break
		}
		for _, w := range []writer{want, got} {
			if err := w.set(t.Context(), token, len(prompt)+i, i+1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got.other != nil {
		t.Error("the processor has written")
	}
}

// scripted is a device that records what is enqueued, as GPUs can, and of which launches fail from one on.
type scripted struct {
	kernels.Device
	launches, failAt int // failAt of −1: none fails
	recording        *script
	replayed         int // launches of recordings
}

// script are operations that were recorded.
type script struct {
	on  *scripted
	ops []func() error
}

var _ kernels.Recorder = (*scripted)(nil)

var errBroken = errors.New("broken")

func (s *scripted) op(f func() error) error {
	if s.recording != nil {
		s.recording.ops = append(s.recording.ops, f)
		return nil
	}
	return f()
}

func (s *scripted) Launch(k kernels.Kernel, l kernels.Launch, args ...uint64) error {
	args = slices.Clone(args)
	return s.op(func() error {
		s.launches++
		if s.failAt >= 0 && s.launches > s.failAt {
			return errBroken
		}
		return s.Device.Launch(k, l, args...)
	})
}

func (s *scripted) Clear(dst kernels.Ptr, bytes int) error {
	return s.op(func() error { return s.Device.Clear(dst, bytes) })
}

func (s *scripted) Record(f func() error) (kernels.Recording, error) {
	s.recording = &script{on: s}
	err := f()
	made := s.recording
	s.recording = nil
	return made, err
}

func (s *script) Launch() error {
	s.on.replayed++
	for _, f := range s.ops {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func (s *script) Close() error { return nil }

// A device that fails while it writes, or before, has the processor write on, and one without memory too; where a GPU is required that is
// an error. The text is the same.
func TestWriteOnFaulty(t *testing.T) {
	_, c := writing(t)
	prompt := []int{1, 5, 9}
	want, in, err := c.circuit.Generate(t.Context(), prompt, nil)
	if err != nil {
		t.Fatal(err)
	}
	host := devicetest.Open(t)
	sound := &scripted{Device: host, failAt: -1}
	all := 0 // launches of the sound one
	for _, x := range []struct {
		name   string
		on     kernels.Device
		failAt func() int
		warned string
	}{
		{"sound", sound, nil, ""},
		{"at once", &scripted{Device: host}, func() int { return 0 }, "the GPU failed: "},
		{"in the text", &scripted{Device: host}, func() int { return all - 1 }, "the GPU failed: "},
		{"short of memory", devicetest.NewFaulty(host, 2).Every(1), nil, "short of memory on the GPU"},
	} {
		for _, required := range []bool{false, true} {
			r := &recorder{t: t}
			opts := []with{}
			if required {
				opts = append(opts, withRequire())
			}
			dev := gpuFor(t, x.on, r, opts...)
			r.log = nil
			if s, ok := x.on.(*scripted); ok {
				s.launches = 0
				if x.failAt != nil {
					s.failAt = x.failAt()
				}
			}
			got, gotIn, err := c.circuit.Generate(t.Context(), prompt, &GenerateOptions{Device: dev, Observer: r})
			if required && x.warned != "" {
				if err == nil {
					t.Errorf("%s: a required GPU that fails is none", x.name)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", x.name, err)
			}
			if x.on == kernels.Device(sound) {
				all = sound.launches
			}
			if !slices.Equal(got.Tokens, want.Tokens) || !slices.EqualFunc(gotIn, in, slices.Equal[[]float64]) {
				t.Errorf("%s: %v, not %v", x.name, got.Tokens, want.Tokens)
			}
			if said := strings.Join(r.log, "\n"); (x.warned == "") != (said == "") || !strings.Contains(said, x.warned) {
				t.Errorf("%s: said %q", x.name, said)
			}
		}
	}
}

// After the first row all launches of a row are one, on a device that records them.
func TestWriteRecorded(t *testing.T) {
	_, c := writing(t)
	d := &scripted{Device: devicetest.Open(t), failAt: -1}
	writesOn(t, gpuFor(t, d, &recorder{t: t}), c.circuit, []int{1, 5}, []int{9, 7})
	if d.replayed != 0 {
		t.Errorf("%d recordings of one row", d.replayed)
	}
	m, err := Open("hf/testdata/llama", &OpenOptions{Tokens: 8, MaxTokens: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	sample, err := m.TextInput([]int{1, 5, 9}, []int{7, 33})
	if err != nil {
		t.Fatal(err)
	}
	long, err := Quantise(t.Context(), m, []Input{sample}, quantiseWith(withMode("auto")))
	if err != nil {
		t.Fatal(err)
	}
	writesOn(t, gpuFor(t, d, &recorder{t: t}), long, []int{1, 5, 9}, []int{7, 33, 2, 4, 6})
	if d.replayed != 3 {
		t.Errorf("%d recordings of four rows were launched, not 3", d.replayed)
	}
}

// A text that is given up leaves the device as it was.
func TestWriteInterruptedOn(t *testing.T) {
	_, c := writing(t)
	prompt := []int{1, 5, 9}
	want, _, err := c.circuit.Generate(t.Context(), prompt, nil)
	if err != nil {
		t.Fatal(err)
	}
	on := devicetest.NewFaulty(devicetest.Open(t), -1)
	r := &recorder{t: t}
	dev := gpuFor(t, on, r)
	r.log = nil
	for _, given := range []bool{false, true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		opts := &GenerateOptions{Device: dev, Observer: r}
		if given {
			opts.Each = func(int) { cancel() }
		}
		got, _, err := c.circuit.Generate(ctx, prompt, opts)
		cancel()
		if given && !errors.Is(err, context.Canceled) || !given && (err != nil || !slices.Equal(got.Tokens, want.Tokens)) {
			t.Errorf("given up %t: %v", given, err)
		}
	}
	if !dev.GPU() || len(r.log) > 0 {
		t.Errorf("the device is lost; said %q", r.log)
	}
	dev.Close()
	if n := on.Live(); n != 0 {
		t.Errorf("%d bytes are left", n)
	}
}
