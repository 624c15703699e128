package golden

import (
	"os"
	"path/filepath"
	"strings"
)

// Linked are two keys that hide weights, and a link of them, as in a folder of testdata/links. Package prover makes them, and with
// them some that a dishonest prover made of keys of different weights.
type Linked struct {
	Name               string
	Former, Renewed    []byte // keys
	Link               []byte
	OfDifferentWeights bool
}

// ReadLinks reads the links of a folder like testdata/links.
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
