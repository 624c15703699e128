//go:build !amd64 || purego

package matmul

// Without assembly no kernel is called (prefix).

func intRowsOf8(*int64, uint64, *int32, uint64, *int8, uint64)          {}
func intRowsOf16(*int64, uint64, *int32, uint64, *int16, uint64)        {}
func intRowsOf32(*int64, uint64, *int32, uint64, *int32, uint64)        {}
func floatRowsVec(*float64, uint64, *float64, uint64, *float64, uint64) {}
func pairRowsAVX2(*int64, uint64, *int16, uint64, *int16, uint64)       {}
func pairRowsAVX512(*int64, uint64, *int16, uint64, *int16, uint64)     {}
func intDotOf8(*int32, *int8, uint64) int64                             { return 0 }
func intDotOf16(*int32, *int16, uint64) int64                           { return 0 }
func intDotOf32(*int32, *int32, uint64) int64                           { return 0 }
func pairDotOf8(*int16, *int8, uint64, uint64) int64                    { return 0 }
func pairDotOf16(*int16, *int16, uint64, uint64) int64                  { return 0 }
