package proof

import (
	"strings"
	"testing"
)

// Whoever has files of an earlier version is told which release reads them;
// every version of keys before the present one has such a release. No release wrote
// proofs of version 2.
func TestRefuseVersion(t *testing.T) {
	if err := refuseVersion(1, 2).Error(); !strings.Contains(err, lastReleases[1]) || !strings.Contains(err, "version 2") {
		t.Error(err)
	}
	if err := refuseVersion(3, 2).Error(); err != "version 3, this program reads version 2" {
		t.Error(err)
	}
	for v := uint32(1); v < KeyVersion; v++ {
		if lastReleases[v] == "" {
			t.Errorf("no release reads version %d", v)
		}
	}
}
