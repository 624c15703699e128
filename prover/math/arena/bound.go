package arena

import (
	"errors"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/prove-model/prove-model/internal/mapped"
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/internal/resident"
)

// ErrBound is the error of Bound if a bound is in force already.
var ErrBound = errors.New("the process has a bound on its memory already")

// current is the bound that is in force.
var current struct {
	sync.Mutex
	atomic.Pointer[bound]
}

// bound keeps the process within a number of bytes of memory, by three means. Arenas that do not fit are mapped
// to an unnamed file. Pages of this file and of other mapped files are dropped from memory when it
// is short. And the garbage collector's memory limit is set to what is left for it.
type bound struct {
	bytes, margin int64 // the bound, and how much of it is kept free for memory that is touched between two looks
	folder        string

	memory atomic.Int64 // bytes of arenas in memory that is not a file's
	filed  atomic.Int64 // bytes of arenas and lists that are in files now
	most   atomic.Int64 // the greatest value of filed so far
	lists  atomic.Int64 // bytes that Lasting has returned so far
	handed atomic.Int64 // bytes that were passed to hand

	began  time.Time
	looked atomic.Int64 // when look looked last, in nanoseconds since began

	errMu sync.Mutex
	err   error // why the first file that could not be made was not
}

const (
	// tick is the time between two looks at the memory. The margin is for what a process can fault in within a few
	// ticks.
	tick = 5 * time.Millisecond
	// leastFiles is the least size of file pages in memory at which they are dropped: fewer are those of the program itself.
	leastFiles = 48 << 20
	// leastMargin is the least margin, unless that is over half of the bound.
	leastMargin = 96 << 20
	// Pages of files are dropped as soon as the process has less than a fifth of the bound, or less than leastSlack, left. That is early, but
	// pages that are read again soon are still in the system's memory, and the goroutine that drops pages may run late if the cores are
	// busy.
	leastSlack = 192 << 20
)

// Bound makes the process keep within a number of bytes of memory, as far as it can, until release is called. What does not fit is in
// unnamed files in a folder ("" stands for the system's folder for temporary files). release returns the most bytes that were in
// files at a time, and the error of the first file that could not be made. There can be one bound at a time. Memory that was
// allocated under it stays where it is afterwards.
func Bound(bytes int64, folder string) (release func() (filed int64, err error), err error) {
	current.Lock()
	defer current.Unlock()
	if current.Load() != nil {
		return nil, ErrBound
	}
	if folder == "" {
		folder = os.TempDir()
	}
	b := &bound{bytes: bytes, margin: min(max(bytes/16, leastMargin), bytes/2), folder: folder, began: time.Now()}
	current.Store(b)
	before := debug.SetMemoryLimit(-1)
	b.collect()
	alone := parallel.Between(b.look)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		b.keep(stop)
	}()
	return sync.OnceValues(func() (int64, error) {
		current.Lock()
		defer current.Unlock()
		alone()
		close(stop)
		<-done
		current.Store(nil)
		debug.SetMemoryLimit(before)
		b.errMu.Lock()
		defer b.errMu.Unlock()
		return b.most.Load(), b.err
	}), nil
}

// Bounded returns the bound that is in force, 0 if there is none.
func Bounded() int64 {
	if b := current.Load(); b != nil {
		return b.bytes
	}
	return 0
}

// keep calls look at every tick, until stop is closed.
func (b *bound) keep(stop <-chan struct{}) {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
		}
		b.look()
	}
}

// trim drops the pages of mapped files from memory if little of the bound is left.
func (b *bound) trim() {
	if s, ok := resident.Now(); ok && s.File > leastFiles && s.Anonymous+s.File > b.bytes-max(b.bytes/5, leastSlack) {
		mapped.Trim()
	}
}

// look calls trim, unless that was done less than half a tick ago. It is called between pieces of work (parallel.Between) and by keep.
func (b *bound) look() {
	now, last := int64(time.Since(b.began)), b.looked.Load()
	if now-last >= int64(tick)/2 && b.looked.CompareAndSwap(last, now) {
		b.trim()
	}
}

// pace is the number of bytes after which hand calls trim. So a goroutine that fills memory waits until pages
// have been dropped, even if the cores are too busy for keep.
const pace = 16 << 20

// hand counts n bytes that are about to be filled.
func (b *bound) hand(n int) {
	if after := b.handed.Add(int64(n)); after/pace != (after-int64(n))/pace {
		b.trim()
	}
}

// collect sets the garbage collector's memory limit to what arenas, files and the margin leave, but at least an eighth of the bound.
func (b *bound) collect() {
	debug.SetMemoryLimit(max(b.bytes-b.margin-b.files()-b.memory.Load(), b.bytes/8))
}

// files returns the number of bytes that are reserved for pages of files.
func (b *bound) files() int64 { return max(leastFiles, b.bytes/8) }

// room returns how many bytes arenas may have in memory that is not a file's.
func (b *bound) room() int64 {
	return b.bytes - b.margin - b.files() - max(b.bytes/4, collected())
}

// collected returns how many bytes the Go runtime has from the system and has not released.
func collected() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(min(s[0].Value.Uint64()-s[1].Value.Uint64(), math.MaxInt64))
}

// mapBytes returns size bytes of memory, or of a file if there is no room for them. If no file can be made it returns memory.
func (b *bound) mapBytes(size int) ([]byte, func()) {
	n := int64(size)
	if b.memory.Add(n) > b.room() {
		b.memory.Add(-n)
		if bytes, unmap := b.file(size); bytes != nil {
			return bytes, unmap
		}
		b.memory.Add(n)
	}
	bytes, unmap := mapMemory(size)
	b.collect()
	return bytes, func() {
		unmap()
		b.memory.Add(-n)
		if current.Load() == b {
			b.collect()
		}
	}
}

// file returns size bytes of an unnamed file, or nil if it cannot be made.
func (b *bound) file(size int) ([]byte, func()) {
	f, err := mapped.Scratch(b.folder, size)
	if err != nil {
		b.errMu.Lock()
		defer b.errMu.Unlock()
		if b.err == nil {
			b.err = err
		}
		return nil, nil
	}
	now := b.filed.Add(int64(size))
	for {
		most := b.most.Load()
		if now <= most || b.most.CompareAndSwap(most, now) {
			break
		}
	}
	return f.Bytes(), func() {
		b.filed.Add(-int64(size))
		if err := f.Close(); err != nil {
			panic("arena: giving a file back: " + err.Error())
		}
	}
}

// mapBytes returns size bytes for an arena, and a function that gives them back.
func mapBytes(size int) ([]byte, func()) {
	if b := current.Load(); b != nil {
		return b.mapBytes(size)
	}
	return mapMemory(size)
}

// Lasting returns n zeros for a list that nobody frees, such as the weights of a model; the garbage collector does.
// Under a bound, lists beyond an eighth of it are in files, which stay until the process ends.
func Lasting[T int8 | int16 | int32](n int) []T {
	size := n * int(unsafe.Sizeof(*new(T)))
	b := current.Load()
	if b != nil {
		b.hand(size)
	}
	if b == nil || size < unit || b.lists.Add(int64(size)) <= b.bytes/8 {
		return make([]T, n)
	}
	bytes, _ := b.file(size)
	if bytes == nil {
		return make([]T, n)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(bytes))), n)
}

// ForRun returns an arena for values that are dropped together. It returns nil, which stands for garbage-collected memory, if there is no
// bound.
func ForRun() *Arena {
	if current.Load() == nil {
		return nil
	}
	return &Arena{}
}
