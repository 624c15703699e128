//go:build !amd64 || purego

package matmul

import "github.com/prove-model/prove-model/prover/math/ints"

func intRowsFast[T ints.Integer]([]int64, []int32, []T, int) int { return 0 }
func floatRowsFast([]float64, []float64, []float64, int) int     { return 0 }
func intDotFast[T ints.Integer](a []int32, b []T) (int, int64)   { return 0, 0 }
func pairRowsFast([]int64, []int16, []int16, int) int            { return 0 }
func inPairsFast() bool                                          { return false }

// dot32 is intDot of numbers of 32 bits.
func dot32(a, b []int32) int64 { return intDotGeneric(a, b) }

func pairDotFast[T int8 | int16]([]int16, []T, int64) (int, int64) { return 0, 0 }
