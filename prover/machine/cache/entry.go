package cache

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unsafe"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/math/hash"
)

// Entry is what is kept under an ID. Any part may be empty.
type Entry struct {
	// Key is an encoded key (proof.EncodeKey).
	Key []byte
	// Extra is the caller's own, such as ranges. Put writes the parts of More after it,
	// which are there so that nobody has to join what is large; Get has all in Extra.
	Extra []byte
	More  [][]byte
	// Layers are those of the tree of the fixed tensors, leaves first
	// (merkle.Tree.Layers): 2^n digests, then 2^(n−1), … then the root. Empty
	// if the model has no fixed tensors.
	Layers [][]hash.Digest
}

// A file is magic, version, the entry's ID, the lengths of Key and Extra, the
// number of layers, Key, Extra, zeros up to a multiple of a digest's size, the digests, and the
// checksum of all that. Integers are little-endian.
const (
	magic      = "PM.cch\r\n"
	version    = 3
	headerSize = len(magic) + 4 + sha256.Size + 3*8
	digestSize = hash.DigestBytes
	// maxLayers is that of a tree over the largest domain, 2^29.
	maxLayers = 30
	// batch is how many digests are converted at a time.
	batch = 1 << 11
)

var errDamaged = errors.New("damaged cache entry")

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

// readEntry reads the entry of a file of the given size. Nothing larger than
// the file is allocated. If whole has the bytes of the file, Extra and Layers are parts of them.
func readEntry(r io.Reader, size int64, id ID, whole []byte) (_ *Entry, err error) {
	defer must.Catch(&err)
	sum := newChecksum()
	in := bufio.NewReaderSize(io.TeeReader(io.LimitReader(r, size-sha256.Size), sum), batch*digestSize)
	key, extra, layers, err := readHeader(in, size, id)
	must.OK(err)
	e := &Entry{Key: make([]byte, key)}
	must.Get(io.ReadFull(in, e.Key))
	if from := uint64(headerSize) + key; whole != nil {
		e.Extra = whole[from : from+extra : from+extra]
		must.Get(io.CopyN(io.Discard, in, int64(extra)))
	} else {
		e.Extra = make([]byte, extra)
		must.Get(io.ReadFull(in, e.Extra))
	}
	for range padding(key, extra, layers) {
		if zero, err := in.ReadByte(); err != nil || zero != 0 {
			return nil, errors.Join(errDamaged, err)
		}
	}
	there := whole
	if whole != nil {
		there = whole[uint64(size)-sha256.Size-digestsOf(layers)*digestSize:]
	}
	for n := int(layers) - 1; n >= 0; n-- {
		layer, inPlace := digestsIn(there, 1<<n)
		if inPlace {
			there = there[digestSize<<n:]
			must.Get(io.CopyN(io.Discard, in, digestSize<<n))
		} else {
			layer = make([]hash.Digest, 1<<n)
			must.OK(readDigests(in, layer))
		}
		e.Layers = append(e.Layers, layer)
	}
	var want [sha256.Size]byte
	must.Get(io.ReadFull(r, want[:]))
	if sum.sum() != want {
		return nil, fmt.Errorf("%w: checksum does not match", errDamaged)
	}
	return e, nil
}

// readHeader reads the lengths of the entry's parts, which fit its size.
func readHeader(in io.Reader, size int64, id ID) (key, extra, layers uint64, err error) {
	var h [headerSize]byte
	if _, err := io.ReadFull(in, h[:]); err != nil {
		return 0, 0, 0, err
	}
	at := len(magic)
	if string(h[:at]) != magic || binary.LittleEndian.Uint32(h[at:]) != version {
		return 0, 0, 0, fmt.Errorf("%w: not of this version", errDamaged)
	}
	at += 4
	if ID(h[at:at+sha256.Size]) != id {
		return 0, 0, 0, fmt.Errorf("%w: not of this ID", errDamaged)
	}
	at += sha256.Size
	for i, n := range []*uint64{&key, &extra, &layers} {
		*n = binary.LittleEndian.Uint64(h[at+8*i:])
	}
	rest := uint64(size - sha256.Size - int64(headerSize))
	if key > rest || extra > rest-key || layers > maxLayers || digestsOf(layers)*digestSize+padding(key, extra, layers) != rest-key-extra {
		return 0, 0, 0, fmt.Errorf("%w: lengths do not match its size", errDamaged)
	}
	return key, extra, layers, nil
}

// digestsOf is how many digests so many layers of a tree have.
func digestsOf(layers uint64) uint64 { return 1<<min(layers, 63) - 1 }

// padding is how many bytes there are before the digests, so that they lie in the file as in memory.
func padding(key, extra, layers uint64) uint64 {
	if layers == 0 {
		return 0
	}
	return -(uint64(headerSize) + key + extra) & (digestSize - 1)
}

func appendDigests(b []byte, digests []hash.Digest) []byte {
	for i := range digests {
		for _, l := range digests[i] {
			b = binary.LittleEndian.AppendUint32(b, l)
		}
	}
	return b
}

// digestsIn returns the first n digests of the bytes of a file as they lie there, if the processor has them so.
func digestsIn(b []byte, n int) ([]hash.Digest, bool) {
	one := [2]byte{1}
	little := binary.NativeEndian.Uint16(one[:]) == 1
	if !little || len(b) < n*digestSize || uintptr(unsafe.Pointer(unsafe.SliceData(b)))%unsafe.Alignof(hash.Digest{}) != 0 {
		return nil, false
	}
	return unsafe.Slice((*hash.Digest)(unsafe.Pointer(unsafe.SliceData(b))), n), true
}

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
