package proof

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// Whoever has files of an earlier version is told which release reads them, and where it says how to
// issue them again; every earlier version has such a release.
func TestRefuseVersion(t *testing.T) {
	for v := uint32(1); v < Version; v++ {
		release := lastReleases[v]
		if release == "" {
			t.Errorf("no release reads version %d", v)
			continue
		}
		key := binary.LittleEndian.AppendUint32([]byte(KeyMagic), v)
		_, keyErr := DecodeKey(append(key, 0))
		header := append([]byte{0x08, byte(v), 0x12, 0x20}, make([]byte, 32)...)
		file := append([]byte(ProofMagic), byte(len(header)+2), 0x0a, byte(len(header)))
		_, proofErr := NewReader(strings.NewReader(string(file) + string(header)))
		for _, err := range []error{keyErr, proofErr} {
			if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "prove-model "+release+" reads") || !strings.Contains(err.Error(), "docs/versions.md") {
				t.Errorf("version %d: %v", v, err)
			}
		}
	}
	if err := refuseVersion(Version + 1).Error(); err != "version 5, this program reads version 4" {
		t.Error(err)
	}
}
