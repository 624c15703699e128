//go:build !amd64 || purego

package field

// Without assembly there are no blocks of vectors, and no kernel is called.

func addVec(*uint32, *uint32, *uint32, uint64)                                             {}
func subVec(*uint32, *uint32, *uint32, uint64)                                             {}
func mulVec(*uint32, *uint32, *uint32, uint64)                                             {}
func scaleVec(*uint32, *uint32, uint32, uint64)                                            {}
func fromInt32Vec(*uint32, *int32, uint64)                                                 {}
func foldVec(*uint32, *uint32, *uint32, *[6][2]uint64, uint64)                             {}
func eqVec(*uint32, *uint32, *[6][2]uint64, uint64)                                        {}
func mulQM31Vec(*uint32, *uint32, *uint32, uint64)                                         {}
func dot(*[4]uint64, *uint32, *uint32, uint64)                                             {}
func mulAccVec(*uint32, *uint32, *uint32, uint64)                                          {}
func mulAccInt32Vec(*uint32, *int32, *uint32, uint64)                                      {}
func dotM31(*[4]uint64, *uint32, *uint32, uint64)                                          {}
func dotInt32(*[4]uint64, *int32, *uint32, uint64)                                         {}
func foldM31Vec(*uint32, *uint32, *uint32, *uint32, uint64)                                {}
func embedVec(*uint32, *uint32, uint64)                                                    {}
func subInt32Vec(*uint32, *int32, *uint32, uint64)                                         {}
func roundSums(*[2][4]uint64, *uint32, *uint32, *uint32, *uint32, uint64)                  {}
func roundSumsWeighted(*[2][4]uint64, *uint32, *uint32, *uint32, *uint32, *uint32, uint64) {}
func fractionRoundSums(*[2][4]uint64, *uint32, *uint32, *uint32, *uint32, *uint32, *uint32, *uint32, *uint32, *uint32, uint64) {
}
func addFractions(*uint32, *uint32, *uint32, *uint32, *uint32, *uint32, uint64)    {}
func addFractionsM31(*uint32, *uint32, *uint32, *uint32, *uint32, *uint32, uint64) {}
func mulAccQM31Vec(*uint32, *uint32, *[6][2]uint64, uint64)                        {}
