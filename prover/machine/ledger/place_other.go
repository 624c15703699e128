//go:build !linux && !darwin

package ledger

import "os"

// lock fails: without a place (placeOf) nothing can be counted on these systems.
func lock(*os.File) error { return errPlace }

// placeOf fails.
func placeOf(*os.File) (place, error) { return place{}, errPlace }
