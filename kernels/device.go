package kernels

import (
	"errors"
	"time"
)

// ErrMemory is what Alloc fails with where the device has no memory left.
var ErrMemory = errors.New("out of device memory")

// A Ptr is an address in a device's memory. Zero is no address.
type Ptr uint64

// A Kernel is the function Name of the source cu/Group.cu.
type Kernel struct{ Group, Name string }

// A Launch is the shape of one launch: GridX·GridY blocks of Block threads,
// with Shared bytes of dynamic shared memory a block. GridY of zero means one. With Early the kernel waits itself for what was
// enqueued before it (wait_for_earlier): in a recording a device may let it begin sooner.
type Launch struct {
	GridX, GridY, Block, Shared int
	Early                       bool
}

// A Device runs kernels on memory of its own. Its operations happen in the
// order of the calls, asynchronously where the method does not say otherwise;
// an error of an earlier launch may be reported by any later call. A Device is
// safe for concurrent use, one operation at a time.
type Device interface {
	// Name is the device's model name, for messages and tables.
	Name() string
	// Multiprocessors is the number of its processors that run blocks, from
	// which to choose the size of a grid.
	Multiprocessors() int
	// Alloc returns memory of at least that many bytes (more than zero),
	// aligned to 256, with undefined contents. Where there is none left the
	// error wraps ErrMemory.
	Alloc(bytes int) (Ptr, error)
	// Free returns memory to the pool once the operations already in the queue
	// are done with it. Free(0) does nothing.
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
	// NewResultBuffer returns a result buffer of that many words, two at least.
	NewResultBuffer(words int) (ResultBuffer, error)
}

// Memory are bytes of device memory.
type Memory struct {
	Live, Peak             int64 // asked for and not freed: now, at most
	Reserved, ReservedPeak int64 // held by the pool: now, at most
}

// A ResultBuffer is memory in which a kernel leaves a few numbers for the host as
// soon as it has them: less of a wait than Download. It is for one goroutine at
// a time.
type ResultBuffer interface {
	// Words is how many numbers there is room for.
	Words() int
	// Post returns what tells a launch to leave its numbers here.
	Post() Post
	// Wait returns the numbers of the launch with the latest Post, which leaves len(dst) of them.
	Wait(dst []uint64) error
	// Close frees the memory.
	Close() error
}

// absent is what the words of a result buffer are that have not been written: a launch leaves no such
// number. So the host waits for each word by itself, and the device for no order of them, which would
// take it a way to the host's memory and back.
const absent = ^uint64(0)

// A Post says where a launch adds up its sums, or writes its elements, and in which result buffer the
// host waits for them.
type Post struct{ at, box, done Ptr }

// NewPost returns the Post for a result buffer at an address. At sums there are as many words of zero on the
// device as it has room for numbers, and at done is one more: launches leave them zero.
func NewPost(sums, box, done Ptr) Post { return Post{sums, box, done} }

// Kept is a Post for results that stay on the device, at an address. Sums are added to what is there.
func Kept(at Ptr) Post { return Post{at: at} }

// sums are the first arguments of a kernel that adds up sums, followed by more.
func (p Post) sums(more ...uint64) []uint64 {
	return append([]uint64{uint64(p.at), uint64(p.box), uint64(p.done)}, more...)
}

// elements are those of a kernel that writes elements: into the result buffer itself, if there is one.
func (p Post) elements(more ...uint64) []uint64 {
	to := p.at
	if p.box != 0 {
		to = p.box
	}
	return append([]uint64{uint64(to)}, more...)
}
