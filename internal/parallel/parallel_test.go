package parallel

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// withProcs runs f under each of several GOMAXPROCS.
func withProcs(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	old := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(old)
	for _, p := range []int{1, 2, 3, 8} {
		runtime.GOMAXPROCS(p)
		f(t)
	}
}

func TestForCoversEveryIndexOnce(t *testing.T) {
	withProcs(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 2, 7, 64, 1000} {
			for _, grain := range []int{-1, 0, 1, 3, 64, 5000} {
				seen := make([]atomic.Int32, n)
				For(n, grain, func(lo, hi int) {
					if hi-lo < grain && hi-lo < n {
						t.Errorf("n=%d grain=%d: range [%d,%d) is shorter than the grain", n, grain, lo, hi)
					}
					for i := lo; i < hi; i++ {
						seen[i].Add(1)
					}
				})
				for i := range seen {
					if c := seen[i].Load(); c != 1 {
						t.Fatalf("n=%d grain=%d: index %d visited %d times", n, grain, i, c)
					}
				}
			}
		}
	})
}

func TestForNested(t *testing.T) {
	withProcs(t, func(t *testing.T) {
		var total atomic.Int64
		For(16, 1, func(lo, hi int) {
			For(hi-lo, 1, func(l, h int) { total.Add(int64(h - l)) })
		})
		if total.Load() != 16 {
			t.Fatalf("total %d, want 16", total.Load())
		}
	})
}

func TestDoCallsAll(t *testing.T) {
	withProcs(t, func(t *testing.T) {
		var calls [9]atomic.Int32
		var fs []func()
		for i := range calls {
			fs = append(fs, func() { calls[i].Add(1) })
		}
		Do(fs...)
		Do()
		for i := range calls {
			if calls[i].Load() != 1 {
				t.Fatalf("function %d called %d times", i, calls[i].Load())
			}
		}
	})
}

// A panic on any goroutine reaches the caller, who may recover from it.
func TestPanicReachesCaller(t *testing.T) {
	// On more than one goroutine.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for bad := range 64 {
		func() {
			defer func() {
				if p := recover(); p != "bad" {
					t.Errorf("element %d: recovered %v", bad, p)
				}
			}()
			For(64, 1, func(lo, hi int) {
				if lo <= bad && bad < hi {
					panic("bad")
				}
			})
		}()
	}
}

// What is called between pieces is called by loops that are long, on one core as well,
// whose results are the same.
func TestBetween(t *testing.T) {
	for _, procs := range []int{1, 3} {
		old := runtime.GOMAXPROCS(procs)
		var calls atomic.Int64
		restore := Between(func() { calls.Add(1) })
		seen := make([]int32, 1000)
		For(len(seen), 1, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				seen[i]++
			}
		})
		restore()
		if n := calls.Load(); n < 64 {
			t.Errorf("%d processors: called %d times", procs, n)
		}
		before := calls.Load()
		For(len(seen), 1, func(lo, hi int) {})
		if calls.Load() != before {
			t.Errorf("%d processors: called after restore", procs)
		}
		for i, n := range seen {
			if n != 1 {
				t.Fatalf("index %d was visited %d times", i, n)
			}
		}
		runtime.GOMAXPROCS(old)
	}
}
