//go:build !amd64 || purego

package ints

func widen8Fast([]int32, []int8) int   { return 0 }
func widen16Fast([]int32, []int16) int { return 0 }

func narrowFast[T int8 | int16]([]T, []int32) (int, bool) { return 0, true }
func roundFast([]int32, []float32, float32, int) int      { return 0 }
