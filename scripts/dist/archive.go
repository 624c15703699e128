package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/prove-model/prove-model/internal/must"
)

// file is a file in an archive.
type file struct {
	name       string
	data       []byte
	executable bool
}

func (f file) mode() os.FileMode {
	if f.executable {
		return 0o755
	}
	return 0o644
}

// tarball writes a .tar.gz whose files bear the time at. Its bytes depend only on the arguments.
func tarball(w io.Writer, files []file, at time.Time) {
	z := must.Get(gzip.NewWriterLevel(w, gzip.BestCompression))
	t := tar.NewWriter(z)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Size: int64(len(f.data)), Mode: int64(f.mode()), ModTime: at, Format: tar.FormatUSTAR}
		must.OK(t.WriteHeader(header))
		must.Get(t.Write(f.data))
	}
	must.OK(t.Close())
	must.OK(z.Close())
}

// zipfile writes a .zip in the same way.
func zipfile(w io.Writer, files []file, at time.Time) {
	z := zip.NewWriter(w)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode())
		entry := must.Get(z.CreateHeader(header))
		must.Get(entry.Write(f.data))
	}
	must.OK(z.Close())
}

// checksums writes the SHA-256 of every archive as sha256sum does, and prints them.
func (r *release) checksums() {
	var list bytes.Buffer
	for _, name := range r.archives {
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(must.Get(os.ReadFile(filepath.Join(r.out, name)))), name)
	}
	fmt.Print(list.String())
	must.OK(os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), list.Bytes(), 0o644))
}
