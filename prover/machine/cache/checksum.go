package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"hash/crc32"
	"sync"
)

// checksum detects damage: it is the SHA-256 over the CRC-32Cs of all pieces, in order. CRC-32C
// reads hundreds of megabytes of weights at the speed of memory. The checksum does not protect
// against someone who can write to the folder and computes it anew, but no unkeyed checksum does;
// a proof made from weights that are not the key's does not verify.
type checksum struct {
	pieces hash.Hash
	crc    uint32
	n      int // bytes of the piece so far
}

// pieceSize is the length in bytes of all pieces but the last.
const pieceSize = 1 << 16

var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

func newChecksum() *checksum { return &checksum{pieces: sha256.New()} }

// Write adds bytes. It never fails.
func (c *checksum) Write(b []byte) (int, error) {
	all := len(b)
	for len(b) > 0 {
		part := b[:min(len(b), pieceSize-c.n)]
		c.crc, c.n = crc32.Update(c.crc, castagnoli(), part), c.n+len(part)
		if c.n == pieceSize {
			c.end()
		}
		b = b[len(part):]
	}
	return all, nil
}

// end ends a piece: it hashes the piece's CRC and begins the next one.
func (c *checksum) end() {
	c.pieces.Write(binary.LittleEndian.AppendUint32(nil, c.crc))
	c.crc, c.n = 0, 0
}

// sum returns the checksum of what was written. Nothing may be written afterwards.
func (c *checksum) sum() (s [sha256.Size]byte) {
	c.end()
	c.pieces.Sum(s[:0])
	return s
}
