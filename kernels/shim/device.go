// Package shim runs the CUDA sources of package kernels on the host: g++
// compiles them, under a header that stands for CUDA's language, into a helper
// process that a Device talks to. It is slow and for tests: results are
// compared with the Go reference where there is no GPU, accesses beyond the
// end of an allocation and divergent barriers end the helper.
package shim

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"github.com/prove-model/prove-model/kernels"
)

// Device is the helper process.
type Device struct {
	mu     sync.Mutex
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
	err    error // sticky: the helper is gone
	live   map[kernels.Ptr]int
	failIn int // the allocation that fails, counted down; 0 for none
}

var _ kernels.Device = (*Device)(nil)

// New compiles the sources, unless that has been done before, and starts a
// helper. It needs g++ on an x86-64 machine.
func New() (*Device, error) {
	path, err := build()
	if err != nil {
		return nil, err
	}
	d := &Device{cmd: exec.Command(path), live: map[kernels.Ptr]int{}}
	d.cmd.Stderr = &d.stderr
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	d.out = bufio.NewReaderSize(out, 1<<16)
	return d, d.cmd.Start()
}

// Close ends the helper.
func (d *Device) Close() error {
	d.in.Close()
	return d.cmd.Wait()
}

// Live returns the number of allocations that have not been freed.
func (d *Device) Live() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.live)
}

// FailAlloc makes the n-th allocation from now on fail, n ≥ 1, once.
func (d *Device) FailAlloc(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failIn = n
}

// call sends an operation with its words and trailing bytes, and reads reply.
func (d *Device) call(op byte, words []uint64, tail []byte, reply []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.send(op, words, tail, reply)
}

func (d *Device) send(op byte, words []uint64, tail []byte, reply []byte) error {
	if d.err != nil {
		return d.err
	}
	msg := []byte{op}
	for _, w := range words {
		msg = binary.LittleEndian.AppendUint64(msg, w)
	}
	_, err := d.in.Write(append(msg, tail...))
	if err == nil && len(reply) > 0 {
		_, err = io.ReadFull(d.out, reply)
	}
	if err != nil {
		d.in.Close()
		d.err = fmt.Errorf("shim: the helper ended (%v): %s", d.cmd.Wait(), d.stderr.String())
	}
	return d.err
}

// Name implements kernels.Device.
func (d *Device) Name() string { return "host shim" }

// Multiprocessors implements kernels.Device.
func (d *Device) Multiprocessors() int { return 2 }

// Alloc implements kernels.Device.
func (d *Device) Alloc(n int) (kernels.Ptr, error) {
	if n <= 0 {
		return 0, fmt.Errorf("shim: allocation of %d bytes", n)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failIn > 0 {
		if d.failIn--; d.failIn == 0 {
			return 0, fmt.Errorf("%w: injected", kernels.ErrMemory)
		}
	}
	var r [8]byte
	if err := d.send('a', []uint64{uint64(n)}, nil, r[:]); err != nil {
		return 0, err
	}
	p := kernels.Ptr(binary.LittleEndian.Uint64(r[:]))
	if p == 0 {
		return 0, fmt.Errorf("%w: %d bytes", kernels.ErrMemory, n)
	}
	d.live[p] = n
	return p, nil
}

// Free implements kernels.Device.
func (d *Device) Free(p kernels.Ptr) {
	if p == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.live, p)
	_ = d.send('f', []uint64{uint64(p)}, nil, nil) // the error is sticky
}

// Upload implements kernels.Device.
func (d *Device) Upload(dst kernels.Ptr, src []byte) error {
	return d.call('u', []uint64{uint64(dst), uint64(len(src))}, src, nil)
}

// Download implements kernels.Device.
func (d *Device) Download(dst []byte, src kernels.Ptr) error {
	return d.call('d', []uint64{uint64(src), uint64(len(dst))}, nil, dst)
}

// Copy implements kernels.Device.
func (d *Device) Copy(dst, src kernels.Ptr, n int) error {
	return d.call('c', []uint64{uint64(dst), uint64(src), uint64(n)}, nil, nil)
}

// Clear implements kernels.Device.
func (d *Device) Clear(dst kernels.Ptr, n int) error {
	return d.call('z', []uint64{uint64(dst), uint64(n)}, nil, nil)
}

// Launch implements kernels.Device.
func (d *Device) Launch(k kernels.Kernel, l kernels.Launch, args ...uint64) error {
	if l.GridX < 1 || l.GridY < 0 || l.Block < 1 || l.Block > 1024 || l.Shared < 0 || len(args) > maxArgs {
		return fmt.Errorf("shim: launch of %s as %+v with %d arguments", k.Name, l, len(args))
	}
	tail := []byte(k.Name)
	for _, w := range []int{l.GridX, max(l.GridY, 1), l.Block, l.Shared, len(args)} {
		tail = binary.LittleEndian.AppendUint64(tail, uint64(w))
	}
	for _, a := range args {
		tail = binary.LittleEndian.AppendUint64(tail, a)
	}
	var ok [8]byte
	if err := d.call('l', []uint64{uint64(len(k.Name))}, tail, ok[:]); err != nil {
		return fmt.Errorf("%s: %w", k.Name, err)
	}
	if ok[0] == 0 {
		return fmt.Errorf("shim: no kernel %q", k.Name)
	}
	return nil
}

// maxArgs is MAX_ARGS of shim.cc.
const maxArgs = 24

// Sync implements kernels.Device. Every call is synchronous.
func (d *Device) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// Time implements kernels.Device, by the host's clock.
func (d *Device) Time(f func() error) (time.Duration, error) {
	start := time.Now()
	err := f()
	return time.Since(start), err
}
