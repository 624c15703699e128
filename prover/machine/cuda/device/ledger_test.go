package device

import (
	"testing"

	"github.com/prove-model/prove-model/kernels"
)

func TestExtents(t *testing.T) {
	m := New(kernels.NewDry(1))
	a, err := m.Dev.Alloc(1000)
	if err != nil {
		t.Fatal(err)
	}
	other, err := m.Dev.Stream(0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := other.Alloc(10)
	if err != nil {
		t.Fatal(err)
	}
	e := m.Dev.Extents()
	for _, c := range []struct{ at, end kernels.Ptr }{{a, a + 1000}, {a + 999, a + 1000}, {b, b + 10}, {b + 9, b + 10}, {min(a, b) - 1, min(a, b) - 1}} {
		if got := e.End(c.at); got != c.end {
			t.Errorf("the allocation of %d ends at %d, not %d", c.at, got, c.end)
		}
	}
	m.Dev.Free(a)
	if got := m.Dev.Extents().End(a); got != a {
		t.Errorf("an allocation that was freed ends at %d", got)
	}
	m.Dev.Free(b)
}

// trimmed is a device with a pool.
type trimmed struct {
	kernels.Device
	trim func()
}

func (d *trimmed) Trim() error {
	d.trim()
	return nil
}

// TestTrim: the queue of rows does not record while all queues are waited for, which would spoil the recording and fail.
func TestTrim(t *testing.T) {
	var m *Context
	free := true
	m = New(&trimmed{kernels.NewDry(1), func() {
		if free = m.Rows.TryLock(); free {
			m.Rows.Unlock()
		}
	}})
	if !m.Trim() || free {
		t.Errorf("rows may be recorded: %v", free)
	}
	if New(kernels.NewDry(1)).Trim() {
		t.Error("a device without a pool")
	}
}
