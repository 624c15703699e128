package proof

import "fmt"

// Version 1 had chunks and the parameters of the opening in the key.
// Its files are read by this release, and by none after it.
const releaseOfVersion1 = "v0.1"

// wrongVersion says which program reads a file of another version.
func wrongVersion(got, reads uint32) error {
	if got == 1 {
		return fmt.Errorf("version 1: prove-model %s reads it, this program reads version %d", releaseOfVersion1, reads)
	}
	return fmt.Errorf("version %d, this program reads version %d", got, reads)
}
