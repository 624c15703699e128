//go:build cuda && linux && (amd64 || arm64)

package libcuda

// #cgo noescape libcuda_launch
// #cgo nocallback libcuda_launch
// #include "libcuda.h"
import "C"

import (
	"unsafe"

	"gorgonia.org/cu"
)

// MaxArgs is the largest number of arguments a kernel may have.
const MaxArgs = 64

// Handles of the driver.
type (
	Context  struct{ c C.CUcontext }
	Stream   struct{ c C.CUstream }
	Function struct{ c C.CUfunction }
	Pool     struct{ c C.CUmemoryPool }
	Graph    struct{ c C.CUgraphExec }
	Event    struct{ c C.CUevent }
)

// The types of gorgonia.org/cu hold one handle each and keep it to themselves.
// These fail to compile if they grow or shrink.
var (
	_ [unsafe.Sizeof(uintptr(0))]struct{} = [unsafe.Sizeof(cu.CUContext{})]struct{}{}
	_ [unsafe.Sizeof(uintptr(0))]struct{} = [unsafe.Sizeof(cu.Stream{})]struct{}{}
	_ [unsafe.Sizeof(uintptr(0))]struct{} = [unsafe.Sizeof(cu.Function{})]struct{}{}
	_ [unsafe.Sizeof(uintptr(0))]struct{} = [unsafe.Sizeof(cu.Event{})]struct{}{}
)

// ContextOf returns the handle of a context.
func ContextOf(c cu.CUContext) Context { return *(*Context)(unsafe.Pointer(&c)) }

// StreamOf returns the handle of a stream.
func StreamOf(s cu.Stream) Stream { return *(*Stream)(unsafe.Pointer(&s)) }

// FunctionOf returns the handle of a function.
func FunctionOf(f cu.Function) Function { return *(*Function)(unsafe.Pointer(&f)) }

// EventOf returns the handle of an event.
func EventOf(e cu.Event) Event { return *(*Event)(unsafe.Pointer(&e)) }

// Launch enqueues a kernel. Each argument is copied as 8 bytes. There may be at
// most MaxArgs.
func Launch(ctx Context, f Function, grid, block [3]uint32, shared uint32, s Stream, args []uint64) error {
	return launch("cuLaunchKernel", ctx, f, grid, block, shared, s, args, C.LAUNCH_PLAIN)
}

// LaunchCooperative is Launch with all blocks on the device at once, so that
// they may wait for each other. It fails if they do not fit.
func LaunchCooperative(ctx Context, f Function, grid, block [3]uint32, shared uint32, s Stream, args []uint64) error {
	return launch("cuLaunchCooperativeKernel", ctx, f, grid, block, shared, s, args, C.LAUNCH_COOPERATIVE)
}

// LaunchEarly is Launch for a kernel that may begin while the one before it in the stream runs, if that allows it
// (griddepcontrol.launch_dependents), and waits for it itself (griddepcontrol.wait). It takes a device of capability 9.0.
func LaunchEarly(ctx Context, f Function, grid, block [3]uint32, shared uint32, s Stream, args []uint64) error {
	return launch("cuLaunchKernelEx", ctx, f, grid, block, shared, s, args, C.LAUNCH_EARLY)
}

func launch(call string, ctx Context, f Function, grid, block [3]uint32, shared uint32, s Stream, args []uint64, way C.int) error {
	return result(call, C.libcuda_launch(ctx.c, f.c,
		(*C.uint32_t)(unsafe.Pointer(&grid[0])), (*C.uint32_t)(unsafe.Pointer(&block[0])), C.uint(shared), s.c,
		(*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(args))), C.int(len(args)), way))
}

// SetMaxDynamicShared lets f use up to bytes of dynamic shared memory; without
// it the limit is 48 KB.
func SetMaxDynamicShared(ctx Context, f Function, bytes int) error {
	return result("cuFuncSetAttribute", C.libcuda_set_max_dynamic_shared(ctx.c, f.c, C.int(bytes)))
}

// CopyToDevice enqueues a copy of n bytes. src must be pinned and stay as it is
// until the copy is done.
func CopyToDevice(ctx Context, dst uint64, src unsafe.Pointer, n int, s Stream) error {
	return result("cuMemcpyHtoDAsync", C.libcuda_h2d(ctx.c, C.CUdeviceptr(dst), src, C.size_t(n), s.c))
}

// CopyFromDevice enqueues a copy of n bytes. dst must be pinned.
func CopyFromDevice(ctx Context, dst unsafe.Pointer, src uint64, n int, s Stream) error {
	return result("cuMemcpyDtoHAsync", C.libcuda_d2h(ctx.c, dst, C.CUdeviceptr(src), C.size_t(n), s.c))
}

// Copy enqueues a copy of n bytes on the device. The ranges must not overlap.
func Copy(ctx Context, dst, src uint64, n int, s Stream) error {
	return result("cuMemcpyDtoDAsync", C.libcuda_d2d(ctx.c, C.CUdeviceptr(dst), C.CUdeviceptr(src), C.size_t(n), s.c))
}

// CopyPeer enqueues a copy of n bytes from a device to another one, whose context is ctx.
// The stream is of either.
func CopyPeer(ctx Context, dst uint64, from Context, src uint64, n int, s Stream) error {
	return result("cuMemcpyPeerAsync", C.libcuda_peer_copy(ctx.c, C.CUdeviceptr(dst), from.c, C.CUdeviceptr(src), C.size_t(n), s.c))
}

// CanAccessPeer says whether a device can reach the memory of another one.
func CanAccessPeer(device, other int) (bool, error) {
	var can C.int
	err := result("cuDeviceCanAccessPeer", C.libcuda_can_access_peer(&can, C.CUdevice(device), C.CUdevice(other)))
	return can != 0, err
}

// Record enqueues an event of the context in the stream, after the work that is there.
func Record(ctx Context, e Event, s Stream) error {
	return result("cuEventRecord", C.libcuda_record(ctx.c, e.c, s.c))
}

// Wait makes all work that is enqueued in the stream from now on wait for an event, of any
// context, as it was recorded last.
func Wait(ctx Context, s Stream, e Event) error {
	return result("cuStreamWaitEvent", C.libcuda_wait(ctx.c, s.c, e.c))
}

// Set enqueues the filling of n bytes.
func Set(ctx Context, dst uint64, value byte, n int, s Stream) error {
	return result("cuMemsetD8Async", C.libcuda_memset(ctx.c, C.CUdeviceptr(dst), C.uchar(value), C.size_t(n), s.c))
}

// HostAlloc allocates n bytes of pinned host memory, which kernels reach at the
// same address.
func HostAlloc(ctx Context, n int) (unsafe.Pointer, error) {
	var p unsafe.Pointer
	err := result("cuMemHostAlloc", C.libcuda_host_alloc(ctx.c, &p, C.size_t(n)))
	return p, err
}

// HostFree frees what HostAlloc returned.
func HostFree(ctx Context, p unsafe.Pointer) error {
	return result("cuMemFreeHost", C.libcuda_host_free(ctx.c, p))
}

// NewPool makes a pool of device memory that keeps what is freed until Trim.
func NewPool(device int) (Pool, error) {
	var p Pool
	err := result("cuMemPoolCreate", C.libcuda_pool_create(&p.c, C.CUdevice(device)))
	return p, err
}

// PoolStats are bytes of a pool: taken from the device and handed out, now and
// at most.
type PoolStats struct{ Reserved, ReservedPeak, Used, UsedPeak uint64 }

// Stats returns the pool's numbers.
func (p Pool) Stats(ctx Context) (PoolStats, error) {
	var v [4]C.uint64_t
	err := result("cuMemPoolGetAttribute", C.libcuda_pool_stats(ctx.c, p.c, &v[0], &v[1], &v[2], &v[3]))
	return PoolStats{uint64(v[0]), uint64(v[1]), uint64(v[2]), uint64(v[3])}, err
}

// ResetPeaks starts the peaks anew from what is in use.
func (p Pool) ResetPeaks(ctx Context) error {
	return result("cuMemPoolSetAttribute", C.libcuda_pool_reset_high(ctx.c, p.c))
}

// Trim waits for the stream and gives the pool's unused memory back to the
// device.
func (p Pool) Trim(ctx Context, s Stream) error {
	return result("cuMemPoolTrimTo", C.libcuda_pool_trim(ctx.c, p.c, s.c))
}

// Allow lets another device read and write what is in the pool, now and later.
func (p Pool) Allow(device int) error {
	return result("cuMemPoolSetAccess", C.libcuda_pool_allow(p.c, C.CUdevice(device)))
}

// Alloc returns n bytes, usable by what is enqueued in the stream after it.
func (p Pool) Alloc(ctx Context, n int, s Stream) (uint64, error) {
	var d C.CUdeviceptr
	err := result("cuMemAllocFromPoolAsync", C.libcuda_alloc(ctx.c, &d, C.size_t(n), p.c, s.c))
	return uint64(d), err
}

// Free frees memory that Alloc returned, after all earlier work in the stream has ended.
func Free(ctx Context, addr uint64, s Stream) error {
	return result("cuMemFreeAsync", C.libcuda_free(ctx.c, C.CUdeviceptr(addr), s.c))
}

// BeginCapture makes the stream record what is enqueued instead of running it.
func BeginCapture(ctx Context, s Stream) error {
	return result("cuStreamBeginCapture", C.libcuda_capture_begin(ctx.c, s.c))
}

// EndCapture ends the recording and returns it ready to launch.
func EndCapture(ctx Context, s Stream) (Graph, error) {
	var g Graph
	err := result("cuStreamEndCapture", C.libcuda_capture_end(ctx.c, s.c, &g.c))
	return g, err
}

// Launch enqueues the recorded work.
func (g Graph) Launch(ctx Context, s Stream) error {
	return result("cuGraphLaunch", C.libcuda_graph_launch(ctx.c, g.c, s.c))
}

// Destroy frees the recording.
func (g Graph) Destroy(ctx Context) error {
	return result("cuGraphExecDestroy", C.libcuda_graph_destroy(ctx.c, g.c))
}

// Synchronize waits until all that was enqueued in the stream is done.
func Synchronize(ctx Context, s Stream) error {
	return result("cuStreamSynchronize", C.libcuda_synchronize(ctx.c, s.c))
}
