package proof

import "fmt"

// Version is the version of keys and proofs, one for both: a proof belongs to a key, and whoever reads one reads the other.
const Version = 4

// lastReleases names, by the version of keys and proofs, the last release that
// reads it: what a holder of such files needs to know. Keys of version 2 have proofs
// of version 3.
var lastReleases = map[uint32]string{1: "v0.1", 2: "v0.2", 3: "v0.2"}

// refuseVersion is the error for files of another version than the one that is
// read here.
func refuseVersion(got uint32) error {
	if release := lastReleases[got]; release != "" && got < Version {
		return fmt.Errorf("version %d, which prove-model %s reads; this program reads version %d (docs/versions.md says how keys and proofs are issued again)",
			got, release, Version)
	}
	return fmt.Errorf("version %d, this program reads version %d", got, Version)
}
