//go:build !linux && !darwin

package ledger

import "os"

// lock fails: what else there is has no place, so nothing is counted.
func lock(*os.File) error { return errPlace }

// placeOf fails.
func placeOf(*os.File) (place, error) { return place{}, errPlace }
