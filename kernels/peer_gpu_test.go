//go:build cuda && cgo && linux && (amd64 || arm64)

package kernels

import "testing"

// TestSpeedPeers measures copies between two GPUs, for docs/gpu.md.
func TestSpeedPeers(t *testing.T) {
	a := gpu(t)
	other, err := CachedFor(1)
	if err != nil {
		t.Skip("one GPU: ", err)
	}
	b := other.(*Executor)
	t.Logf("the second reads the first's memory directly: %v", b.reaches(a.card))
	for _, n := range []int{4 << 10, 1 << 20, 1 << 30} {
		src, err := a.Alloc(n)
		noError(t, err)
		dst, err := b.Alloc(n)
		noError(t, err)
		noError(t, a.Clear(src, n))
		for range 2 { // the first time may open the way
			took, err := b.Time(func() error {
				for range 10 {
					if err := After(b, a); err != nil {
						return err
					}
					if err := CopyFrom(b, dst, a, src, n); err != nil {
						return err
					}
				}
				return nil
			})
			noError(t, err)
			t.Logf("%d bytes: %v each, %.1f GB/s", n, took/10, float64(10*n)/took.Seconds()/1e9)
		}
		noError(t, b.Sync())
		a.Free(src)
		b.Free(dst)
	}
}
