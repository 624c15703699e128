package proof

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"github.com/prove-model/prove-model/prover/proof/proofpb"
)

// Writer streams a proof file: NewWriter, WritePublic, WriteFrame for
// commitments, every chunk, io and opening, then Close. A call out of this
// order is an error, and so is every call after an error.
type Writer struct {
	out    sink
	seq    sequence
	public bool
	closed bool
	err    error
}

// sink buffers, hashes and counts.
type sink struct {
	buf  *bufio.Writer
	sum  hash.Hash
	size int64
}

func (s *sink) Write(b []byte) (int, error) {
	s.sum.Write(b)
	n, err := s.buf.Write(b)
	s.size += int64(n)
	return n, err
}

// NewWriter writes the header to w. Nothing is sure to have reached w before
// Close.
func NewWriter(w io.Writer, h *Header) (*Writer, error) {
	p := &Writer{out: sink{buf: bufio.NewWriterSize(w, writeBuffer), sum: sha256.New()}}
	if _, err := p.out.Write([]byte(ProofMagic)); err != nil {
		return nil, fmt.Errorf("writing the proof: %w", err)
	}
	p.frame(&proofpb.Frame{Body: &proofpb.Frame_Header{Header: encodeHeader(h)}})
	return p, p.err
}

func (p *Writer) frame(f *proofpb.Frame) {
	if p.err != nil {
		return
	}
	opts := protodelim.MarshalOptions{MarshalOptions: proto.MarshalOptions{Deterministic: true}}
	if _, err := opts.MarshalTo(&p.out, f); err != nil {
		p.err = fmt.Errorf("writing the proof: %w", err)
	}
}

func (p *Writer) refuse(err error) error {
	if p.err == nil {
		p.err = fmt.Errorf("writing the proof: %w", err)
	}
	return p.err
}

// WritePublic writes the values of the graph's inputs and outputs, in order
// and row-major each.
func (p *Writer) WritePublic(inputs, outputs [][]int32) error {
	if p.public {
		return p.refuse(errors.New("public values twice"))
	}
	p.public = true
	public := &proofpb.Public{Inputs: encodeValues(inputs), Outputs: encodeValues(outputs)}
	p.frame(&proofpb.Frame{Body: &proofpb.Frame_Public{Public: public}})
	return p.err
}

func encodeValues(tensors [][]int32) []*proofpb.Values {
	out := make([]*proofpb.Values, len(tensors))
	for i, t := range tensors {
		out[i] = &proofpb.Values{Values: t}
	}
	return out
}

// WriteFrame writes transcript bytes. index is the chunk's, 0 for other kinds.
func (p *Writer) WriteFrame(kind FrameKind, index int, body []byte) error {
	if !p.public {
		return p.refuse(errors.New("public values come first"))
	}
	if err := p.seq.next(kind, index); err != nil {
		return p.refuse(err)
	}
	p.frame(encodeFrame(kind, index, body))
	return p.err
}

// Close writes the end frame and flushes. It does not close the underlying
// writer.
func (p *Writer) Close() error {
	if p.closed {
		return p.refuse(errors.New("closed twice"))
	}
	p.closed = true
	if err := p.seq.end(); err != nil {
		return p.refuse(err)
	}
	p.frame(&proofpb.Frame{Body: &proofpb.Frame_End{End: p.out.sum.Sum(nil)}})
	if p.err == nil {
		if err := p.out.buf.Flush(); err != nil {
			p.err = fmt.Errorf("writing the proof: %w", err)
		}
	}
	return p.err
}

// Size returns the number of bytes written so far.
func (p *Writer) Size() int64 { return p.out.size }
