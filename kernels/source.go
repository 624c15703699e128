package kernels

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/nvrtc"
)

//go:embed cu/*.cu cu/*.cuh
var files embed.FS

// Groups returns the names of all groups of kernels: the sources cu/NAME.cu.
func Groups() (names []string) {
	for name := range texts(".cu") {
		names = append(names, strings.TrimSuffix(name, ".cu"))
	}
	slices.Sort(names)
	return names
}

// Headers returns the texts of all files cu/*.cuh by their names.
func Headers() map[string]string { return texts(".cuh") }

// texts returns the contents of all embedded files with an extension, by their names.
func texts(extension string) map[string]string {
	all := map[string]string{}
	for _, f := range must.Get(files.ReadDir("cu")) { // embedded files can always be read
		if path.Ext(f.Name()) == extension {
			all[f.Name()] = string(must.Get(files.ReadFile("cu/" + f.Name())))
		}
	}
	return all
}

// Source returns the program of a group.
func Source(group string) (nvrtc.Source, error) {
	text, err := files.ReadFile("cu/" + group + ".cu")
	if err != nil {
		return nvrtc.Source{}, fmt.Errorf("no kernels called %q", group)
	}
	return nvrtc.Source{Name: group + ".cu", Text: string(text), Headers: Headers()}, nil
}

// checkDevice refuses a device for which the kernels cannot be compiled: their products of bytes and their copies to shared memory take
// compute capability 8.0. The compiler would say so at each of these instructions.
func checkDevice(info nvrtc.DeviceInfo) error {
	if info.Major < 8 {
		return fmt.Errorf("%s has compute capability %d.%d, and 8.0 or later is needed", info.Name, info.Major, info.Minor)
	}
	return nil
}
