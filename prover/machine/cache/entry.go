package cache

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unsafe"

	"github.com/prove-model/prove-model/prover/math/hash"
)

// Entry is what is kept under an ID. Any part may be empty.
type Entry struct {
	// Key is an encoded key (proof.EncodeKey).
	Key []byte
	// Extra is data of the caller, such as ranges. Put writes the parts of More directly after
	// it, so that a caller need not join large parts itself. Get returns all of it in Extra.
	Extra []byte
	More  [][]byte
	// Layers are those of the tree of the fixed tensors, leaves first
	// (merkle.Tree.Layers): 2^n digests, then 2^(n−1), … then the root. Empty
	// if the model has no fixed tensors.
	Layers [][]hash.Digest
}

// A file consists of: magic, version (32 bits), the entry's ID, the lengths of Key and Extra and
// the number of layers (64 bits each), Key, Extra, zeros up to a multiple of a digest's size, the
// digests, and the checksum of all before it. Integers are little-endian.
const (
	magic      = "PM.cch\r\n"
	version    = 3
	headerSize = len(magic) + 4 + sha256.Size + 3*8
	digestSize = hash.DigestBytes
	// maxLayers is the number of layers of a tree over the largest domain, 2^29.
	maxLayers = 30
	// batch is how many digests are converted at a time.
	batch = 1 << 11
)

var errDamaged = errors.New("damaged cache entry")

// writeEntry writes the file of an entry.
func writeEntry(w io.Writer, id ID, e *Entry) error {
	if len(e.Layers) > maxLayers {
		return fmt.Errorf("%d layers are over %d", len(e.Layers), maxLayers)
	}
	for i, l := range e.Layers {
		if len(l) != 1<<(len(e.Layers)-1-i) {
			return fmt.Errorf("layer %d of %d has %d digests", i, len(e.Layers), len(l))
		}
	}
	sum := newChecksum()
	out := bufio.NewWriterSize(io.MultiWriter(w, sum), batch*digestSize)
	b := binary.LittleEndian.AppendUint32([]byte(magic), version)
	b = append(b, id[:]...)
	extra := len(e.Extra)
	for _, part := range e.More {
		extra += len(part)
	}
	for _, n := range []int{len(e.Key), extra, len(e.Layers)} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	// The buffered writer keeps its first error for Flush.
	out.Write(b)
	out.Write(e.Key)
	out.Write(e.Extra)
	for _, part := range e.More {
		out.Write(part)
	}
	out.Write(make([]byte, padding(uint64(len(e.Key)), uint64(extra), uint64(len(e.Layers)))))
	for _, layer := range e.Layers {
		for len(layer) > 0 {
			n := min(batch, len(layer))
			out.Write(appendDigests(out.AvailableBuffer(), layer[:n]))
			layer = layer[n:]
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	last := sum.sum()
	_, err := w.Write(last[:])
	return err
}

// readEntry reads the entry from a file of the given size. It checks all lengths against the
// size before it allocates. If whole has the bytes of the file, Extra and Layers are parts of whole.
func readEntry(r io.Reader, size int64, id ID, whole []byte) (*Entry, error) {
	sum := newChecksum()
	in := &entryReader{bufio.NewReaderSize(io.TeeReader(io.LimitReader(r, size-sha256.Size), sum), batch*digestSize), whole, 0}
	key, extra, layers, err := in.header(size, id)
	if err != nil {
		return nil, err
	}
	e := new(Entry)
	if e.Key, err = in.copied(key); err != nil {
		return nil, err
	}
	if e.Extra, err = in.part(extra); err != nil {
		return nil, err
	}
	if err := in.zeros(padding(key, extra, layers)); err != nil {
		return nil, err
	}
	for n := int(layers) - 1; n >= 0; n-- {
		layer, err := in.digests(1 << n)
		if err != nil {
			return nil, err
		}
		e.Layers = append(e.Layers, layer)
	}
	var want [sha256.Size]byte
	if _, err := io.ReadFull(r, want[:]); err != nil {
		return nil, err
	}
	if sum.sum() != want {
		return nil, fmt.Errorf("%w: checksum does not match", errDamaged)
	}
	return e, nil
}

// An entryReader reads the parts of an entry's file, one after the other.
type entryReader struct {
	in    *bufio.Reader // all of the file but its checksum; what is read is added to the computed checksum
	whole []byte        // the bytes of the file, nil if they are not in memory
	at    uint64        // how many bytes have been read
}

// header reads the part before the key. It returns the lengths of Key and Extra and the number of layers, and fails if the file has
// another ID or version, or if the lengths do not add up to its size.
func (r *entryReader) header(size int64, id ID) (key, extra, layers uint64, err error) {
	h, err := r.copied(uint64(headerSize))
	if err != nil {
		return 0, 0, 0, err
	}
	if string(h[:len(magic)]) != magic || binary.LittleEndian.Uint32(h[len(magic):]) != version {
		return 0, 0, 0, fmt.Errorf("%w: not of this version", errDamaged)
	}
	h = h[len(magic)+4:]
	if ID(h[:sha256.Size]) != id {
		return 0, 0, 0, fmt.Errorf("%w: not of this ID", errDamaged)
	}
	h = h[sha256.Size:]
	key, extra, layers = binary.LittleEndian.Uint64(h), binary.LittleEndian.Uint64(h[8:]), binary.LittleEndian.Uint64(h[16:])
	digests := uint64(1)<<min(layers, 63) - 1
	rest := uint64(size - sha256.Size - int64(headerSize))
	if key > rest || extra > rest-key || layers > maxLayers || digests*digestSize+padding(key, extra, layers) != rest-key-extra {
		return 0, 0, 0, fmt.Errorf("%w: lengths do not match its size", errDamaged)
	}
	return key, extra, layers, nil
}

// copied reads n bytes into memory of their own.
func (r *entryReader) copied(n uint64) ([]byte, error) {
	b := make([]byte, n)
	_, err := io.ReadFull(r.in, b)
	r.at += n
	return b, err
}

// part reads n bytes. If the file is in memory, it returns them there, without a copy.
func (r *entryReader) part(n uint64) ([]byte, error) {
	if r.whole == nil {
		return r.copied(n)
	}
	return r.whole[r.at : r.at+n : r.at+n], r.skip(n)
}

// skip reads n bytes for the checksum alone.
func (r *entryReader) skip(n uint64) error {
	_, err := io.CopyN(io.Discard, r.in, int64(n))
	r.at += n
	return err
}

// zeros reads n bytes, which must be zero.
func (r *entryReader) zeros(n uint64) error {
	b, err := r.copied(n)
	if err != nil || !bytes.Equal(b, make([]byte, n)) {
		return errors.Join(errDamaged, err)
	}
	return nil
}

// digests reads n digests. If the file is in memory and the processor can read digests as they lie there, it does not copy them.
func (r *entryReader) digests(n int) ([]hash.Digest, error) {
	size := uint64(n) * digestSize
	if r.whole != nil {
		if list, ok := digestsIn(r.whole[r.at:], n); ok {
			return list, r.skip(size)
		}
	}
	list := make([]hash.Digest, n)
	r.at += size
	return list, readDigests(r.in, list)
}

// padding returns the number of zeros before the digests: they begin at a multiple of their size, so they are aligned in a mapped file.
// It is 0 if there are no digests.
func padding(key, extra, layers uint64) uint64 {
	if layers == 0 {
		return 0
	}
	return -(uint64(headerSize) + key + extra) & (digestSize - 1)
}

// appendDigests appends digests to b as a file has them.
func appendDigests(b []byte, digests []hash.Digest) []byte {
	for i := range digests {
		for _, l := range digests[i] {
			b = binary.LittleEndian.AppendUint32(b, l)
		}
	}
	return b
}

// digestsIn returns the first n digests in b, which are bytes of a file, without a copy. It reports false unless the processor is
// little-endian, as the file is, and b is long enough and aligned for digests.
func digestsIn(b []byte, n int) ([]hash.Digest, bool) {
	one := [2]byte{1}
	little := binary.NativeEndian.Uint16(one[:]) == 1
	if !little || len(b) < n*digestSize || uintptr(unsafe.Pointer(unsafe.SliceData(b)))%unsafe.Alignof(hash.Digest{}) != 0 {
		return nil, false
	}
	return unsafe.Slice((*hash.Digest)(unsafe.Pointer(unsafe.SliceData(b))), n), true
}

// readDigests reads len(dst) digests.
func readDigests(r io.Reader, dst []hash.Digest) error {
	buf := make([]byte, min(batch, len(dst))*digestSize)
	for len(dst) > 0 {
		n := min(batch, len(dst))
		if _, err := io.ReadFull(r, buf[:n*digestSize]); err != nil {
			return err
		}
		for i := range dst[:n] {
			for j := range dst[i] {
				dst[i][j] = binary.LittleEndian.Uint32(buf[i*digestSize+4*j:])
			}
		}
		dst = dst[n:]
	}
	return nil
}
