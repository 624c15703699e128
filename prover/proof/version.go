package proof

import "fmt"

// lastReleases names, by the version of keys and proofs, the last release that
// reads it: what a holder of such files needs to know.
var lastReleases = map[uint32]string{1: "v0.1"}

// refuseVersion is the error for files of another version than the one that is
// read here.
func refuseVersion(got, read uint32) error {
	if release := lastReleases[got]; release != "" && got < read {
		return fmt.Errorf("version %d, which prove-model %s reads; this program reads version %d", got, release, read)
	}
	return fmt.Errorf("version %d, this program reads version %d", got, read)
}
