//go:build !amd64 || purego

package blake3

func (s *states) compress(rows *[blockWords][]uint32, offset int, counter, length, flags uint32) {
	s.compressGeneric(rows, offset, counter, length, flags)
}

func transpose(dst *[blockWords][lanes]uint32, src *[lanes][blockWords]uint32) {
	transposeGeneric(dst, src)
}
