package backend

import (
	"context"
	"errors"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// digits are passes whose result depends on all calls that changed them, and on their order.
type digits struct {
	sum    int
	asked  *int
	failAt int // the number of the call that fails, of those of all digits that share asked
}

var errPass = errors.New("a pass fails")

func (d *digits) push(n int) (int, error) {
	if *d.asked++; *d.asked == d.failAt {
		return 0, errPass
	}
	d.sum = 10*d.sum + n
	return d.sum, nil
}

func (d *digits) read() (int, error) {
	if *d.asked++; *d.asked == d.failAt {
		return 0, errPass
	}
	return d.sum, nil
}

// TestReplay: whichever call fails on the device, the CPU repeats all calls before it that changed the data, in their order,
// and none that did not; later calls are the CPU's.
func TestReplay(t *testing.T) {
	ctx := context.Background()
	const calls = 8
	for failAt := range calls + 1 {
		device, cpu := &struct{ Backend }{}, &struct{ Backend }{}
		warned := 0
		b := NewFallback(&model.Graph{}, device, cpu, Policy{Warn: func(err error) {
			if warned++; !errors.Is(err, errPass) {
				t.Error(err)
			}
		}})
		onDevice, onCPU := 0, 0
		r, err := newReplayed(ctx, b, 1, func(_ context.Context, on Backend) (*digits, error) {
			if on == Backend(device) {
				return &digits{asked: &onDevice, failAt: failAt}, nil
			}
			return &digits{asked: &onCPU, failAt: -1}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want, changed := 0, 0 // changed: before the call that fails
		for i := 1; i <= calls; i++ {
			k, f := changes("push"), func(_ context.Context, d *digits) (int, error) { return d.push(i) }
			if i%3 == 0 {
				k, f = asks("read"), func(_ context.Context, d *digits) (int, error) { return d.read() }
			} else {
				want = 10*want + i
				if i < failAt {
					changed++
				}
			}
			if got, err := relayed(ctx, r, k, f); err != nil || got != want {
				t.Errorf("call %d fails: call %d returns %d, %v, want %d", failAt, i, got, err, want)
			}
		}
		if failAt == 0 {
			if warned+onCPU > 0 {
				t.Errorf("nothing fails: %d warnings, %d calls on the CPU", warned, onCPU)
			}
		} else if left := calls - failAt + 1; warned != 1 || onDevice != failAt || onCPU != changed+left {
			t.Errorf("call %d fails: %d warnings, %d calls on the device, %d on the CPU, want 1, %d, %d", failAt, warned, onDevice, onCPU, failAt, changed+left)
		}
	}
}
