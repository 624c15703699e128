package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"testing"
	"time"
)

var content = []file{{"a/prove-model", []byte("program"), true}, {"a/README.md", []byte("text"), false}}

// Archives hold the files with their modes, and nothing of the time or place where
// they are made.
func TestArchives(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
	for name, write := range map[string]func(io.Writer, []file, time.Time){"tar": tarball, "zip": zipfile} {
		var first, second bytes.Buffer
		write(&first, content, at)
		write(&second, content, at)
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: two archives of the same files differ", name)
		}
		read := readTar
		if name == "zip" {
			read = readZip
		}
		got, err := read(first.Bytes(), at)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(got) != len(content) {
			t.Fatalf("%s: %d files", name, len(got))
		}
		for i, f := range content {
			if got[i].name != f.name || !bytes.Equal(got[i].data, f.data) || got[i].executable != f.executable {
				t.Errorf("%s: got %+v, want %+v", name, got[i], f)
			}
		}
	}
}

func readTar(data []byte, at time.Time) (files []file, err error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		if !h.ModTime.Equal(at) || h.Uname != "" || h.Uid != 0 {
			return nil, io.ErrUnexpectedEOF
		}
		files = append(files, file{h.Name, body, h.Mode&0o100 != 0})
	}
}

func readZip(data []byte, at time.Time) (files []file, err error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		if !f.Modified.Equal(at) {
			return nil, io.ErrUnexpectedEOF
		}
		files = append(files, file{f.Name, body, f.Mode()&0o100 != 0})
	}
	return files, nil
}
