//go:build cuda && cgo && linux && (amd64 || arm64)

package kernels

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/prove-model/prove-model/nvrtc/libcuda"
)

// Pinned is host memory that the device can read and write, at the same address.
type Pinned struct {
	e *Executor
	b []byte
}

// Pin allocates n > 0 bytes of pinned memory. What a kernel writes there can be read
// once Sync has returned.
func (e *Executor) Pin(n int) (*Pinned, error) {
	if n <= 0 {
		return nil, fmt.Errorf("pinned memory of %d bytes", n)
	}
	if err := e.Err(); err != nil {
		return nil, err
	}
	p, err := libcuda.HostAlloc(e.ctx, n)
	if err != nil {
		return nil, e.note(err)
	}
	return &Pinned{e, unsafe.Slice((*byte)(p), n)}, nil
}

// Bytes returns the memory, which must not be used after Close.
func (p *Pinned) Bytes() []byte { return p.b }

// Ptr returns the memory's address for a kernel.
func (p *Pinned) Ptr() Ptr { return Ptr(uintptr(unsafe.Pointer(&p.b[0]))) }

// Close waits for the queue and frees the memory.
func (p *Pinned) Close() error {
	err := p.e.Sync()
	return errors.Join(err, p.e.note(libcuda.HostFree(p.e.ctx, unsafe.Pointer(&p.b[0]))))
}
