//go:build cuda && cgo && linux && (amd64 || arm64)

package kernels

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/nvrtc"
	"github.com/prove-model/prove-model/nvrtc/libcuda"
	"gorgonia.org/cu"
)

// Executor is a GPU as a Device: its primary context, a stream in which all operations
// happen in order, and a pool of memory that keeps what is freed. Further streams of the
// GPU (Stream) are executors with their own stream and staging memory, which share the
// rest.
//
// Every call names the context it runs in, so goroutines may move between threads and
// between devices. A call leaves the thread's current context as it was. A goroutine
// that makes many calls can save the switching of contexts with Bind.
//
// After an error that leaves the context unusable, such as an illegal address, every
// later call on any stream fails with the same error; Err returns it.
type Executor struct {
	*card
	custr  cu.Stream
	stream libcuda.Stream
	stage  staging
	small  smallBlocks
	mark   mark

	recording, behind bool // work is being recorded; its last operation so far is a kernel
}

// card has what the executors of one GPU share.
type card struct {
	info  nvrtc.DeviceInfo
	cuctx cu.CUContext
	ctx   libcuda.Context
	pool  libcuda.Pool

	groups sync.Map // name → *group
	found  sync.Map // Kernel → *function
	peers  sync.Map // *card → func() bool: whether this GPU can read its memory

	mu    sync.Mutex // guards what follows
	sizes map[Ptr]allocation
	live  int64
	peak  int64

	lanesMu sync.Mutex
	streams []*Executor // all executors of the GPU, by the number of their stream
	several atomic.Bool // whether there are at least two streams

	lost atomic.Pointer[error]
}

var _ MultiStream = (*Executor)(nil)

// executors has this process's executors by device. They live as long as the process.
var executors struct {
	sync.Mutex
	byDevice map[int]*Executor
}

// Cached returns the executor of the first device.
func Cached() (Device, error) { return CachedFor(0) }

// CachedFor returns the executor of a device, numbered as by nvrtc.Devices. It is made
// when first asked for. If that fails, the next call tries again.
func CachedFor(device int) (Device, error) {
	executors.Lock()
	defer executors.Unlock()
	if e, ok := executors.byDevice[device]; ok {
		return e, nil
	}
	e, err := newExecutor(device)
	if err != nil {
		return nil, err
	}
	if executors.byDevice == nil {
		executors.byDevice = map[int]*Executor{}
	}
	executors.byDevice[device] = e
	return e, nil
}

// newExecutor opens a GPU and makes its first stream.
func newExecutor(device int) (*Executor, error) {
	devices, err := nvrtc.Devices()
	if err != nil {
		return nil, err
	}
	if device < 0 || device >= len(devices) {
		return nil, fmt.Errorf("no device %d: this machine has %d", device, len(devices))
	}
	if err := checkDevice(devices[device]); err != nil {
		return nil, err
	}
	e := &Executor{card: &card{info: devices[device], sizes: map[Ptr]allocation{}}}
	e.streams = []*Executor{e}
	dev, err := cu.GetDevice(device)
	if err != nil {
		return nil, libcuda.Wrap("cuDeviceGet", err)
	}
	if e.cuctx, err = dev.RetainPrimaryCtx(); err != nil {
		return nil, libcuda.Wrap("cuDevicePrimaryCtxRetain", err)
	}
	e.ctx = libcuda.ContextOf(e.cuctx)
	release, err := e.Bind()
	if err != nil {
		return nil, errors.Join(err, libcuda.Wrap("cuDevicePrimaryCtxRelease", dev.ReleasePrimaryCtx()))
	}
	defer release()
	if err := e.makeStream(firstPriority); err != nil {
		return nil, errors.Join(err, libcuda.Wrap("cuDevicePrimaryCtxRelease", dev.ReleasePrimaryCtx()))
	}
	if e.pool, err = libcuda.NewPool(device); err != nil {
		return nil, errors.Join(err, libcuda.Wrap("cuStreamDestroy", e.custr.Destroy()), libcuda.Wrap("cuDevicePrimaryCtxRelease", dev.ReleasePrimaryCtx()))
	}
	return e, nil
}

// Priorities of streams: work in a stream with a smaller number goes first. A device's first stream runs forward passes, so
// that these need not wait for work in other streams.
const (
	firstPriority   = -1
	furtherPriority = 0
)

// makeStream makes the executor's stream. The caller is bound (Bind).
func (e *Executor) makeStream(priority int) (err error) {
	// NonBlocking: not ordered with the default stream, which nothing here uses.
	if e.custr, err = cu.MakeStreamWithPriority(priority, cu.NonBlocking); err != nil {
		return libcuda.Wrap("cuStreamCreateWithPriority", err)
	}
	e.stream = libcuda.StreamOf(e.custr)
	return nil
}

// Stream is described at MultiStream.
func (e *Executor) Stream(n int) (_ Device, err error) {
	defer must.Catch(&err)
	if n < 0 {
		return nil, fmt.Errorf("stream %d", n)
	}
	e.lanesMu.Lock()
	defer e.lanesMu.Unlock()
	for len(e.streams) <= n {
		must.OK(e.Err())
		l := &Executor{card: e.card}
		release := must.Get(l.Bind())
		err = l.makeStream(furtherPriority)
		release()
		if err != nil {
			return nil, e.note(err)
		}
		e.streams = append(e.streams, l)
		e.several.Store(true)
	}
	return e.streams[n], nil
}

// Bind locks the calling goroutine to its thread, and makes the device's context that
// thread's current one until release is called. release must be called by the same
// goroutine, and restores the context that was current before. Calls are correct
// without Bind, and faster with it.
func (e *Executor) Bind() (release func(), err error) {
	runtime.LockOSThread()
	before, err := cu.CurrentContext()
	if err == nil {
		err = cu.SetCurrentContext(e.cuctx)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return nil, libcuda.Wrap("cuCtxSetCurrent", err)
	}
	return func() {
		// This fails only if the context is gone already; the next call that needs the
		// context reports that.
		_ = cu.SetCurrentContext(before)
		runtime.UnlockOSThread()
	}, nil
}

// Info describes the device.
func (e *Executor) Info() nvrtc.DeviceInfo { return e.info }

// Name is described at Device.
func (e *Executor) Name() string { return e.info.Name }

// Multiprocessors is described at Device.
func (e *Executor) Multiprocessors() int { return e.info.Multiprocessors }

// Err returns the error after which this process can no longer use the device, nil if
// there was none.
func (e *Executor) Err() error {
	if p := e.lost.Load(); p != nil {
		return *p
	}
	return nil
}

// note returns err, and remembers it if the context is lost.
func (e *Executor) note(err error) error {
	var d *libcuda.Error
	if errors.As(err, &d) && d.Sticky() {
		lost := fmt.Errorf("%s is lost: %w", e.info.Name, err)
		e.lost.CompareAndSwap(nil, &lost)
	}
	return err
}

// Copy is described at Device.
func (e *Executor) Copy(dst, src Ptr, bytes int) error {
	if err := e.check(bytes); err != nil || bytes == 0 {
		return err
	}
	if e.recording {
		e.behind = false
	}
	return e.note(libcuda.Copy(e.ctx, uint64(dst), uint64(src), bytes, e.stream))
}

// Clear is described at Device.
func (e *Executor) Clear(dst Ptr, bytes int) error {
	if err := e.check(bytes); err != nil || bytes == 0 {
		return err
	}
	if e.recording {
		e.behind = false
	}
	return e.note(libcuda.Set(e.ctx, uint64(dst), 0, bytes, e.stream))
}

// check refuses a negative number of bytes, and returns the error of a lost device.
func (e *Executor) check(bytes int) error {
	if bytes < 0 {
		return fmt.Errorf("%d bytes", bytes)
	}
	return e.Err()
}

// Sync is described at Device.
func (e *Executor) Sync() error {
	if err := e.Err(); err != nil {
		return err
	}
	return e.note(libcuda.Synchronize(e.ctx, e.stream))
}

// Time is described at Device.
func (e *Executor) Time(f func() error) (_ time.Duration, err error) {
	defer must.Catch(&err)
	release := must.Get(e.Bind())
	defer release()
	var marks [2]cu.Event
	for i := range marks {
		if marks[i], err = cu.MakeEvent(cu.DefaultEvent); err != nil {
			return 0, e.note(libcuda.Wrap("cuEventCreate", err))
		}
		defer cu.DestroyEvent(&marks[i])
	}
	if err := marks[0].Record(e.custr); err != nil {
		return 0, e.note(libcuda.Wrap("cuEventRecord", err))
	}
	must.OK(f())
	if err := marks[1].Record(e.custr); err != nil {
		return 0, e.note(libcuda.Wrap("cuEventRecord", err))
	}
	must.OK(e.Sync())
	ms, err := marks[0].Elapsed(marks[1])
	if err != nil {
		return 0, e.note(libcuda.Wrap("cuEventElapsedTime", err))
	}
	return time.Duration(ms * float64(time.Millisecond)), nil
}
