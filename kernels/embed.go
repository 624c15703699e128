package kernels

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed cu
var sources embed.FS

// Groups returns the names of the kernel groups: the sources cu/NAME.cu.
func Groups() []string {
	var names []string
	entries, err := fs.ReadDir(sources, "cu")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".cu"); ok {
			names = append(names, name)
		}
	}
	return names
}

// Source returns a group's source.
func Source(group string) (string, error) {
	b, err := sources.ReadFile("cu/" + group + ".cu")
	return string(b), err
}

// Headers returns the headers that sources include, by name.
func Headers() map[string]string {
	h := map[string]string{}
	entries, err := fs.ReadDir(sources, "cu")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".cuh") {
			continue
		}
		b, err := sources.ReadFile("cu/" + e.Name())
		if err != nil {
			panic(err)
		}
		h[e.Name()] = string(b)
	}
	return h
}
