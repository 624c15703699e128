package config

import (
	"fmt"
	"reflect"
	"slices"
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

// Reads lists the files that a command with these flags may read, including the settings file. makes says that the command
// writes proof, key and certificate, which other commands read. For name=path it lists both the path and the whole text,
// since either may be the file.
func (c *Config) Reads(flags *pflag.FlagSet, makes bool) []File {
	files := []File{{"config", settingsFile(flags)}}
	for _, s := range settings {
		if s.file != reads && (s.file != made || makes) {
			continue
		}
		for _, path := range s.paths(c) {
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

// paths returns the values of a setting that names files, as they are given.
func (s *setting) paths(c *Config) []string {
	switch v := reflect.ValueOf(c).Elem().Field(s.field).Interface().(type) {
	case string:
		return []string{v}
	case []string:
		return v
	}
	return nil
}

// checkStdin refuses standard input for settings that need a file, and for more than one setting, since it can be read
// only once.
func (c *Config) checkStdin() error {
	var from []string
	for _, s := range settings {
		if s.file == "" {
			continue
		}
		for _, path := range s.paths(c) {
			if _, value, named := strings.Cut(path, "="); path != Stdin && !(named && value == Stdin) {
				continue
			}
			if slices.Contains([]string{"model", "tokenizer", "secret", "keys", "tls-cert", "tls-key", "cluster-creds", "cluster-nkey", "cluster-ca", "cluster-cert", "cluster-key"}, s.name) || s.file == writes {
				return fmt.Errorf("--%s %s: it takes a file, not standard input or output", s.name, path)
			}
			from = append(from, "--"+s.name)
		}
	}
	if len(from) > 1 {
		return fmt.Errorf("standard input can be read once, and %s want it", strings.Join(from, " and "))
	}
	return nil
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
