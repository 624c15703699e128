//go:build !amd64 || purego

package bytedot

import "github.com/prove-model/prove-model/prover/math/field"

var fast = false

// Fast says whether the processor multiplies bytes so quickly that sums of bytes pay.
func Fast() bool { return fast }

func packFast([]byte, []field.QM31) int { return 0 }

func placeFast([]byte, int, []int8) int { return 0 }

func dotsFast(*[MaxRows][pieces]int32, int, []byte, []byte) int { return 0 }

func splitFast([]int8, []int32) (int, int32) { return 0, 0 }

func joinFast([]int32, []int8) int { return 0 }
