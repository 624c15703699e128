package program

import (
	"os"
	"runtime/debug"

	provemodel "github.com/prove-model/prove-model"
)

// frontVariable tells prove-model-server which build of prove-model has started it.
const frontVariable = "PROVE_MODEL_FRONT"

// Commit is what the program was built from, as `go install` takes it behind an @: a commit, or a version; "" if it is not known.
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if commit := BuildSetting("vcs.revision"); commit != "" || !ok || info.Main.Version == "(devel)" {
		return commit
	}
	return info.Main.Version // by go install
}

// BuildSetting is what the build of the program says of itself under a key; "" if nothing.
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

// Build is the version of the program, with what it was built from.
func Build() string {
	if commit := Commit(); commit != "" {
		return provemodel.Version + " " + commit
	}
	return provemodel.Version
}

// AsFront are the variables for a program that this one starts in its place.
func AsFront() []string { return append(os.Environ(), frontVariable+"="+Build()) }

// Front is the build of the program that has started this one in its place, "" if none has. It can be asked once, since the variable
// is no setting.
func Front() string {
	build := os.Getenv(frontVariable)
	os.Unsetenv(frontVariable)
	return build
}
