package proof

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math/bits"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// Reader streams a proof file in the order of Writer: NewReader, Limit, Public, Next
// for each frame of the plan, End. Errors of the bytes wrap ErrMalformed. A proof
// has been read only when End has returned nil.
type Reader struct {
	buf    *bufio.Reader
	sum    hash.Hash // of everything read
	limits Limits
	size   int64
	header Header
	room   bytes.Buffer // for a frame as it is in the file
	last   frame        // the one that was read last
	prefix [10]byte     // room for the length of a frame
	whole  int64        // bytes that there are at most, 0 if that is not known
}

// NewReader reads magic and header. The plan of the proof follows from the key and
// the header; nothing more is read before Limit.
func NewReader(r io.Reader) (*Reader, error) {
	p := &Reader{buf: bufio.NewReaderSize(r, readBuffer), sum: sha256.New(), limits: Limits{Tensors: maxHeaderLevels + maxReveals + maxTrees + 1}, whole: sizeOf(r)}
	if err := p.readHeader(); err != nil {
		return nil, fmt.Errorf("proof: %w", err)
	}
	return p, nil
}

// sizeOf returns how many bytes a reader has at most, 0 if it does not say.
func sizeOf(r io.Reader) int64 {
	switch r := r.(type) {
	case interface{ Len() int }:
		return int64(r.Len())
	case interface{ Stat() (fs.FileInfo, error) }:
		if info, err := r.Stat(); err == nil && info.Mode().IsRegular() {
			return info.Size()
		}
	}
	return 0
}

// Limit sets what follows the header.
func (p *Reader) Limit(l Limits) { p.limits = l }

func (p *Reader) readHeader() error {
	var magic [len(ProofMagic)]byte
	n, err := io.ReadFull(p.buf, magic[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("reading the header: %w", err)
	}
	if string(magic[:n]) != ProofMagic {
		return malformed("not a prove-model proof")
	}
	p.sum.Write(magic[:])
	p.size = int64(len(magic))
	f, err := p.frame("the header", maxHeader)
	if err != nil {
		return err
	}
	if f.header == nil {
		return malformed("no header")
	}
	p.header = *f.header
	if l, r, t := len(p.header.Levels), len(p.header.Reveals), len(p.header.Trees); l > maxHeaderLevels || r > maxReveals || t > maxTrees {
		return malformed("the header: too many messages: %d levels, %d reveals and %d trees, at most %d, %d and %d", l, r, t, maxHeaderLevels, maxReveals, maxTrees)
	}
	return nil
}

// Header returns the header. Whether it suits the key is for the caller to check.
func (p *Reader) Header() *Header { return &p.header }

// Size returns the number of bytes read so far.
func (p *Reader) Size() int64 { return p.size }

// Public reads the values of the graph's inputs and outputs, of which each is in the
// range of its tensor.
func (p *Reader) Public(g *model.Graph) (inputs, outputs [][]int32, err error) {
	f, err := p.frame("the public values", p.limits.Public)
	if err != nil {
		return nil, nil, fmt.Errorf("proof: %w", err)
	}
	if f.public == nil {
		return nil, nil, fmt.Errorf("proof: %w", malformed("no public values after the header"))
	}
	if inputs, err = decodeValues(g, g.Given(), f.public.inputs); err != nil {
		return nil, nil, fmt.Errorf("proof: inputs: %w", err)
	}
	if outputs, err = decodeValues(g, g.Outputs, f.public.outputs); err != nil {
		return nil, nil, fmt.Errorf("proof: outputs: %w", err)
	}
	for i := range g.Reveals {
		r := &g.Reveals[i]
		if err := r.CheckStated(outputs[r.Place]); err != nil {
			return nil, nil, fmt.Errorf("proof: outputs: %w", malformed("tensor %d: %w", r.Place, err))
		}
	}
	return inputs, outputs, nil
}

func decodeValues(g *model.Graph, ids []model.TensorID, list [][]byte) ([][]int32, error) {
	if len(list) != len(ids) {
		return nil, malformed("%d tensors, the key has %d", len(list), len(ids))
	}
	out := make([][]int32, len(ids))
	for i, id := range ids {
		values, err := unpackValues(&g.Tensors[id], list[i])
		if err != nil {
			return nil, malformed("tensor %d: %w", i, err)
		}
		out[i] = values
	}
	return out, nil
}

// Next reads the frame that is due and returns its transcript bytes. There must be
// one.
func (p *Reader) Next() ([]byte, error) {
	due := p.limits.Frames[0]
	p.limits.Frames = p.limits.Frames[1:]
	f, err := p.frame(due.String(), fileBytes(due)+frameOverhead)
	if err != nil {
		return nil, fmt.Errorf("proof: %w", err)
	}
	got, packed, err := f.stream()
	if err != nil {
		return nil, fmt.Errorf("proof: %w", malformed("%s is due: %w", due, err))
	}
	if got.Kind != due.Kind || got.Index != due.Index {
		err = fmt.Errorf("%s where %s is due", got, due)
	}
	if n, want := int64(len(packed)), fileBytes(due); err == nil && (n > want || due.Exact && n != want) {
		err = fmt.Errorf("%s: a stream of %d bytes, %d are due", due, n, want)
	}
	var body []byte
	switch {
	case err != nil:
	case !due.Words:
		if body, err = unpackLimbs(packed); err != nil {
			err = fmt.Errorf("%s: %w", due, err)
		}
	case len(packed)%transcript.LimbBytes != 0:
		err = fmt.Errorf("%s: %w", due, errLimbs)
	default:
		body, p.room = packed, bytes.Buffer{} // which has no other use
	}
	if err != nil {
		return nil, fmt.Errorf("proof: %w", malformed("%w", err))
	}
	return body, nil
}

// End reads the end frame, checks its checksum and that nothing follows.
func (p *Reader) End() error {
	want := p.sum.Sum(nil)
	f, err := p.frame("the end", frameOverhead)
	if err != nil {
		return fmt.Errorf("proof: %w", err)
	}
	if f.end == nil {
		return fmt.Errorf("proof: %w", malformed("a frame after the last one due"))
	}
	if !bytes.Equal(f.end, want) {
		return fmt.Errorf("proof: %w", malformed("checksum does not match: the file is damaged"))
	}
	switch _, err := p.buf.ReadByte(); {
	case err == nil:
		return fmt.Errorf("proof: %w", malformed("bytes after the end"))
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("proof: reading the end: %w", err)
	}
	return nil
}

// frame reads and decodes a frame, which is valid until the next one.
func (p *Reader) frame(what string, limit int64) (*frame, error) {
	b, err := p.bytes(what, limit)
	if err != nil {
		return nil, err
	}
	f := &p.last
	*f = frame{}
	if err := frameMessage.Decode(b, f, p.limits.messages()); err != nil {
		return nil, malformed("%s: %w", what, err)
	}
	return f, nil
}

// bytes reads a length of at most limit and that many bytes, which are valid until the
// next frame.
func (p *Reader) bytes(what string, limit int64) ([]byte, error) {
	n, err := p.length(what, limit)
	if err != nil {
		return nil, err
	}
	// Beyond two megabytes, or what a file has, the buffer grows with what arrives, not with
	// what the length promises.
	b := &p.room
	b.Reset()
	b.Grow(int(min(n, uint64(max(2<<20, p.whole)))) + bytes.MinRead)
	if _, err := io.CopyN(b, p.buf, int64(n)); err != nil {
		return nil, readError(err, what)
	}
	p.sum.Write(b.Bytes())
	p.size += int64(n)
	return b.Bytes(), nil
}

// length reads the varint before a frame.
func (p *Reader) length(what string, limit int64) (uint64, error) {
	var v uint64
	raw := p.prefix[:0]
	for {
		c, err := p.buf.ReadByte()
		if err != nil {
			return 0, readError(err, what)
		}
		v |= uint64(c&0x7f) << (7 * len(raw))
		raw = append(raw, c)
		if c < 0x80 {
			break
		}
		if len(raw) == 9 { // 63 bits: over any limit
			return 0, malformed("%s: length does not end", what)
		}
	}
	if len(raw) != max(1, (bits.Len64(v)+6)/7) {
		return 0, malformed("%s: length is not minimal", what)
	}
	if v > uint64(limit) {
		return 0, malformed("%s: frame of %d bytes is over the limit of %d", what, v, limit)
	}
	p.sum.Write(raw)
	p.size += int64(len(raw))
	return v, nil
}
