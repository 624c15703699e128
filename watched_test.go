package provemodel

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prove-model/prove-model/kernels"
)

// watched is a device that counts its operations, and how long the host was in each.
type watched struct {
	kernels.Device
	*tally
}

var (
	_ kernels.MultiStream = (*watched)(nil)
	_ kernels.Wrapper     = (*watched)(nil)
)

// deviceCalls are those of one kind.
type deviceCalls struct {
	Count int
	Spent time.Duration
}

// tally is what the streams of a device share.
type tally struct {
	mu      sync.Mutex
	calls   map[string]deviceCalls
	streams map[int]*watched
}

// newWatched returns d with nothing counted.
func newWatched(d kernels.Device) *watched {
	w := &watched{d, &tally{calls: map[string]deviceCalls{}, streams: map[int]*watched{}}}
	w.streams[0] = w
	return w
}

// take returns what was counted since the last time, by what it was: a kernel's name, or
// upload, download, clear, copy, alloc, free, sync, wait.
func (t *tally) take() map[string]deviceCalls {
	t.mu.Lock()
	defer t.mu.Unlock()
	calls := t.calls
	t.calls = map[string]deviceCalls{}
	return calls
}

// tableOf gives calls a line each, those that took longest first.
func tableOf(calls map[string]deviceCalls) string {
	names := slices.Collect(maps.Keys(calls))
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(calls[b].Spent, calls[a].Spent), cmp.Compare(a, b))
	})
	var b strings.Builder
	for _, n := range names {
		c := calls[n]
		fmt.Fprintf(&b, "%6d %10.1f µs  %s\n", c.Count, float64(c.Spent)/float64(time.Microsecond), n)
	}
	return b.String()
}

// count counts a call that began at some time.
func (t *tally) count(what string, began time.Time) {
	spent := time.Since(began)
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.calls[what]
	t.calls[what] = deviceCalls{c.Count + 1, c.Spent + spent}
}

// Stream is described at kernels.MultiStream.
func (w *watched) Stream(n int) (kernels.Device, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l, ok := w.streams[n]; ok {
		return l, nil
	}
	d, err := kernels.StreamOf(w.streams[0].Device, n)
	if err != nil {
		return nil, err
	}
	l := &watched{d, w.tally}
	w.streams[n] = l
	return l, nil
}

// Beneath is described at kernels.Wrapper.
func (w *watched) Beneath() kernels.Device { return w.Device }

// Available is that of the device beneath.
func (w *watched) Available() (free, total int64, err error) {
	if d, ok := w.Device.(interface{ Available() (int64, int64, error) }); ok {
		return d.Available()
	}
	return 0, 0, errors.New("the device does not tell")
}

// Alloc is described at kernels.Device, as the others are.
func (w *watched) Alloc(bytes int) (kernels.Ptr, error) {
	defer w.count("alloc", time.Now())
	return w.Device.Alloc(bytes)
}

func (w *watched) Free(p kernels.Ptr) {
	defer w.count("free", time.Now())
	w.Device.Free(p)
}

func (w *watched) Upload(dst kernels.Ptr, src []byte) error {
	defer w.count("upload", time.Now())
	return w.Device.Upload(dst, src)
}

func (w *watched) Download(dst []byte, src kernels.Ptr) error {
	defer w.count("download", time.Now())
	return w.Device.Download(dst, src)
}

func (w *watched) Copy(dst, src kernels.Ptr, bytes int) error {
	defer w.count("copy", time.Now())
	return w.Device.Copy(dst, src, bytes)
}

func (w *watched) Clear(dst kernels.Ptr, bytes int) error {
	defer w.count("clear", time.Now())
	return w.Device.Clear(dst, bytes)
}

func (w *watched) Launch(k kernels.Kernel, l kernels.Launch, args ...uint64) error {
	defer w.count(k.Name, time.Now())
	return w.Device.Launch(k, l, args...)
}

func (w *watched) Sync() error {
	defer w.count("sync", time.Now())
	return w.Device.Sync()
}

// NewResultBuffer returns a result buffer whose waits are counted.
func (w *watched) NewResultBuffer(words int) (kernels.ResultBuffer, error) {
	m, err := w.Device.NewResultBuffer(words)
	if err != nil {
		return nil, err
	}
	return watchedBox{m, w.tally}, nil
}

type watchedBox struct {
	kernels.ResultBuffer
	*tally
}

func (b watchedBox) Wait(dst []uint64) error {
	defer b.count("wait", time.Now())
	return b.ResultBuffer.Wait(dst)
}
