package shim

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/kernels"
)

// Device is a kernels.Device that runs kernels on the host, in a process of its own.
// After a kernel has done something that it must not do, every call fails with what the
// process said about it.
type Device struct {
	mu     sync.Mutex
	cmd    *exec.Cmd
	in     io.WriteCloser
	w      *bufio.Writer
	r      *bufio.Reader
	said   bytes.Buffer // the process's standard error
	failed error        // set once the process has ended
	groups map[string]uint64
	sizes  map[kernels.Ptr]int
	live   int
}

var _ kernels.Device = (*Device)(nil)

// New starts a device. It compiles the program that runs kernels, unless an earlier
// process has. The error wraps ErrNoCompiler if there is no compiler.
func New() (_ *Device, err error) {
	defer must.Catch(&err)
	path := must.Get(buildRuntime())
	d := &Device{cmd: exec.Command(path), groups: map[string]uint64{}, sizes: map[kernels.Ptr]int{}}
	d.cmd.Stderr = &d.said
	d.in = must.Get(d.cmd.StdinPipe())
	out := must.Get(d.cmd.StdoutPipe())
	d.w, d.r = bufio.NewWriterSize(d.in, 1<<16), bufio.NewReaderSize(out, 1<<16)
	return d, d.cmd.Start()
}

// Close ends the process. Nothing else may be called after it.
func (d *Device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed != nil {
		return nil
	}
	d.failed = errors.New("the device is closed")
	d.in.Close()
	return d.cmd.Wait()
}

// Live returns the bytes that are allocated.
func (d *Device) Live() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.live
}

// broken records that the process has ended and returns why.
func (d *Device) broken(err error) error {
	d.in.Close()
	if e := d.cmd.Wait(); e != nil {
		err = e
	}
	d.failed = fmt.Errorf("host kernels: %w: %s", err, bytes.TrimSpace(d.said.Bytes()))
	return d.failed
}

// enqueue sends a command whose answer has no number.
func (d *Device) enqueue(op byte, down []byte, operands ...any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err := d.do(op, false, down, operands...)
	return err
}

// do sends a command with its operands: numbers, texts and data. It fills down from the
// answer, and returns the number that follows if `answer` is set. The caller holds the
// lock.
func (d *Device) do(op byte, answer bool, down []byte, operands ...any) (_ uint64, err error) {
	defer must.Catch(&err)
	if d.failed != nil {
		return 0, d.failed
	}
	d.w.WriteByte(op)
	for _, o := range operands {
		switch o := o.(type) {
		case uint64:
			d.w.Write(binary.NativeEndian.AppendUint64(nil, o))
		case string:
			d.w.Write(binary.NativeEndian.AppendUint64(nil, uint64(len(o))))
			d.w.WriteString(o)
		case []byte:
			d.w.Write(o)
		default:
			panic(fmt.Sprintf("shim: operand of type %T", o))
		}
	}
	// If writing fails, reading the answer fails too, and reports it.
	d.w.Flush()
	n := d.number()
	if n > 0 {
		message := make([]byte, n)
		d.read(message)
		return 0, fmt.Errorf("host kernels: %s", message)
	}
	d.read(down)
	if answer {
		return d.number(), nil
	}
	return 0, nil
}

// read reads bytes of the answer. If the process has ended, it panics with the reason, which do recovers.
func (d *Device) read(to []byte) {
	if _, err := io.ReadFull(d.r, to); err != nil {
		must.OK(d.broken(err))
	}
}

// number reads a number of the answer.
func (d *Device) number() uint64 {
	var b [8]byte
	d.read(b[:])
	return binary.NativeEndian.Uint64(b[:])
}

// Name returns "host".
func (d *Device) Name() string { return "host" }

// Multiprocessors returns 2: grids are then small, so that threads loop over several elements.
func (d *Device) Multiprocessors() int { return 2 }

// Alloc is described at kernels.Device.
func (d *Device) Alloc(bytes int) (kernels.Ptr, error) {
	if bytes <= 0 {
		return 0, fmt.Errorf("host kernels: allocation of %d bytes", bytes)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	p, err := d.do('a', true, nil, uint64(bytes))
	if err == nil {
		d.sizes[kernels.Ptr(p)] = bytes
		d.live += bytes
	}
	return kernels.Ptr(p), err
}

// Free is described at kernels.Device. Freeing memory that is not allocated makes every
// later call fail.
func (d *Device) Free(p kernels.Ptr) {
	if p == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.do('f', false, nil, uint64(p)); err != nil && d.failed == nil {
		d.broken(err)
	}
	d.live -= d.sizes[p]
	delete(d.sizes, p)
}

// Upload is described at kernels.Device.
func (d *Device) Upload(dst kernels.Ptr, src []byte) error {
	return d.enqueue('u', nil, uint64(dst), uint64(len(src)), src)
}

// Download is described at kernels.Device.
func (d *Device) Download(dst []byte, src kernels.Ptr) error {
	return d.enqueue('d', dst, uint64(src), uint64(len(dst)))
}

// Copy is described at kernels.Device.
func (d *Device) Copy(dst, src kernels.Ptr, bytes int) error {
	return d.enqueue('c', nil, uint64(dst), uint64(src), uint64(bytes))
}

// Clear is described at kernels.Device.
func (d *Device) Clear(dst kernels.Ptr, bytes int) error {
	return d.enqueue('z', nil, uint64(dst), uint64(bytes))
}

// Launch is described at kernels.Device.
func (d *Device) Launch(k kernels.Kernel, l kernels.Launch, args ...uint64) (err error) {
	defer must.Catch(&err)
	d.mu.Lock()
	defer d.mu.Unlock()
	group, ok := d.groups[k.Group]
	if !ok {
		path := must.Get(buildSource(must.Get(kernels.Source(k.Group))))
		group = must.Get(d.do('g', true, nil, path))
		d.groups[k.Group] = group
	}
	data := make([]byte, 0, 8*len(args))
	for _, a := range args {
		data = binary.NativeEndian.AppendUint64(data, a)
	}
	_, err = d.do('l', false, nil, group, k.Name, uint64(l.GridX), uint64(max(l.GridY, 1)), uint64(l.Block), uint64(l.Shared),
		uint64(len(args)), data)
	return err
}

// Sync does nothing: every operation is done when its call returns.
func (d *Device) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// Time returns how long f took.
func (d *Device) Time(f func() error) (time.Duration, error) {
	start := time.Now()
	err := f()
	return time.Since(start), err
}

// NewResultBuffer is described at kernels.Device.
func (d *Device) NewResultBuffer(words int) (kernels.ResultBuffer, error) {
	return kernels.NewDeviceBuffer(d, words)
}
