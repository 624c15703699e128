package kernels

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/prove-model/prove-model/nvrtc"
)

//go:embed cu/*.cu cu/*.cuh
var files embed.FS

// Groups returns the names of all groups of kernels: the sources cu/NAME.cu.
func Groups() []string {
	names, err := fs.Glob(files, "cu/*.cu")
	if err != nil {
		panic(err) // the pattern is malformed
	}
	for i, n := range names {
		names[i] = strings.TrimSuffix(path.Base(n), ".cu")
	}
	return names
}

// Headers returns the texts of all files cu/*.cuh by their names.
func Headers() map[string]string {
	names, err := fs.Glob(files, "cu/*.cuh")
	if err != nil {
		panic(err) // the pattern is malformed
	}
	headers := make(map[string]string, len(names))
	for _, n := range names {
		text, err := files.ReadFile(n)
		if err != nil {
			panic(err) // it was listed
		}
		headers[path.Base(n)] = string(text)
	}
	return headers
}

// Source returns the program of a group.
func Source(group string) (nvrtc.Source, error) {
	text, err := files.ReadFile("cu/" + group + ".cu")
	if err != nil {
		return nvrtc.Source{}, fmt.Errorf("no kernels called %q", group)
	}
	return nvrtc.Source{Name: group + ".cu", Text: string(text), Headers: Headers()}, nil
}
