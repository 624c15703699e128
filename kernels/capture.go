//go:build cuda && cgo && linux && (amd64 || arm64)

package kernels

import (
	"errors"

	"github.com/prove-model/prove-model/nvrtc/libcuda"
)

var _ Recorder = (*Executor)(nil)

// Graph is recorded work, which one call launches.
type Graph struct {
	e *Executor
	g libcuda.Graph
}

// Capture records what f enqueues, launches and copies on the device, instead of
// running it. f must not allocate, free, upload, download or wait, and other goroutines
// must not use the executor meanwhile. Addresses are recorded as they are.
func (e *Executor) Capture(f func() error) (*Graph, error) {
	if err := e.Err(); err != nil {
		return nil, err
	}
	if err := libcuda.BeginCapture(e.ctx, e.stream); err != nil {
		return nil, e.note(err)
	}
	e.recording, e.behind = true, false
	err := f()
	e.recording = false
	g, ended := libcuda.EndCapture(e.ctx, e.stream)
	if err == nil && ended == nil {
		return &Graph{e, g}, nil
	}
	if ended == nil {
		ended = g.Destroy(e.ctx)
	}
	return nil, e.note(errors.Join(err, ended))
}

// Record is described at Recorder.
func (e *Executor) Record(f func() error) (Recording, error) {
	g, err := e.Capture(f)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Launch enqueues the recorded work.
func (g *Graph) Launch() error {
	if err := g.e.Err(); err != nil {
		return err
	}
	return g.e.note(g.g.Launch(g.e.ctx, g.e.stream))
}

// Close frees the recording.
func (g *Graph) Close() error { return g.e.note(g.g.Destroy(g.e.ctx)) }
