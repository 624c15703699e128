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

// Writer streams a proof file: NewWriter, WritePublic, Write for every frame of
// the plan, then Close. A call out of this order is an error, and so is every
// call after an error.
type Writer struct {
	out    sink
	due    []plan.Frame
	public bool
	closed bool
	rooms  [2][]byte // for pieces of a stream as they are in the file
	err    error
}

// sink buffers, hashes and counts.
type sink struct {
	buf  *bufio.Writer
	sum  hash.Hash
	size int64
}

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

// largeWrite is how many bytes are hashed beside being written.
const largeWrite = 1 << 18

// NewWriter writes the header to w; these frames will follow the public values.
// Nothing is sure to have reached w before Close.
func NewWriter(w io.Writer, h *Header, frames []plan.Frame) (*Writer, error) {
	p := &Writer{due: frames, out: sink{buf: bufio.NewWriterSize(w, writeBuffer), sum: sha256.New()}}
	if _, err := p.out.Write([]byte(ProofMagic)); err != nil {
		return nil, fmt.Errorf("writing the proof: %w", err)
	}
	p.frame(&frame{header: h})
	return p, p.err
}

func (p *Writer) frame(f *frame) {
	b := frameMessage.Append(nil, f)
	p.raw(binary.AppendUvarint(nil, uint64(len(b))))
	p.raw(b)
}

func (p *Writer) refuse(err error) error {
	if p.err == nil {
		p.err = fmt.Errorf("writing the proof: %w", err)
	}
	return p.err
}

// WritePublic writes the values of the graph's inputs and outputs, in order and
// row-major each. The error wraps ErrPublic if they are not as many as the tensors have
// entries, or not in their ranges.
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

// Write writes the transcript bytes of the frame that is due.
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
	// The stream goes out piece by piece: an opening may have tens of megabytes.
	p.raw(frameHead(f, int(streamBytes(int64(len(body))))))
	// While one is written and hashed the next one is packed.
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

// packedAtOnce is how many bytes of a stream are packed at once: of eight limbs each as many as
// there may be.
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
