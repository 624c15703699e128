//go:build cuda && cgo && linux && (amd64 || arm64)

package kernels

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/nvrtc"
	"github.com/prove-model/prove-model/nvrtc/libcuda"
	"golang.org/x/sync/errgroup"
	"gorgonia.org/cu"
)

// A group is a module of kernels that is loaded on the device once.
type group struct {
	once   sync.Once
	module cu.Module
	err    error
}

// A function is a kernel that has been found in its module.
type function struct {
	handle libcuda.Function
	mu     sync.Mutex
	shared int // how much dynamic shared memory it may use, in bytes
}

// Load compiles groups of kernels, or takes them from the cache, and loads them, so
// that their first launch need not wait. Without names it loads all groups.
func (e *Executor) Load(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		names = Groups()
	}
	// Groups are compiled at the same time, since the compiler is slow and uses one core.
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, name := range names {
		g.Go(func() error {
			_, err := e.group(ctx, name)
			return err
		})
	}
	return g.Wait()
}

// group returns a group's module. The first call compiles it, and other calls wait for
// that. If a context ends before the compilation begins, later calls still compile the
// group.
func (e *Executor) group(ctx context.Context, name string) (*group, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entry, _ := e.groups.LoadOrStore(name, new(group))
	g := entry.(*group)
	g.once.Do(func() { g.module, g.err = e.load(name) })
	return g, g.err
}

// load compiles a group and loads it on the device.
func (e *Executor) load(name string) (_ cu.Module, err error) {
	defer must.Catch(&err)
	src := must.Get(Source(name))
	start := time.Now()
	code, log, err := nvrtc.Compile(context.Background(), src, e.info.Arch())
	must.OK(err)
	compiled := time.Now()
	release := must.Get(e.Bind())
	defer release()
	m, err := cu.LoadData(string(code))
	if err != nil {
		return cu.Module{}, e.note(fmt.Errorf("loading the kernels of %s: %w", name, libcuda.Wrap("cuModuleLoadData", err)))
	}
	slog.Debug("kernels loaded", "group", name, "device", e.info.Index, "bytes", len(code),
		"compile", compiled.Sub(start), "load", time.Since(compiled), "log", log)
	return m, nil
}

// function returns a kernel, and loads its group if needed.
func (e *Executor) function(k Kernel) (*function, error) {
	if f, ok := e.found.Load(k); ok {
		return f.(*function), nil
	}
	g, err := e.group(context.Background(), k.Group)
	if err != nil {
		return nil, err
	}
	f, err := g.module.Function(k.Name)
	if err != nil {
		return nil, e.note(fmt.Errorf("kernel %s of %s: %w", k.Name, k.Group, libcuda.Wrap("cuModuleGetFunction", err)))
	}
	entry, _ := e.found.LoadOrStore(k, &function{handle: libcuda.FunctionOf(f), shared: 48 << 10})
	return entry.(*function), nil
}

// reserve lets f use so much dynamic shared memory. The driver must be asked for more
// than 48 KB.
func (e *Executor) reserve(f *function, shared int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if shared <= f.shared {
		return nil
	}
	if shared > e.info.SharedPerBlock {
		return fmt.Errorf("%d bytes of shared memory: the device has %d a block", shared, e.info.SharedPerBlock)
	}
	if err := libcuda.SetMaxDynamicShared(e.ctx, f.handle, shared); err != nil {
		return err
	}
	f.shared = shared
	return nil
}

// Launch is described at Device.
func (e *Executor) Launch(k Kernel, l Launch, args ...uint64) error {
	return e.launch(libcuda.Launch, k, l, args)
}

// LaunchCooperative is Launch with all blocks running at the same time, so that they
// may wait for each other. It fails if the blocks do not fit on the device together.
func (e *Executor) LaunchCooperative(k Kernel, l Launch, args ...uint64) error {
	return e.launch(libcuda.LaunchCooperative, k, l, args)
}

type launcher func(ctx libcuda.Context, f libcuda.Function, grid, block [3]uint32, shared uint32, s libcuda.Stream, args []uint64) error

// launch checks a launch and enqueues it. A launch with Early in a recording, right behind another kernel, may begin
// before that kernel has ended, on devices of compute capability 9 and above.
func (e *Executor) launch(launch launcher, k Kernel, l Launch, args []uint64) (err error) {
	defer must.Catch(&err)
	must.OK(e.Err())
	y := max(l.GridY, 1)
	if l.GridX < 1 || l.GridX >= 1<<31 || y > 1<<16-1 || l.Block < 1 || l.Block > 1024 || l.Shared < 0 || len(args) > libcuda.MaxArgs {
		return fmt.Errorf("launch of %s: %+v with %d arguments is out of range", k.Name, l, len(args))
	}
	f := must.Get(e.function(k))
	if err := e.reserve(f, l.Shared); err != nil {
		return e.note(fmt.Errorf("launch of %s: %w", k.Name, err))
	}
	if l.Early && e.recording && e.behind && e.info.Major >= 9 {
		launch = libcuda.LaunchEarly
	}
	if e.recording {
		e.behind = true
	}
	err = launch(e.ctx, f.handle, [3]uint32{uint32(l.GridX), uint32(y), 1}, [3]uint32{uint32(l.Block), 1, 1}, uint32(l.Shared), e.stream, args)
	if err != nil {
		return e.note(fmt.Errorf("launch of %s: %w", k.Name, err))
	}
	return nil
}
