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

// Reader reads a proof file frame by frame, in the order of Writer: NewReader, Limit, Public, Limit with the frames of the
// plan, Next for each of these frames, End. An error that is the fault of the bytes wraps ErrMalformed. The caller must not
// accept a proof before End has returned nil.
type Reader struct {
	buf    *bufio.Reader
	sum    hash.Hash // of everything read
	limits Limits
	size   int64
	header Header
	room   bytes.Buffer // the bytes of the frame that was read last
	last   frame        // the frame that was read last, whose fields are parts of room
	prefix [10]byte     // memory for the bytes of a frame's length
	whole  int64        // the size of the file or of the rest of it, if the underlying reader says it; otherwise 0
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

// sizeOf returns how many bytes a reader has at most: those left of a buffer, or the size of a regular file. It returns 0 for any
// other reader.
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

// Limit sets the limits for the frames that are read next. It is called for the public values once the circuit is known
// (PublicLimits), and again once the plan is known (LimitsFor).
func (p *Reader) Limit(l Limits) { p.limits = l }

// readHeader reads the magic and the header, and bounds the lists in the header. Whether it suits a key is not its concern.
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

// Header returns the header, which the prover has chosen. The caller must check that it suits the key (Key.GraphOf, Key.PlanOf).
func (p *Reader) Header() *Header { return &p.header }

// Size returns the number of bytes read so far.
func (p *Reader) Size() int64 { return p.size }

// Public reads the values that the proof states of the graph's inputs and outputs. It refuses values out of their tensor's range, and
// revealed indexes that are not below the length of a row or occur twice in a row.
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

// decodeValues unpacks the entries of the tensors ids, one element of list each.
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

// Next reads the frame that is due, the first of Limits.Frames, and returns its transcript bytes. It refuses another frame, and a
// stream that is longer than the plan allows. A frame must be due.
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
		body, p.room = packed, bytes.Buffer{} // the caller keeps the memory of room, so the reader takes a new buffer
	}
	if err != nil {
		return nil, fmt.Errorf("proof: %w", malformed("%w", err))
	}
	return body, nil
}

// End reads the end frame, checks its checksum and that nothing follows. The checksum finds damaged files; a hostile prover can
// compute it.
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

// frame reads and decodes a frame of at most limit bytes, and of as many messages as the limits allow. It is valid until the next
// call. what names it in errors.
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
// next call.
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

// length reads the varint before a frame, which is its length in bytes. It refuses a length over limit, and a varint with needless
// bytes, since those would be a second encoding.
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
