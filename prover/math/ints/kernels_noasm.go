//go:build !amd64 || purego

package ints

// Without assembly no kernel is called (prefix).

func widen8(*int32, *int8, uint64)                       {}
func widen16(*int32, *int16, uint64)                     {}
func narrow8(*int8, *int32, uint64) uint64               { return 0 }
func narrow16(*int16, *int32, uint64) uint64             { return 0 }
func roundVec(*int32, *float32, uint64, float32, uint64) {}
