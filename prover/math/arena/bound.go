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

// ErrBound says that the process has a bound already.
var ErrBound = errors.New("the process has a bound on its memory already")

// current is the bound that is in force.
var current struct {
	sync.Mutex
	atomic.Pointer[bound]
}

// bound keeps the process within some bytes of memory: arenas beyond what there is room
// for are in a file without a name, pages of that and of other mapped files leave when
// room is short, and the collector works the harder the less is left for it.
type bound struct {
	bytes, margin int64
	folder        string

	memory atomic.Int64 // bytes of arenas that are no file
	filed  atomic.Int64 // that are in files now
	most   atomic.Int64 // at most
	lists  atomic.Int64 // bytes of Lasting so far
	handed atomic.Int64 // bytes of all

	began  time.Time
	looked atomic.Int64 // when, since it began

	errMu sync.Mutex
	err   error // of the first file that could not be had
}

const (
	// tick is how often a keeper looks: what a process can fault in within some of it is
	// what the margin is for.
	tick = 5 * time.Millisecond
	// leastFiles is what is left of files in memory: less is the program itself.
	leastFiles  = 48 << 20
	leastMargin = 96 << 20
	// Pages of files leave from four fifths of the bound on, whatever else there is: what
	// is read again soon comes back from the system's memory, and a keeper that comes too
	// late because the cores are busy has the rest.
	leastSlack = 192 << 20
)

// Bound has the process keep within some bytes of memory as far as it can, with files in
// a folder for what does not fit, until release is called. That returns the most bytes
// that were in files, and the error of the first that could not be had. There is one
// bound at a time. What has been made under it stays as it is.
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

// keep drops the pages of files when room is short, until stop is closed.
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

// trim drops the pages of files if room is short.
func (b *bound) trim() {
	if s, ok := resident.Now(); ok && s.File > leastFiles && s.Anonymous+s.File > b.bytes-max(b.bytes/5, leastSlack) {
		mapped.Trim()
	}
}

// look is trim between pieces of work, some time after the last look.
func (b *bound) look() {
	now, last := int64(time.Since(b.began)), b.looked.Load()
	if now-last >= int64(tick)/2 && b.looked.CompareAndSwap(last, now) {
		b.trim()
	}
}

// pace is how many bytes are handed out until the next look: who fills memory waits for
// the pages that leave, however busy the cores are.
const pace = 16 << 20

// hand takes note of memory that is about to be filled.
func (b *bound) hand(n int) {
	if after := b.handed.Add(int64(n)); after/pace != (after-int64(n))/pace {
		b.trim()
	}
}

// collect tells the collector what it may have.
func (b *bound) collect() {
	debug.SetMemoryLimit(max(b.bytes-b.margin-b.files()-b.memory.Load(), b.bytes/8))
}

// files is the least that there is for pages of files.
func (b *bound) files() int64 { return max(leastFiles, b.bytes/8) }

// room is what arenas may have that is no file.
func (b *bound) room() int64 {
	return b.bytes - b.margin - b.files() - max(b.bytes/4, collected())
}

// collected is what the collector has of the system.
func collected() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(min(s[0].Value.Uint64()-s[1].Value.Uint64(), math.MaxInt64))
}

// mapBytes returns size bytes of memory, or of a file if there is no room.
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

// file returns size bytes of a file; nil if there can be none.
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

// mapBytes returns size bytes for an arena.
func mapBytes(size int) ([]byte, func()) {
	if b := current.Load(); b != nil {
		return b.mapBytes(size)
	}
	return mapMemory(size)
}

// Lasting returns n zeros that are never freed by anybody but the collector: such as the
// weights of a model. Under a bound, lists beyond an eighth of it are in files, and stay
// as long as the process does.
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

// ForRun returns an arena for what is dropped together, nil if there is no bound: the
// collector's memory then.
func ForRun() *Arena {
	if current.Load() == nil {
		return nil
	}
	return &Arena{}
}
