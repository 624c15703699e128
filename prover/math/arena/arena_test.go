package arena

import (
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"github.com/prove-model/prove-model/prover/math/field"
)

const perUnit = unit / int(unsafe.Sizeof(field.QM31{}))

// Buffers in use never share memory, whatever is freed and in what order.
func TestBuffersAreDisjoint(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var a Arena
	defer a.Close()
	type buffer struct {
		values []int32
		mark   int32
	}
	var live []buffer
	for mark := range int32(400) {
		if len(live) > 0 && rng.IntN(5) < 2 {
			i := rng.IntN(len(live))
			Free(&a, live[i].values[:1]) // shortened, as tables are by folding
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
		}
		v := Make[int32](&a, 1+rng.IntN(40*unit/4))
		for i := range v {
			v[i] = mark
		}
		live = append(live, buffer{v, mark})
		if len(live) > 12 {
			for _, b := range live {
				for i, x := range b.values {
					if x != b.mark {
						t.Fatalf("entry %d of buffer %d is %d", i, b.mark, x)
					}
				}
				Free(&a, b.values)
			}
			live = nil
		}
	}
	if mapped, peak := a.Size(); mapped > 2*mapUnit+peak {
		t.Errorf("%d bytes mapped for %d in use", mapped, peak)
	}
}

// What has been freed serves again, neighbours together.
func TestMemoryIsUsedAgain(t *testing.T) {
	var a Arena
	defer a.Close()
	x, y := Make[field.QM31](&a, perUnit), Make[field.QM31](&a, 3*perUnit)
	first := unsafe.Pointer(&x[0])
	Free(&a, y)
	Free(&a, x)
	Free(&a, x) // a second time: nothing to free
	z := Make[field.QM31](&a, 4*perUnit)
	if unsafe.Pointer(&z[0]) != first {
		t.Error("other memory than the two buffers that were freed")
	}
	if len(a.free) != 1 || a.inUse != 4*unit {
		t.Errorf("%d free spans, %d bytes in use", len(a.free), a.inUse)
	}
	a.Close()
	if mapped, _ := a.Size(); mapped != 0 {
		t.Errorf("%d bytes mapped after Close", mapped)
	}
	Free(&a, make([]int32, unit)) // of nobody
}

// A Sub's memory goes back to its parent, which keeps it.
func TestSub(t *testing.T) {
	var a Arena
	defer a.Close()
	var first unsafe.Pointer
	for i := range 3 {
		s := a.Sub()
		x, y := Make[field.QM31](s, 5*perUnit), Make[int8](s, unit+1)
		if i == 0 {
			first = unsafe.Pointer(&x[0])
		} else if unsafe.Pointer(&x[0]) != first {
			t.Error("other memory than the Sub before had")
		}
		if own, _ := s.Size(); own != 0 || s.inUse != 7*unit || a.inUse != 7*unit {
			t.Errorf("%d and %d bytes in use, %d mapped by the Sub", s.inUse, a.inUse, own)
		}
		Free(s, y)
		Free(&a, x[:0:0]) // of nobody
		s.Close()         // with x in use
		if a.inUse != 0 {
			t.Errorf("%d bytes in use after Close", a.inUse)
		}
	}
	if mapped, peak := a.Size(); mapped != mapUnit || peak != 7*unit {
		t.Errorf("%d bytes mapped, %d at most in use", mapped, peak)
	}
}

// Memory that is too small for a buffer makes room for it.
func TestUnusedMemoryGoesBack(t *testing.T) {
	var a Arena
	defer a.Close()
	small, kept := Make[int8](&a, mapUnit), Make[int8](&a, mapUnit)
	kept[0], kept[mapUnit-1], small[0] = 1, 2, 5
	Free(&a, small)
	large := Make[int8](&a, 2*mapUnit)
	large[0], large[2*mapUnit-1] = 3, 4
	if mapped, _ := a.Size(); a.region == nil && mapped != 3*mapUnit {
		t.Errorf("%d bytes mapped for %d in use", mapped, 3*mapUnit)
	} else if a.region != nil && small[0] != 0 {
		t.Error("pages that are not in use are still there")
	}
	Free(&a, large)
	if v := Make[int8](&a, 3*mapUnit); len(v) != 3*mapUnit || kept[0] != 1 || kept[mapUnit-1] != 2 {
		t.Error("what is in use has changed")
	}
}

// A buffer begins in what is free at the end of a region, which grows by the rest alone.
func TestRegionGrows(t *testing.T) {
	var a Arena
	defer a.Close()
	first, last := Make[int8](&a, mapUnit), Make[int8](&a, mapUnit)
	if a.region == nil {
		t.Skip("the system reserves no addresses")
	}
	at := unsafe.Pointer(&last[0])
	Free(&a, last)
	if v := Make[int8](&a, 3*mapUnit); unsafe.Pointer(&v[0]) != at {
		t.Error("it does not begin in what was free")
	}
	if mapped, _ := a.Size(); mapped != 4*mapUnit {
		t.Errorf("%d bytes mapped", mapped)
	}
	Free(&a, first)
}

func TestZerosAndPoison(t *testing.T) {
	defer Poison()()
	var a Arena
	defer a.Close()
	v := Make[field.QM31](&a, perUnit)
	if v[0] == (field.QM31{}) || v[perUnit-1] != v[0] {
		t.Error("fresh memory is not overwritten")
	}
	clear(v)
	Free(&a, v)
	if v[0] == (field.QM31{}) || v[perUnit-1] != v[0] {
		t.Error("freed memory is not overwritten")
	}
	for _, n := range []int{1, perUnit, 5*perUnit + 1} {
		for i, x := range Zeros[field.QM31](&a, n) {
			if x != (field.QM31{}) {
				t.Fatalf("entry %d of %d is not zero", i, n)
			}
		}
	}
	if v := Make[int32](nil, 3*unit); len(v) != 3*unit || v[unit] != 0 {
		t.Error("without an arena, memory is the collector's")
	}
}

func TestConcurrent(t *testing.T) {
	var a Arena
	defer a.Close()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for range 200 {
				v := Make[int32](&a, unit/4*(1+g))
				v[0], v[len(v)-1] = int32(g), int32(g)
				if v[0] != int32(g) || v[len(v)-1] != int32(g) {
					t.Error("two buffers share memory")
				}
				Free(&a, v)
			}
		})
	}
	wg.Wait()
	if a.inUse != 0 {
		t.Errorf("%d bytes in use at the end", a.inUse)
	}
}

// Size returns the bytes that the arena has of the system, and the most that were in
// use at a time.
func (a *Arena) Size() (mapped, peak int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.size, a.peak
}
