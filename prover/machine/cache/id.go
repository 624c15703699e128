package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"io"
)

// ID names an entry by the hash of everything that it was made from.
type ID [sha256.Size]byte

// String returns the ID in hexadecimal.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Hasher builds an ID from named parts, such as the files of a model and the
// options of the quantiser. Different lists of parts give different IDs.
type Hasher struct{ sum hash.Hash }

// NewHasher starts an ID.
func NewHasher() *Hasher {
	h := &Hasher{sha256.New()}
	h.sum.Write(binary.LittleEndian.AppendUint32([]byte(magic), version))
	return h
}

// Add adds a part. It hashes the length of the name, the name and the SHA-256 of the data. The
// length and the fixed size of the digest make this injective: no other part is hashed as the
// same bytes.
func (h *Hasher) Add(name string, data []byte) {
	h.sum.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(name))))
	io.WriteString(h.sum, name)
	digest := sha256.Sum256(data)
	h.sum.Write(digest[:])
}

// ID returns the ID of the parts so far.
func (h *Hasher) ID() ID { return ID(h.sum.Sum(nil)) }
