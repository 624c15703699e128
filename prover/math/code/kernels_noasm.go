//go:build !amd64 || purego

package code

// Without assembly no kernel is called.

func radix2Vec(dst, src *uint32, half, count uint64, t *uint32)        {}
func radix4Vec(dst, src *uint32, quarter, count uint64, t, t2 *uint32) {}
func last1(dst *uint32, groups uint64, t, t2, t4, t8 *uint32)          {}
