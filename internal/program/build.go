package program

import (
	"os"
	"runtime/debug"

	provemodel "github.com/prove-model/prove-model"
)

// frontVariable is the environment variable by which prove-model tells prove-model-server which build has started it.
const frontVariable = "PROVE_MODEL_FRONT"

// Commit returns what the program was built from, in the form that `go install` takes behind an @: a commit or a
// version; "" if it is not known.
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if commit := BuildSetting("vcs.revision"); commit != "" || !ok || info.Main.Version == "(devel)" {
		return commit
	}
	return info.Main.Version // for a program built by go install
}

// BuildSetting returns a setting of the program's build by its key, such as vcs.revision; "" if the build has no such
// setting.
func BuildSetting(key string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == key {
				return s.Value
			}
		}
	}
	return ""
}

// Build returns the version of the program, and the commit that it was built from if that is known.
func Build() string {
	if commit := Commit(); commit != "" {
		return provemodel.Version + " " + commit
	}
	return provemodel.Version
}

// AsFront returns the environment for a program that this one starts in its own place.
func AsFront() []string { return append(os.Environ(), frontVariable+"="+Build()) }

// Front returns the build of the program that has started this one in its own place, "" if none has. A second call returns "", since
// Front removes the variable: else it would be refused as an unknown setting.
func Front() string {
	build := os.Getenv(frontVariable)
	os.Unsetenv(frontVariable)
	return build
}
