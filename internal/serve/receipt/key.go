package receipt

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/prove-model/prove-model/internal/atomicfile"
	"github.com/prove-model/prove-model/internal/must"
)

// OpenKey reads the private key that a server signs receipts with from a PEM file. If there is no such file it makes a
// key and the file.
func OpenKey(path string) (_ ed25519.PrivateKey, err error) {
	defer must.Catch(&err)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKey(path)
	}
	must.OK(err)
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%s: it is no PEM file", path)
	}
	parsed := must.GetAs(x509.ParsePKCS8PrivateKey(block.Bytes))("%s", path)
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s: it is no Ed25519 key", path)
	}
	return key, nil
}

func makeKey(path string) (_ ed25519.PrivateKey, err error) {
	defer must.Catch(&err)
	_, key, err := ed25519.GenerateKey(rand.Reader)
	must.OK(err)
	der := must.Get(x509.MarshalPKCS8PrivateKey(key))
	// Complete, and nobody else's to read, before it has its name.
	f := must.Get(os.CreateTemp(filepath.Dir(path), filepath.Base(path)+atomicfile.TempSuffix))
	defer os.Remove(f.Name())
	err = pem.Encode(f, &pem.Block{Type: "PRIVATE KEY", Bytes: der})
	must.OK(errors.Join(err, f.Sync(), f.Close()))
	// Another server may have made a key since this one has looked for it: a link, unlike a new name, does not replace it.
	if os.Link(f.Name(), path) == nil {
		return key, nil
	}
	if _, err := os.Stat(path); err == nil {
		return OpenKey(path)
	}
	return key, os.Rename(f.Name(), path) // not all file systems have links
}
