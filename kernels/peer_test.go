package kernels_test

import (
	"errors"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/math/field"
)

// twoQueues are two queues that know nothing of each other: of two devices of which each
// does what is enqueued as late as it may, or of two GPUs.
func twoQueues(t *testing.T) map[string][2]kernels.Device {
	if pair, ok := devicetest.Two(t); ok {
		return map[string][2]kernels.Device{"GPUs": pair}
	}
	d := devicetest.Open(t)
	queue := func(on kernels.Device) *devicetest.Streams { return devicetest.NewStreams(on, 1<<24, nil) }
	alone := queue(d)
	alone.Alone()
	several := queue(d)
	second, err := several.Stream(1)
	check(t, err)
	queues := map[string][2]kernels.Device{
		"reached":    {queue(d), queue(d)},
		"through it": {devicetest.NewFaulty(queue(d), -1), devicetest.NewFaulty(queue(d), -1)},
		"alone":      {queue(d), alone},
		"streams":    {several, second},
	}
	if other := devicetest.Open(t); other != d { // one GPU is the same again
		queues["two hosts"] = [2]kernels.Device{queue(d), queue(other)}
	}
	return queues
}

// TestCopyFrom: what one device computes another one copies and computes with, and the
// first reads again, without a wait in between where they reach each other.
func TestCopyFrom(t *testing.T) {
	for name, d := range twoQueues(t) {
		a, b := d[0], d[1]
		const n = 5000
		values := make([]field.M31, n)
		for i := range values {
			values[i] = field.M31(i * i)
		}
		x, err := kernels.NewSlice(a, values)
		check(t, err)
		y, err := kernels.AllocSlice[field.M31](b, n)
		check(t, err)
		z, err := kernels.AllocSlice[field.M31](a, n)
		check(t, err)
		check(t, addM31(a, x, x, x, n))
		check(t, kernels.After(b, a))
		check(t, kernels.CopyFrom(b, y.Offset(1, 4), a, x.Offset(1, 4), 4*(n-1)))
		check(t, kernels.CopyFrom(b, y, a, x, 4))
		check(t, addM31(b, y, y, y, n))
		check(t, kernels.After(a, b))
		check(t, kernels.CopyFrom(a, z, b, y, 4*n))
		check(t, addM31(a, z, z, x, n))
		got := make([]field.M31, n)
		check(t, kernels.DownloadSlice(a, got, z))
		for i, v := range values {
			if want := v.Add(v).Add(v).Double(); got[i] != want {
				t.Fatalf("%s: entry %d is %v, want %v", name, i, got[i], want)
			}
		}
		a.Free(x)
		b.Free(y)
		a.Free(z)
		check(t, errors.Join(a.Sync(), b.Sync()))
		if s, ok := kernels.Base(b).(*devicetest.Streams); ok {
			if direct := s.Copied() > 0; direct != (name == "reached" || name == "through it") {
				t.Errorf("%s: %d bytes were copied directly", name, s.Copied())
			}
		}
	}
}

// TestCopyFromLost: an error says whose it is.
func TestCopyFromLost(t *testing.T) {
	d := devicetest.Open(t)
	lost := errors.New("lost")
	for name, fault := range map[string]func(string, int) error{
		"at once": func(string, int) error { return lost },
		"reading": func(op string, _ int) error {
			if op == "read" || op == "download" {
				return lost
			}
			return nil
		},
		"later": func(_ string, n int) error {
			if n > 3 {
				return lost
			}
			return nil
		},
	} {
		for _, alone := range []bool{false, true} {
			a, b := devicetest.NewStreams(d, 1<<20, fault), devicetest.NewStreams(d, 1<<20, nil)
			if alone {
				a.Alone()
			}
			x, err := d.Alloc(64)
			check(t, err)
			check(t, d.Clear(x, 64))
			for range 3 {
				if err = kernels.After(b, a); err == nil {
					err = kernels.CopyFrom(b, x, a, x.Offset(32, 1), 32)
				}
				if err != nil {
					break
				}
			}
			if !errors.As(err, new(*kernels.SourceError)) || !errors.Is(err, lost) {
				t.Errorf("%s, alone %v: %v", name, alone, err)
			}
			if err := kernels.CopyFrom(a, x, b, x.Offset(32, 1), 32); err == nil && name != "later" && name != "reading" || errors.As(err, new(*kernels.SourceError)) {
				t.Errorf("%s, alone %v, the other way: %v", name, alone, err)
			}
			b.Drain()
			a.Drain()
			d.Free(x)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
