package golden

import (
	"os"
	"path/filepath"
	"strings"
)

// Linked is a case of a folder in testdata/links: two keys that hide weights, and a link between them. Tests of package prover
// write these folders. In some, a dishonest prover has linked keys of different weights.
type Linked struct {
	Name               string
	Former, Renewed    []byte // the two keys, encoded
	Link               []byte
	OfDifferentWeights bool
}

// ReadLinks reads the cases of a folder such as testdata/links.
func ReadLinks(folder string) ([]*Linked, error) {
	return eachFolder(folder, func(folder string) (l *Linked, err error) {
		l = &Linked{Name: "link " + filepath.Base(folder), OfDifferentWeights: strings.HasSuffix(folder, "_different")}
		for name, to := range map[string]*[]byte{"former.vk": &l.Former, keyFile: &l.Renewed, keyFile + ".link": &l.Link} {
			if *to, err = os.ReadFile(filepath.Join(folder, name)); err != nil {
				return nil, err
			}
		}
		return l, nil
	})
}
