//go:build !amd64 || purego

package bytedot

// Without assembly no kernel is called (fast).

func packAVX512(*byte, *uint32, uint64)         {}
func placeAVX512(*byte, *int8, uint64)          {}
func dots8AVX512(*int32, *byte, *byte, uint64)  {}
func dots16AVX512(*int32, *byte, *byte, uint64) {}
func splitAVX512(*int8, *int32, *int32, uint64) {}
func joinAVX512(*int32, *int8, uint64)          {}
