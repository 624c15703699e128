//go:build cuda && cgo && linux && (amd64 || arm64)

package kernels

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/prove-model/prove-model/nvrtc"
	"github.com/prove-model/prove-model/nvrtc/libcuda"
	"github.com/prove-model/prove-model/prover/math/field"
	"gorgonia.org/cu"
)

// gpu returns the executor, or skips: the rest of this file is of the device's
// driver, which nothing stands in for.
func gpu(t testing.TB) *Executor {
	t.Helper()
	if os.Getenv("PROVE_MODEL_TEST_GPU") != "1" {
		t.Skip("PROVE_MODEL_TEST_GPU is not 1")
	}
	d, err := Cached()
	if err != nil {
		t.Fatal(err)
	}
	return d.(*Executor)
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func randomBytes(n int) []byte {
	rng := rand.NewChaCha8([32]byte{byte(n)})
	b := make([]byte, n)
	_, _ = rng.Read(b) // never fails
	return b
}

func TestNoDevice(t *testing.T) {
	if err := nvrtc.Open(); err == nil {
		t.Skip("this machine has a driver")
	}
	if _, err := Cached(); err == nil || !strings.Contains(err.Error(), "driver") {
		t.Errorf("Cached without a driver: %v", err)
	}
}

func TestExecutorCached(t *testing.T) {
	e := gpu(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if d, err := CachedFor(0); d != Device(e) || err != nil {
				t.Errorf("another executor: %v", err)
			}
		})
	}
	wg.Wait()
	if _, err := CachedFor(999); err == nil {
		t.Error("device 999")
	}
	if _, err := CachedFor(-1); err == nil {
		t.Error("device -1")
	}
	i := e.Info()
	if i.Name == "" || i.Memory < 1<<30 || i.Multiprocessors < 1 || i.Major < 8 || i.SharedPerBlock < 48<<10 || i.L2 == 0 {
		t.Errorf("%+v", i)
	}
	t.Logf("%+v", i)
}

// Sizes around a chunk of the staging memory and around all of them.
func TestTransfer(t *testing.T) {
	e := gpu(t)
	for _, n := range []int{1, 64, chunkBytes - 1, chunkBytes, chunkBytes + 1, longTransfer - 1, longTransfer, longTransfer + 1, chunkBytes*chunkCount + 5, 37<<20 + 13} {
		src := randomBytes(n)
		a, err := e.Alloc(n)
		noError(t, err)
		b, err := e.Alloc(n)
		noError(t, err)
		noError(t, e.Upload(a, src))
		noError(t, e.Copy(b, a, n))
		noError(t, e.Clear(a, n))
		// Some of a chunk that other transfers go on in.
		few := randomBytes(1000)
		at, err := e.Alloc(len(few))
		noError(t, err)
		noError(t, e.Upload(at, few))
		got := make([]byte, n)
		noError(t, e.Download(got, b))
		if !bytes.Equal(got, src) {
			t.Errorf("%d bytes came back different", n)
		}
		noError(t, e.Upload(a, src))
		noError(t, e.Download(few[500:], at))
		noError(t, e.Download(got, a))
		if !bytes.Equal(got, src) || !bytes.Equal(few[500:], few[:500]) {
			t.Errorf("%d bytes among others came back different", n)
		}
		noError(t, e.Clear(a, n))
		e.Free(at)
		noError(t, e.Download(got, a))
		if !bytes.Equal(got, make([]byte, n)) {
			t.Errorf("%d bytes were not cleared", n)
		}
		e.Free(a)
		e.Free(b)
	}
	if n := e.Live(); n != 0 {
		t.Errorf("%d allocations live", n)
	}
}

func TestMemory(t *testing.T) {
	e := gpu(t)
	noError(t, e.Trim())
	noError(t, e.ResetPeaks())
	before, err := e.Memory()
	noError(t, err)
	p, err := e.Alloc(100 << 20)
	noError(t, err)
	q, err := e.Alloc(50 << 20)
	noError(t, err)
	e.Free(p)
	m, err := e.Memory()
	noError(t, err)
	if m.Live != 50<<20 || m.Peak != 150<<20 || m.Reserved < 150<<20 || m.ReservedPeak < 150<<20 {
		t.Errorf("before %+v, then %+v", before, m)
	}
	e.Free(q)
	noError(t, e.Trim())
	m, err = e.Memory()
	noError(t, err)
	if m.Live != 0 || m.Reserved != 0 {
		t.Errorf("after Trim: %+v", m)
	}
	free, total, err := e.Available()
	noError(t, err)
	if free <= 0 || free > total {
		t.Errorf("%d of %d bytes free", free, total)
	}
	if _, err := e.Alloc(int(total) * 2); !errors.Is(err, ErrMemory) {
		t.Errorf("allocation of twice the device's memory: %v", err)
	}
	if _, err := e.Alloc(0); err == nil {
		t.Error("allocation of nothing")
	}
	if e.Err() != nil {
		t.Errorf("lost after an allocation failed: %v", e.Err())
	}
}

// Goroutines that use the device at once, on threads of which some have another
// context, or none, which must stay.
func TestConcurrent(t *testing.T) {
	e := gpu(t)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			src := randomBytes(1<<20 + g)
			got := make([]byte, len(src))
			for range 5 {
				p, err := e.Alloc(len(src))
				if err != nil {
					t.Error(err)
					return
				}
				if err := errors.Join(e.Upload(p, src), e.Download(got, p)); err != nil || !bytes.Equal(got, src) {
					t.Errorf("goroutine %d: %v", g, err)
				}
				e.Free(p)
			}
			if c, err := cu.CurrentContext(); err != nil || c != (cu.CUContext{}) {
				t.Errorf("a context was left on the thread: %v, %v", c, err)
			}
		})
	}
	wg.Wait()
}

// ones returns n elements 1 on the device, what frees them, and what launches
// their doubling.
func ones(t testing.TB, e *Executor, n int) (Ptr, func(), func(l Launch) error) {
	t.Helper()
	v := make([]field.M31, n)
	for i := range v {
		v[i] = 1
	}
	p, err := NewSlice(e, v)
	noError(t, err)
	return p, func() { e.Free(p) }, func(l Launch) error { return e.Launch(double, l, uint64(p), uint64(p), uint64(p), uint64(n)) }
}

var double = Kernel{"field", "m31_vec_add"}

// all fails the test unless the n elements at p are want.
func all(t testing.TB, e *Executor, p Ptr, n int, want field.M31) {
	t.Helper()
	v := make([]field.M31, n)
	noError(t, DownloadSlice(e, v, p))
	for i := range v {
		if v[i] != want {
			t.Fatalf("element %d of %d is %d, want %d", i, n, v[i], want)
		}
	}
}

func TestLaunch(t *testing.T) {
	e := gpu(t)
	p, free, launch := ones(t, e, 1000)
	defer free()
	// The group is compiled once for all who want it at once.
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := launch(Launch{GridX: 4, Block: 256}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all(t, e, p, 1000, 1<<8)
	for name, l := range map[string]Launch{
		"no blocks":     {Block: 256},
		"no threads":    {GridX: 1},
		"large block":   {GridX: 1, Block: 1025},
		"high grid":     {GridX: 1, GridY: 1 << 16, Block: 32},
		"shared memory": {GridX: 1, Block: 32, Shared: 1 << 20},
	} {
		if err := launch(l); err == nil {
			t.Errorf("%s: launched", name)
		}
	}
	if err := e.Launch(Kernel{"field", "none"}, Launch{GridX: 1, Block: 32}); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("a kernel that is not there: %v", err)
	}
	if err := e.Launch(Kernel{"none", "none"}, Launch{GridX: 1, Block: 32}); err == nil {
		t.Error("a group that is not there")
	}
	noError(t, launch(Launch{GridX: 1, Block: 32, Shared: 100 << 10}))
	noError(t, e.LaunchCooperative(double, Launch{GridX: 2, Block: 32}, uint64(p), uint64(p), uint64(p), 1000))
	all(t, e, p, 1000, 1<<10)
	noError(t, e.Sync())
	if e.Err() != nil {
		t.Errorf("lost: %v", e.Err())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := e.Load(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Load when cancelled: %v", err)
	}
	noError(t, e.Load(context.Background()))
}

func TestCapture(t *testing.T) {
	e := gpu(t)
	p, free, launch := ones(t, e, 500)
	defer free()
	noError(t, launch(Launch{GridX: 1, Block: 256})) // loads it, which a recording cannot
	g, err := e.Capture(func() error {
		for range 3 {
			if err := launch(Launch{GridX: 2, Block: 256}); err != nil {
				return err
			}
		}
		return nil
	})
	noError(t, err)
	noError(t, g.Launch())
	noError(t, g.Launch())
	all(t, e, p, 500, 1<<7)
	noError(t, g.Close())
	failed := errors.New("failed")
	if _, err := e.Capture(func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("a recording that fails: %v", err)
	}
	noError(t, e.Sync())
}

func TestPinned(t *testing.T) {
	e := gpu(t)
	p, err := e.Pin(64)
	noError(t, err)
	copy(p.Bytes(), randomBytes(64))
	for i := range p.Bytes() {
		p.Bytes()[i] &= 0x3f // so that the elements are canonical, and no sum wraps
	}
	want := bytes.Clone(p.Bytes())
	for i := range want {
		want[i] *= 2
	}
	noError(t, e.Launch(double, Launch{GridX: 1, Block: 32}, uint64(p.Ptr()), uint64(p.Ptr()), uint64(p.Ptr()), 16))
	noError(t, e.Sync())
	if !bytes.Equal(p.Bytes(), want) {
		t.Errorf("got %v, want %v", p.Bytes(), want)
	}
	noError(t, p.Close())
	if _, err := e.Pin(0); err == nil {
		t.Error("pinned nothing")
	}
}

// An illegal address ends the context. Every later call says so, at once, and
// nothing hangs or panics. In a process of its own.
func TestLost(t *testing.T) {
	e := gpu(t)
	if os.Getenv("PROVE_MODEL_TEST_LOST") == "" {
		noError(t, e.Trim()) // what other tests have left in the pool
		cmd := exec.Command(os.Args[0], "-test.run=^TestLost$", "-test.v")
		cmd.Env = append(os.Environ(), "PROVE_MODEL_TEST_LOST=1")
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		noError(t, err)
		return
	}
	p, err := e.Alloc(1 << 20)
	noError(t, err)
	noError(t, e.Launch(double, Launch{GridX: 1, Block: 32}, 0x10, 0x10, 0x10, 1000))
	err = e.Sync()
	if err == nil || e.Err() == nil {
		t.Fatalf("no error after an illegal address: %v, %v", err, e.Err())
	}
	t.Log(e.Err())
	if _, err := e.Alloc(16); err == nil {
		t.Error("Alloc on a lost device")
	}
	if err := e.Upload(p, make([]byte, 16)); err == nil {
		t.Error("Upload on a lost device")
	}
	if err := e.Download(make([]byte, 16), p); err == nil {
		t.Error("Download on a lost device")
	}
	if err := e.Launch(double, Launch{GridX: 1, Block: 32}, 0, 0, 0, 0); err == nil {
		t.Error("Launch on a lost device")
	}
	e.Free(p)
}

// What calls cost: figures in the log.
func TestSpeed(t *testing.T) {
	e := gpu(t)
	p, free, launch := ones(t, e, 32)
	defer free()
	one := Launch{GridX: 1, Block: 32}
	noError(t, launch(one))
	noError(t, e.Sync())
	const n = 2000
	each := func(what string, f func() error) {
		t.Helper()
		noError(t, f())
		noError(t, e.Sync())
		start := time.Now()
		for range n {
			noError(t, f())
		}
		issued := time.Since(start) / n
		noError(t, e.Sync())
		t.Logf("%-50s %8v a call, %8v with the device's part", what, issued, time.Since(start)/n)
	}
	each("launch", func() error { return launch(one) })
	release, err := e.Bind()
	noError(t, err)
	each("launch, bound", func() error { return launch(one) })
	m, err := e.group(context.Background(), "field")
	noError(t, err)
	f, err := m.module.Function(double.Name)
	noError(t, err)
	args := [4]uint64{uint64(p), uint64(p), uint64(p), 32}
	each("launch through cu.Function.Launch, bound", func() error {
		return libcuda.Wrap("cuLaunchKernel", f.Launch(1, 1, 1, 32, 1, 1, 0, e.custr,
			[]unsafe.Pointer{unsafe.Pointer(&args[0]), unsafe.Pointer(&args[1]), unsafe.Pointer(&args[2]), unsafe.Pointer(&args[3])}))
	})
	each("launch and wait, bound", func() error { return errors.Join(launch(one), e.Sync()) })
	few := make([]byte, 32)
	each("launch and download 32 bytes, bound", func() error { return errors.Join(launch(one), e.Download(few, p)) })
	pinned, err := e.Pin(128)
	noError(t, err)
	each("launch that writes pinned memory, and wait, bound", func() error {
		return errors.Join(e.Launch(double, one, uint64(pinned.Ptr()), uint64(p), uint64(p), 32), e.Sync())
	})
	noError(t, pinned.Close())
	release()
	each("launch and wait", func() error { return errors.Join(launch(one), e.Sync()) })
	each("upload 32 bytes", func() error { return e.Upload(p, few) })
	each("allocate and free 1 MB", func() error {
		p, err := e.Alloc(1 << 20)
		e.Free(p)
		return err
	})
	g, err := e.Capture(func() error {
		for range 20 {
			if err := launch(one); err != nil {
				return err
			}
		}
		return nil
	})
	noError(t, err)
	each("20 launches recorded", g.Launch)
	noError(t, g.Close())

	host := make([]byte, 1<<30)
	for i := range host {
		host[i] = byte(i)
	}
	a, err := e.Alloc(len(host))
	noError(t, err)
	defer e.Free(a)
	b, err := e.Alloc(len(host))
	noError(t, err)
	defer e.Free(b)
	rate := func(what string, moved int, d time.Duration, err error) {
		t.Helper()
		noError(t, err)
		t.Logf("%-50s %8.1f GB/s", what, float64(moved)/d.Seconds()/1e9)
	}
	start := time.Now()
	err = errors.Join(e.Upload(a, host), e.Sync())
	rate("upload 1 GB", len(host), time.Since(start), err)
	start = time.Now()
	err = e.Download(host, a)
	rate("download 1 GB", len(host), time.Since(start), err)
	noError(t, e.Copy(b, a, len(host)))
	d, err := e.Time(func() error {
		for range 10 {
			if err := e.Copy(b, a, len(host)); err != nil {
				return err
			}
		}
		return nil
	})
	rate("copy on the device, read and written", 20*len(host), d, err)
}

// How long a process waits for its device: figures in the log. The second
// process finds the machine code on disk.
func TestStart(t *testing.T) {
	start := time.Now()
	e := gpu(t)
	opened := time.Now()
	noError(t, e.Load(context.Background()))
	t.Logf("device open after %v, %d groups of kernels loaded after %v more", opened.Sub(start), len(Groups()), time.Since(opened))
}

// TestSmallBlocks takes and gives back blocks of all sizes: of one class the same memory comes
// again, whoever asks, and what another stream gives back is not mixed in.
func TestSmallBlocks(t *testing.T) {
	var s smallBlocks
	for _, n := range []int{1, 257, 5000, 512 << 10} {
		p, size := s.take(n)
		if p != 0 || size < n || size >= 2*n && size > alignment {
			t.Errorf("%d bytes: block %d of %d", n, p, size)
		}
		if !s.put(Ptr(size), n) {
			t.Errorf("%d bytes are not kept", n)
		}
		if p, again := s.take(size); int(p) != size || again != size {
			t.Errorf("%d bytes: %d of %d in place of the block that was free", size, p, again)
		}
		s.put(Ptr(size), n)
	}
	if p, size := s.take(512<<10 + 1); p != 0 || size != 512<<10+1 {
		t.Errorf("a large block: %d of %d bytes", p, size)
	}
	if s.put(1, 512<<10+1) {
		t.Error("a large block is kept")
	}
	kept := 0
	for s.put(1, 512<<10) {
		kept++
	}
	if all := s.empty(); len(all) != kept+4 || kept > mostSmall>>19 {
		t.Errorf("%d blocks", len(all))
	}
}
