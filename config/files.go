package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/pflag"
)

// Values of the tag file.
const (
	reads  = "read"
	writes = "write"
	made   = "made" // written by the commands that prove and commit, read by the others
)

// Stdin is the path that stands for standard input.
const Stdin = "-"

// File is a path that a setting names.
type File struct{ Setting, Path string }

func (f File) String() string { return fmt.Sprintf("--%s %s", f.Setting, f.Path) }

// Reads lists the files that a command with these flags may read, the settings file among them. makes says that the command
// writes proof, key and certificate, which others read. Of name=path both the path and the whole are listed, as
// either may be the file.
func (c *Config) Reads(flags *pflag.FlagSet, makes bool) []File {
	files := []File{{"config", settingsFile(flags)}}
	for _, s := range settings {
		if s.file != reads && (s.file != made || makes) {
			continue
		}
		var paths []string
		switch v := reflect.ValueOf(c).Elem().Field(s.field).Interface().(type) {
		case string:
			paths = []string{v}
		case []string:
			paths = v
		}
		for _, path := range paths {
			if path == "" || path == Stdin {
				continue
			}
			files = append(files, File{s.name, path})
			if _, path, ok := strings.Cut(path, "="); ok {
				files = append(files, File{s.name, path})
			}
		}
	}
	return files
}

// CanWrite says whether a setting names a file that some command writes.
func CanWrite(name string) bool {
	s := find(name)
	return s != nil && (s.file == writes || s.file == made)
}

// CanRead says whether a setting names files that some command reads.
func CanRead(name string) bool {
	s := find(name)
	return s != nil && (s.file == reads || s.file == made)
}
