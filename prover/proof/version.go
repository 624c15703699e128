package proof

import "fmt"

// Version is the version of the format of keys and of proofs. They share one number, since a proof is read together with its key.
const Version = 4

// lastReleases gives, for each earlier version of the format, the last release that
// reads it, for the error message. Keys of version 2 have proofs of version 3.
var lastReleases = map[uint32]string{1: "v0.1", 2: "v0.2", 3: "v0.2"}

// refuseVersion returns the error for a file of version got, which is not Version.
func refuseVersion(got uint32) error {
	if release := lastReleases[got]; release != "" && got < Version {
		return fmt.Errorf("version %d, which prove-model %s reads; this program reads version %d (docs/versions.md says how keys and proofs are issued again)",
			got, release, Version)
	}
	return fmt.Errorf("version %d, this program reads version %d", got, Version)
}
