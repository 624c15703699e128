package proof

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// Writer writes a proof file frame by frame: NewWriter, WritePublic, Write for every frame of
// the plan, then Close. A call out of this order is an error, and so is every
// call after an error.
type Writer struct {
	out    sink
	due    []plan.Frame // the frames that are still to be written
	public bool         // whether WritePublic has been called
	closed bool
	rooms  [2][]byte // memory for packed pieces of a stream: one is written while the other is packed
	err    error     // the first error
}

// sink is a buffered writer that hashes and counts what is written.
type sink struct {
	buf  *bufio.Writer
	sum  hash.Hash
	size int64
}

// Write implements io.Writer.
func (s *sink) Write(b []byte) (int, error) {
	var n int
	var err error
	write := func() { n, err = s.buf.Write(b) }
	if len(b) < largeWrite {
		s.sum.Write(b)
		write()
	} else {
		parallel.Do(func() { s.sum.Write(b) }, write)
	}
	s.size += int64(n)
	return n, err
}

// largeWrite is the number of bytes from which on hashing and writing them run in parallel.
const largeWrite = 1 << 18

// NewWriter returns a Writer that has written the header. frames are the frames that must follow the
// public values. The Writer buffers: not all bytes may have reached w before Close.
func NewWriter(w io.Writer, h *Header, frames []plan.Frame) (*Writer, error) {
	p := &Writer{due: frames, out: sink{buf: bufio.NewWriterSize(w, writeBuffer), sum: sha256.New()}}
	if _, err := p.out.Write([]byte(ProofMagic)); err != nil {
		return nil, fmt.Errorf("writing the proof: %w", err)
	}
	p.frame(&frame{header: h})
	return p, p.err
}

// frame writes a frame that is not a stream, behind its length.
func (p *Writer) frame(f *frame) {
	b := frameMessage.Append(nil, f)
	p.raw(binary.AppendUvarint(nil, uint64(len(b))))
	p.raw(b)
}

// refuse remembers err, unless there was an error before, and returns the first error.
func (p *Writer) refuse(err error) error {
	if p.err == nil {
		p.err = fmt.Errorf("writing the proof: %w", err)
	}
	return p.err
}

// WritePublic writes the values that the proof states of the graph's inputs and outputs, in order and
// row-major each. The error wraps ErrPublic if their number is not that of the tensors' entries,
// or if one is out of its tensor's range.
func (p *Writer) WritePublic(g *model.Graph, inputs, outputs [][]int32) error {
	if p.public {
		return p.refuse(errors.New("public values twice"))
	}
	p.public = true
	public := &public{}
	var err error
	if public.inputs, err = encodeValues(g, g.Given(), inputs); err != nil {
		return p.refuse(fmt.Errorf("%w: inputs: %w", ErrPublic, err))
	}
	if public.outputs, err = encodeValues(g, g.Outputs, outputs); err != nil {
		return p.refuse(fmt.Errorf("%w: outputs: %w", ErrPublic, err))
	}
	p.frame(&frame{public: public})
	return p.err
}

// encodeValues packs the entries of the tensors ids.
func encodeValues(g *model.Graph, ids []model.TensorID, values [][]int32) ([][]byte, error) {
	if len(values) != len(ids) {
		return nil, fmt.Errorf("%d tensors, the key has %d", len(values), len(ids))
	}
	out := make([][]byte, len(ids))
	for i, id := range ids {
		packed, err := packValues(&g.Tensors[id], values[i])
		if err != nil {
			return nil, fmt.Errorf("tensor %d: %w", i, err)
		}
		out[i] = packed
	}
	return out, nil
}

// Write writes the frame that is due; body is its stream, transcript.LimbBytes a limb. It is an error if the length of body is not one
// that the plan allows.
func (p *Writer) Write(body []byte) error {
	if !p.public {
		return p.refuse(errors.New("public values come first"))
	}
	if len(p.due) == 0 {
		return p.refuse(errors.New("a frame after the last one due"))
	}
	f := p.due[0]
	p.due = p.due[1:]
	if n := int64(len(body)); n > f.Bytes || f.Exact && n != f.Bytes {
		return p.refuse(fmt.Errorf("%s: a stream of %d bytes, where the plan has %d", f, n, f.Bytes))
	}
	if len(body)%transcript.LimbBytes != 0 {
		return p.refuse(fmt.Errorf("%s: %w", f, errLimbs))
	}
	if f.Words {
		p.raw(frameHead(f, len(body)))
		p.raw(body)
		return p.err
	}
	// The stream is packed and written piece by piece, as an opening may have tens of megabytes.
	p.raw(frameHead(f, int(streamBytes(int64(len(body))))))
	// While one piece is written and hashed the next one is packed.
	var packed []byte
	for n := 0; len(body) > 0 || len(packed) > 0; n++ {
		var next []byte
		var err error
		piece := body[:min(len(body), packedAtOnce)]
		body = body[len(piece):]
		parallel.Do(func() { p.raw(packed) }, func() { next, err = packLimbs(p.rooms[n%2], piece) })
		if err != nil {
			return p.refuse(fmt.Errorf("%s: %w", f, err))
		}
		p.rooms[n%2], packed = next, next
	}
	return p.err
}

// packedAtOnce is how many bytes of a stream are packed at once. It is a multiple of the bytes of eight limbs, so that each piece but
// the last fills whole bytes of the file.
const packedAtOnce = 1 << 20

// raw writes bytes as they are.
func (p *Writer) raw(b []byte) {
	if p.err != nil {
		return
	}
	if _, err := p.out.Write(b); err != nil {
		p.err = fmt.Errorf("writing the proof: %w", err)
	}
}

// Close writes the end frame and flushes. It does not close the underlying
// writer.
func (p *Writer) Close() error {
	if p.closed {
		return p.refuse(errors.New("closed twice"))
	}
	p.closed = true
	if len(p.due) > 0 {
		return p.refuse(fmt.Errorf("the proof ends where %s is due", p.due[0]))
	}
	p.frame(&frame{end: p.out.sum.Sum(nil)})
	if p.err == nil {
		if err := p.out.buf.Flush(); err != nil {
			p.err = fmt.Errorf("writing the proof: %w", err)
		}
	}
	return p.err
}

// Size returns the number of bytes written so far.
func (p *Writer) Size() int64 { return p.out.size }
