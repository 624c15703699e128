package blake3

import "unsafe"

// MaxRows is the most words of a column: those of one chunk.
const MaxRows = ChunkBytes / 4

// lanes is how many messages a block of states has.
const lanes = 16

// states are the chaining values of sixteen messages, word by word.
type states [8][lanes]uint32

// Columns sets dst[j] to the keyed hash of column j of a matrix: of the words rows[0][j], rows[1][j] and so on, each as
// four little-endian bytes. There are 1 to MaxRows rows, each at least as long as dst; anything else is a programmer's
// error and panics.
func Columns[T ~uint32](dst []Digest, key *Key, rows [][]T) {
	if len(rows) == 0 || len(rows) > MaxRows {
		panic("blake3: a column has 1 to 256 words")
	}
	for _, row := range rows {
		_ = row[:len(dst)]
	}
	words := *(*[][]uint32)(unsafe.Pointer(&rows))
	var padded [blockWords][]uint32 // the rows of a last block that is not full
	var zeros [lanes]uint32
	var tail [blockWords][lanes]uint32 // the columns of a last group that is not full
	for at := 0; at < len(dst); at += lanes {
		n := min(lanes, len(dst)-at)
		var s states
		s.start(key)
		for first := 0; first < len(words); first += blockWords {
			block, offset := words[first:min(first+blockWords, len(words))], at
			flags := keyedHash
			if first == 0 {
				flags |= chunkStart
			}
			if first+blockWords >= len(words) {
				flags |= chunkEnd | root
			}
			length := uint32(4 * len(block))
			if n < lanes || len(block) < blockWords {
				for i := range padded {
					padded[i] = zeros[:]
					if i < len(block) {
						copy(tail[i][:], block[i][at:at+n])
						padded[i] = tail[i][:]
					}
				}
				block, offset = padded[:], 0
			}
			s.compress((*[blockWords][]uint32)(block), offset, length, flags)
		}
		s.store(dst[at : at+n])
	}
}

// Parents sets dst[i] to the keyed hash of children[2i] and children[2i+1], 64 bytes. There are twice as many
// children as parents; anything else is a programmer's error and panics.
func Parents(dst []Digest, key *Key, children []Digest) {
	if len(children) != 2*len(dst) {
		panic("blake3: a parent has two children")
	}
	const flags = keyedHash | chunkStart | chunkEnd | root
	var words [blockWords][lanes]uint32
	var rows [blockWords][]uint32
	for i := range rows {
		rows[i] = words[i][:]
	}
	for len(dst) >= lanes {
		transpose(&words, (*[lanes][blockWords]uint32)(unsafe.Pointer(&children[0])))
		var s states
		s.start(key)
		s.compress(&rows, 0, BlockBytes, flags)
		s.store(dst[:lanes])
		dst, children = dst[lanes:], children[2*lanes:]
	}
	for i := range dst {
		pair := (*[blockWords]uint32)(unsafe.Pointer(&children[2*i]))
		out := compress((*[8]uint32)(key), pair, 0, BlockBytes, flags)
		dst[i] = Digest(out[:8])
	}
}

// start sets all states to the beginning of a message.
func (s *states) start(key *Key) {
	for i, w := range key {
		for l := range s[i] {
			s[i][l] = w
		}
	}
}

// store writes the states as digests.
func (s *states) store(dst []Digest) {
	for i := range s {
		for l := range dst {
			dst[l][i] = s[i][l]
		}
	}
}

// compressGeneric compresses a block of each message; word i of message l's block is rows[i][offset+l].
func (s *states) compressGeneric(rows *[blockWords][]uint32, offset int, length, flags uint32) {
	for l := range lanes {
		var cv [8]uint32
		var m [blockWords]uint32
		for i := range cv {
			cv[i] = s[i][l]
		}
		for i := range m {
			m[i] = rows[i][offset+l]
		}
		out := compress(&cv, &m, 0, length, flags)
		for i := range cv {
			s[i][l] = out[i]
		}
	}
}

// transposeGeneric sets dst to the transpose of src.
func transposeGeneric(dst *[blockWords][lanes]uint32, src *[lanes][blockWords]uint32) {
	for l := range src {
		for i, w := range src[l] {
			dst[i][l] = w
		}
	}
}
