package provemodel

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prove-model/prove-model/kernels/devicetest"
)

// ended tells a function when a phase is over, and how long it took.
type ended struct {
	phase Phase
	began time.Time
	end   func(Phase, time.Duration)
}

func (e *ended) Begin(p Phase)   { e.phase, e.began = p, time.Now() }
func (e *ended) End(error)       { e.end(e.phase, time.Since(e.began)) }
func (*ended) Progress(_, _ int) {}
func (*ended) Warn(string)       {}

// TestSpeedModels logs what a device is asked for in each phase of a proof, and how long the
// host is in it: of the folders with network.onnx and input.json that PROVE_MODEL_SPEED lists,
// separated by colons, proved PROVE_MODEL_SPEED_RUNS times, of which the quickest counts. Without a
// GPU the counts are the same, and the times the host's.
func TestSpeedModels(t *testing.T) {
	folders := os.Getenv("PROVE_MODEL_SPEED")
	if folders == "" {
		t.Skip("PROVE_MODEL_SPEED names no models")
	}
	for _, folder := range strings.Split(folders, ":") {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			dev := newWatched(devicetest.Open(t))
			var b strings.Builder
			e := &ended{}
			e.end = func(p Phase, spent time.Duration) {
				calls := dev.take()
				b.WriteString(string(p) + ": " + spent.String() + "\n" + tableOf(calls))
			}
			opts := []with{withObserve(e), withRequire()}
			on, err := openGPU(t.Context(), gpuWith(opts...), finds(dev))
			if err != nil {
				t.Fatal(err)
			}
			defer on.Close()
			opts = append(opts, withOn(on))
			m, err := Open(filepath.Join(folder, "network.onnx"), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			arrays, err := ReadArrays(filepath.Join(folder, "input.json"))
			if err != nil {
				t.Fatal(err)
			}
			samples, err := m.Samples(arrays)
			if err != nil {
				t.Fatal(err)
			}
			circuit, err := Quantise(t.Context(), m, samples, quantiseWith(opts...))
			if err != nil {
				t.Fatal(err)
			}
			c, err := Commit(t.Context(), circuit, commitWith(opts...))
			if err != nil {
				t.Fatal(err)
			}
			runs := 2
			if n, err := strconv.Atoi(os.Getenv("PROVE_MODEL_SPEED_RUNS")); err == nil {
				runs = n
			}
			var quickest time.Duration
			var text string
			var file []byte
			for range runs {
				b.Reset()
				began := time.Now()
				p, err := Prove(t.Context(), c, samples[0], proveWith(opts...))
				if err != nil {
					t.Fatal(err)
				}
				if spent := time.Since(began); quickest == 0 || spent < quickest {
					quickest, text = spent, b.String()
				}
				if file != nil && !bytes.Equal(file, p.File) {
					t.Error("another proof")
				}
				file = p.File
			}
			t.Logf("%v in all\n%s", quickest, text)
		})
	}
}
