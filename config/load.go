package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/prove-model/prove-model/internal/must"
)

// DefaultFile is the settings file that is read when it is in the current
// folder and --config names no other.
const DefaultFile = "prove-model.yaml"

// envPrefix is the beginning of the names of environment variables: chunk-budget-gb is
// PROVE_MODEL_CHUNK_BUDGET_GB.
const envPrefix = "PROVE_MODEL"

// Load returns the settings for a command with the given parsed flags (see AddFlags). A
// setting without a flag on the command line comes from the environment, the settings
// file or its default. Errors name the setting and what it may be. With an error, the
// result has the settings as far as they could be read, or is nil.
func Load(flags *pflag.FlagSet) (_ *Config, err error) {
	defer must.Catch(&err)
	// No setting is nested, and an unknown key of the settings file may contain a dot. So the delimiter of nested keys is
	// a character that no key has.
	v := viper.NewWithOptions(viper.KeyDelimiter("\x00"))
	v.SetEnvPrefix(envPrefix)
	v.SetEnvKeyReplacer(strings.NewReplacer("-", "_"))
	v.AutomaticEnv()

	defaults := map[string]any{}
	must.OK(mapstructure.Decode(Default(), &defaults))
	for name, value := range defaults {
		v.SetDefault(name, value)
		if f := flags.Lookup(name); f != nil && f.Annotations[ours] != nil { // a command may have another flag of this name
			must.OK(v.BindPFlag(name, f))
		}
	}
	errs := []error{checkEnvironment(os.Environ()), readFile(v, flags), checkLists(flags)}
	var c Config
	if err := v.Unmarshal(&c); err != nil {
		return nil, errors.Join(append(errs, wrongValues(v, flags, err))...)
	}
	return &c, errors.Join(append(errs, c.validate())...)
}

// checkLists refuses flags of lists that are given without a value, as by a script whose variable is empty: it would be as if they were
// not given.
func checkLists(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if list, ok := f.Value.(pflag.SliceValue); ok && f.Annotations[ours] != nil && slices.Contains(list.GetSlice(), "") {
			err = errors.Join(err, fmt.Errorf("--%s is empty: leave it out if that is what is meant", f.Name))
		}
	})
	return err
}

// wrongValues names the environment variables, or the keys of the settings file, whose values are not of their
// setting's type. If it finds none it returns err, the error of decoding all settings.
func wrongValues(v *viper.Viper, flags *pflag.FlagSet, err error) error {
	var wrong []error
	for i := range settings {
		s := &settings[i]
		if mapstructure.WeakDecode(v.Get(s.name), reflect.New(s.typ).Interface()) == nil {
			continue
		}
		from := fmt.Sprintf("settings file %s: %s", settingsFile(flags), s.name)
		variable := envPrefix + "_" + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
		if _, ok := os.LookupEnv(variable); ok {
			from = "environment variable " + variable
		}
		wrong = append(wrong, s.wrong(from, fmt.Sprint(v.Get(s.name))))
	}
	if len(wrong) == 0 {
		return fmt.Errorf("settings: %w", err)
	}
	return errors.Join(wrong...)
}

// FlagError rewrites an error of parsing flags for people who do not know Go: it says which values the flag takes.
func FlagError(err error) error {
	var wrong *pflag.InvalidValueError
	if errors.As(err, &wrong) {
		if s := find(wrong.GetFlag().Name); s != nil && wrong.GetFlag().Annotations[ours] != nil {
			return s.wrong("--"+s.name, wrong.GetValue())
		}
	}
	return err
}

// others matches the environment variables that begin with envPrefix and are no settings: some that other parts of the
// program read, and those of its tests and scripts.
var others = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^PROVE_MODEL_(ASM|NVRTC|PYTHON|SPEED|SPEED_RUNS|HOST|HF|MODELS|ACCURACY|TOKENIZERS|FILES|WEB|CLIENT|SHOTS|TIMES|VENV|COMMAND|PROGRAMS|PLATFORM|TEST_\w+)$`)
})

// checkEnvironment refuses environment variables that begin with envPrefix and are no settings. Otherwise a
// misspelt variable, such as a bound on the error that a script relies on, would silently have no effect.
func checkEnvironment(environment []string) error {
	var unknown []string
	for _, pair := range environment {
		name, _, _ := strings.Cut(pair, "=")
		key, ours := strings.CutPrefix(name, envPrefix+"_")
		if !ours || others().MatchString(name) {
			continue
		}
		key = strings.ToLower(strings.ReplaceAll(key, "_", "-"))
		if find(key) == nil {
			like := envPrefix + "_" + strings.ToUpper(strings.ReplaceAll(nearest(key), "-", "_"))
			unknown = append(unknown, fmt.Sprintf("%s (did you mean %s?)", name, like))
		}
	}
	if len(unknown) > 0 {
		sort.Strings(unknown)
		return fmt.Errorf("unknown environment variable %s", strings.Join(unknown, ", "))
	}
	return nil
}

// settingsFile returns the path of the settings file.
func settingsFile(flags *pflag.FlagSet) string {
	if isNamed(flags) {
		return flags.Lookup("config").Value.String()
	}
	return DefaultFile
}

// isNamed says whether --config names the settings file.
func isNamed(flags *pflag.FlagSet) bool {
	f := flags.Lookup("config")
	return f != nil && f.Changed
}

// readFile reads the settings file into v. It refuses keys that are no settings, since
// a misspelt key would silently have no effect.
func readFile(v *viper.Viper, flags *pflag.FlagSet) error {
	path := settingsFile(flags)
	if _, err := os.Stat(path); path == DefaultFile && errors.Is(err, fs.ErrNotExist) && !isNamed(flags) {
		return nil
	}
	file := viper.NewWithOptions(viper.KeyDelimiter("\x00"))
	file.SetConfigFile(path)
	file.SetConfigType("yaml") // whatever the file's extension
	if err := file.ReadInConfig(); err != nil {
		return fmt.Errorf("settings file: %w", err)
	}
	var unknown []string
	for key := range file.AllSettings() {
		if find(key) == nil {
			unknown = append(unknown, fmt.Sprintf("%q (did you mean %q?)", key, nearest(key)))
		}
	}
	if len(unknown) > 0 {
		sort.Strings(unknown)
		return fmt.Errorf("settings file %s: unknown %s", path, strings.Join(unknown, ", "))
	}
	var wrong []error
	for i := range settings {
		s := &settings[i]
		if value := file.Get(s.name); !s.holds(value) {
			wrong = append(wrong, s.wrong(fmt.Sprintf("settings file %s: %s", path, s.name), fmt.Sprint(value)))
		}
	}
	return errors.Join(append(wrong, v.MergeConfigMap(file.AllSettings()))...)
}

// nearest returns the name of the setting that is closest to key by edit distance.
func nearest(key string) string {
	best, distance := "", 1<<30
	for _, s := range settings {
		if d := editDistance(key, s.name); d < distance {
			best, distance = s.name, d
		}
	}
	return best
}

// editDistance returns the Levenshtein distance of two texts, in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
