package device

import (
	"errors"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/math/ints"
)

func TestTensor(t *testing.T) {
	d := devicetest.NewFaulty(devicetest.Open(t), -1)
	for _, c := range []struct {
		values ints.Ints
		width  int
	}{
		{ints.Int32s{-128, 0, 127}, 1},
		{ints.Int32s{128}, 2},
		{ints.Int32s{-129, 5}, 2},
		{ints.Int32s{-32768, 32767}, 2},
		{ints.Int32s{32768}, 4},
		{ints.Int32s{-32769}, 4},
		{ints.Int32s{-1 << 31, 1<<31 - 1}, 4},
		{make(ints.Int32s, 3*tensorGrain+5), 1},
		{ints.Int8s{-128, 0, 127}, 1},
		{ints.Int16s{-32768, 0, 32767}, 2},
	} {
		x, err := NewTensor(d, c.values)
		if err != nil {
			t.Fatal(err)
		}
		if got := download(t, d, x); x.Width != c.width || !slices.Equal(got, ints.All(c.values)) {
			t.Errorf("width %d for %v, want %d", x.Width, c.values.Slice(0, min(3, c.values.Len())), c.width)
		}
		x.Free(d)
	}
	if d.Live() != 0 {
		t.Errorf("%d bytes left", d.Live())
	}
	if _, err := NewTensor(devicetest.NewFaulty(d, 0), ints.Int8s{1}); err == nil {
		t.Error("no memory, no error")
	}
}

func download(t *testing.T, d kernels.Device, x *Tensor) []int32 {
	t.Helper()
	out := make([]int32, x.Len)
	var err error
	switch x.Width {
	case 1:
		v := make([]int8, x.Len)
		err = kernels.DownloadSlice(d, v, x.Ptr)
		for i := range v {
			out[i] = int32(v[i])
		}
	case 2:
		v := make([]int16, x.Len)
		err = kernels.DownloadSlice(d, v, x.Ptr)
		for i := range v {
			out[i] = int32(v[i])
		}
	default:
		err = kernels.DownloadSlice(d, out, x.Ptr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestResident: a fixed tensor is uploaded once, and everything is given back.
// A panic while a tensor is uploaded leaves nothing on the device.
func TestTensorPanic(t *testing.T) {
	d := devicetest.NewStreams(devicetest.Open(t), 1<<20, func(op string, _ int) error {
		if op == "upload" {
			panic("a bug")
		}
		return nil
	})
	defer d.Drain()
	for _, values := range []ints.Ints{ints.Int8s{1, 2}, ints.Int32s{1, 2}, ints.Int32s{1 << 20}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v: no panic", values)
				}
			}()
			_, _ = NewTensor(d, values)
		}()
		if d.Live() != 0 {
			t.Errorf("%v: %d bytes are left", values, d.Live())
		}
	}
}

func TestResident(t *testing.T) {
	d := devicetest.NewFaulty(devicetest.Open(t), -1)
	m := New(d)
	values := ints.Int16s{1, 2, 3, 4}
	a, err := m.Resident(m.Dev, values, nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := m.Resident(m.Dev, values, nil); err != nil || a != b {
		t.Errorf("uploaded twice, or %v", err)
	}
	short, err := m.Resident(m.Dev, values[:2], nil)
	if err != nil || short.Len != 2 {
		t.Errorf("another slice at the same place: %v, %v", short, err)
	}
	m.Close()
	if d.Live() != 0 {
		t.Errorf("%d bytes left", d.Live())
	}
}

// TestPeers: a fixed tensor that one machine has the other copies, and what has gone there
// through its queue is what it reads.
func TestPeers(t *testing.T) {
	d := devicetest.Open(t)
	on := []*devicetest.Streams{devicetest.NewStreams(d, 1<<20, nil), devicetest.NewStreams(d, 1<<20, nil)}
	for _, streams := range []int{1, 2} {
		a, b := New(on[0]), New(on[1])
		a.Streams = streams
		values := ints.Int16s{1, -2, 300, 4}
		if _, err := a.Resident(a.Dev, values, nil); err != nil {
			t.Fatal(err)
		}
		x, err := b.Resident(b.Dev, values, []*Context{b, a})
		if err != nil {
			t.Fatal(err)
		}
		got := make([]int16, 4)
		if err := kernels.DownloadSlice(b.Dev, got, x.Ptr); err != nil || !slices.Equal(got, values) {
			t.Errorf("%d streams: %v, %v", streams, got, err)
		}
		if x := b.Traffic(); x.Uploaded != 0 || x.Copied != 8 {
			t.Errorf("%d streams: %+v", streams, x)
		}
		a.Close()
		b.Close()
		if err := errors.Join(a.Drain(0), b.Drain(0)); err != nil || a.Traffic().Live+b.Traffic().Live != 0 {
			t.Error("memory is left", err)
		}
	}
}
