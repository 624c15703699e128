package shim

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"math/bits"
	"os"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/nvrtc"
)

//go:embed testdata/shim.cu
var program string

// open returns a device with the program of testdata as its group "shim".
func open(t *testing.T) *Device {
	t.Helper()
	d, err := New()
	if errors.Is(err, ErrNoCompiler) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() }) // an error where the test has broken it
	path, err := buildSource(nvrtc.Source{Name: "shim.cu", Text: program, Headers: kernels.Headers()})
	if err != nil {
		t.Fatal(err)
	}
	if d.groups["shim"], err = d.do('g', true, nil, path); err != nil {
		t.Fatal(err)
	}
	return d
}

// run launches a kernel on n words, which it has set to their index, and
// returns them.
func run(t *testing.T, d *Device, name string, l kernels.Launch, n int) ([]uint32, error) {
	t.Helper()
	v := make([]uint32, n)
	for i := range v {
		v[i] = uint32(i)
	}
	p, err := kernels.NewSlice(d, v)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Launch(kernels.Kernel{Group: "shim", Name: name}, l, uint64(p), uint64(n)); err != nil {
		return nil, err
	}
	if err := kernels.DownloadSlice(d, v, p); err != nil {
		t.Fatal(err)
	}
	d.Free(p)
	return v, nil
}

func TestOperations(t *testing.T) {
	d := open(t)
	popcount := func(n int) uint32 { // of the numbers below n that are divisible by three
		return uint32((n + 2) / 3)
	}
	for name, want := range map[string]func(i, n int) uint32{
		"indices":        func(i, n int) uint32 { return uint32(i) },
		"reverse_block":  func(i, n int) uint32 { return uint32(n - 1 - i) },
		"reverse_shared": func(i, n int) uint32 { return uint32(n - 1 - i) },
		"block_sum":      func(i, n int) uint32 { return uint32(n * (n - 1) / 2) },
		"count":          func(i, n int) uint32 { return popcount(n) },
		"rotate_warp":    func(i, n int) uint32 { return uint32(i/32*32 + (i+1)%32) },
		"xor_warp":       func(i, n int) uint32 { return uint32(i ^ 5) },
		"prefix_warp":    func(i, n int) uint32 { l := i % 32; b := i - l; return uint32(b*(l+1) + l*(l+1)/2) },
		"down_warp": func(i, n int) uint32 {
			if i%32 < 24 {
				return uint32(i + 8)
			}
			return uint32(i)
		},
		"halves":  func(i, n int) uint32 { return uint32(i / 16 * 16) },
		"ballot":  func(i, n int) uint32 { return 0xaaaaaaaa },
		"partial": func(i, n int) uint32 { return uint32(i/32*32 + i%32/8*8) },
		"bits":    func(i, n int) uint32 { return bits.Reverse32(uint32(i)) },
	} {
		for _, n := range []int{32, 64, 256, 1024} {
			got, err := run(t, d, name, kernels.Launch{GridX: 1, Block: n, Shared: 4 * n}, n)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i := range got {
				if w := want(i, n); got[i] != w {
					t.Fatalf("%s of %d threads: [%d] = %#x, want %#x", name, n, i, got[i], w)
				}
			}
		}
	}
}

// Blocks, in both directions of the grid, add up; the last one sees all.
func TestGrid(t *testing.T) {
	d := open(t)
	p, err := kernels.NewSlice(d, make([]uint64, 2))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Launch(kernels.Kernel{Group: "shim", Name: "last_block"}, kernels.Launch{GridX: 5, GridY: 3, Block: 70}, uint64(p)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 16)
	if err := d.Download(got, p); err != nil {
		t.Fatal(err)
	}
	if sum := binary.NativeEndian.Uint64(got[8:]); sum != 15*70 {
		t.Errorf("the last block read %d, want %d", sum, 15*70)
	}
}

// What a device might let pass is an error that says what happened, and one for
// every later call.
func TestRefusals(t *testing.T) {
	for name, want := range map[string]string{
		"past_end":          "not allocated",
		"before_begin":      "before the begin",
		"far_away":          "not allocated",
		"past_shared":       "past the end of the dynamic shared memory",
		"split_barrier":     "different barriers",
		"missing_lane":      "returned",
		"lost_lane":         "deadlock",
		"different_masks":   "deadlock",
		"misaligned":        "misaligned",
		"shift":             "shift",
		"slack":             "past the end of an allocation",
		"recursion_forever": "not allocated",
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			_, err := run(t, d, name, kernels.Launch{GridX: 1, Block: 64, Shared: 64}, 900)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("error %v, want one with %q", err, want)
			}
			if err := d.Sync(); err == nil {
				t.Error("the device goes on")
			}
			if _, err := d.Alloc(16); err == nil {
				t.Error("the device still allocates")
			}
		})
	}
}

func TestMemory(t *testing.T) {
	d := open(t)
	p, err := d.Alloc(100)
	if err != nil {
		t.Fatal(err)
	}
	if uint64(p)%256 != 0 {
		t.Errorf("address %#x", p)
	}
	q, err := d.Alloc(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if d.Live() != 100+1<<20 {
		t.Errorf("%d bytes live", d.Live())
	}
	buf := make([]byte, 101)
	if err := d.Download(buf[:100], p); err != nil || buf[0] == 0 {
		t.Errorf("fresh memory has %d, %v", buf[0], err)
	}
	for name, err := range map[string]error{
		"upload":   d.Upload(p, buf),
		"download": d.Download(buf, p),
		"clear":    d.Clear(p, 101),
		"copy to":  d.Copy(p, q, 101),
		"copy":     d.Copy(q, p, 101),
		"overlap":  d.Copy(q, q+16, 32),
		"nowhere":  d.Clear(16, 1),
	} {
		if err == nil {
			t.Errorf("%s beyond an allocation passed", name)
		}
	}
	if err := errors.Join(d.Clear(p, 100), d.Copy(q, p, 100), d.Upload(q+100, buf), d.Copy(q+16, q, 16)); err != nil {
		t.Error(err)
	}
	d.Free(q)
	d.Free(0)
	if d.Live() != 100 {
		t.Errorf("%d bytes live", d.Live())
	}
	d.Free(q)
	if d.Sync() == nil {
		t.Error("memory was freed twice")
	}
}
