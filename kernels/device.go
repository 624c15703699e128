package kernels

import (
	"errors"
	"time"
)

// ErrMemory is the error of Alloc if the device has not enough memory left.
var ErrMemory = errors.New("out of device memory")

// A Ptr is an address in a device's memory. Zero is no address.
type Ptr uint64

// A Kernel is the function Name of the source cu/Group.cu.
type Kernel struct{ Group, Name string }

// A Launch is the shape of one launch of a kernel: GridX·GridY blocks of Block threads, each block with Shared bytes of
// dynamic shared memory. GridY = 0 means one. Early says that the kernel itself waits for the work that was enqueued before it
// (wait_for_earlier); the device may then start it before that work is done, if it is part of a recording.
type Launch struct {
	GridX, GridY, Block, Shared int
	Early                       bool
}

// A Device runs kernels on its own memory. Its operations happen in the order of the
// calls, and asynchronously unless the method says otherwise. An error of an earlier
// launch may be reported by any later call. Several goroutines may use a Device at
// once; it does one operation at a time.
type Device interface {
	// Name is the device's model name, for messages and tables.
	Name() string
	// Multiprocessors is the number of processors that run blocks, from which launches
	// choose the size of their grid.
	Multiprocessors() int
	// Alloc returns memory of at least `bytes` bytes, which must be positive, aligned to
	// 256, with undefined contents. If there is not enough memory the error wraps
	// ErrMemory.
	Alloc(bytes int) (Ptr, error)
	// Free returns memory to the pool once the operations that are in the queue have been
	// done. Free(0) does nothing.
	Free(Ptr)
	// Upload copies src to dst. src may be reused when it returns.
	Upload(dst Ptr, src []byte) error
	// Download waits for the queue and copies from src to dst.
	Download(dst []byte, src Ptr) error
	// Copy copies bytes between two places on the device that do not overlap.
	Copy(dst, src Ptr, bytes int) error
	// Clear sets bytes of memory to zero.
	Clear(dst Ptr, bytes int) error
	// Launch enqueues a kernel. Every parameter of a kernel is a 64-bit
	// integer or a pointer. The kernel's group is compiled on first use.
	Launch(k Kernel, l Launch, args ...uint64) error
	// Sync waits for the queue.
	Sync() error
	// Time runs f and returns the time the device spent on what f enqueued.
	Time(f func() error) (time.Duration, error)
	// NewResultBuffer returns a result buffer of that many words, at least two.
	NewResultBuffer(words int) (ResultBuffer, error)
}

// Memory says how many bytes of device memory are in use.
type Memory struct {
	Live, Peak             int64 // allocated and not freed: now, and the maximum so far
	Reserved, ReservedPeak int64 // held by the pool: now, and the maximum so far
}

// A ResultBuffer is memory in which a kernel leaves a few numbers for the host as soon
// as it has them, so that the host waits less than for a Download. Only one goroutine
// may use it at a time.
type ResultBuffer interface {
	// Words is the number of 64-bit numbers that it holds.
	Words() int
	// Post returns the Post to pass to a launch, which makes that launch leave its numbers here.
	Post() Post
	// Wait waits for the numbers of the launch that got the latest Post, and copies them to dst. The launch must leave
	// len(dst) numbers.
	Wait(dst []uint64) error
	// Close frees the memory.
	Close() error
}

// absent is the value of the words of a result buffer that have not been written; no launch leaves
// this number. Thus the host can wait for each word by itself, and the device need not write the
// words in any order, which would cost it a round trip to the host's memory.
const absent = ^uint64(0)

// A Post tells a launch where to add up its sums or to write its elements (at), and in which result
// buffer, if any, the host waits for them (box). done is the address of a counter of blocks that are
// done.
type Post struct{ at, box, done Ptr }

// NewPost returns the Post for a result buffer at address box. sums is the address of words on the device,
// as many as the buffer holds, and done that of one more word. All of these are zero before a launch, and
// the launch leaves them zero.
func NewPost(sums, box, done Ptr) Post { return Post{sums, box, done} }

// Kept returns a Post for results that stay on the device, at an address. Sums are added to the words that are there.
func Kept(at Ptr) Post { return Post{at: at} }

// sums returns the arguments of a kernel that adds up sums: those for the Post, followed by more.
func (p Post) sums(more ...uint64) []uint64 {
	return append([]uint64{uint64(p.at), uint64(p.box), uint64(p.done)}, more...)
}

// elements returns the arguments of a kernel that writes elements: where to write them, which is the result buffer
// itself if there is one, followed by more.
func (p Post) elements(more ...uint64) []uint64 {
	to := p.at
	if p.box != 0 {
		to = p.box
	}
	return append([]uint64{uint64(to)}, more...)
}
