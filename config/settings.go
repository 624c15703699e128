package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// setting describes a field of Config, from its tags.
type setting struct {
	field                    int
	typ                      reflect.Type
	name, group, usage, bare string
	min, max                 float64 // the range of a number; both are 0 if there is none
	words                    []string
	file                     string              // reads, writes or made, for a setting that names files; "" for others
	unset                    bool                // whether the zero value is allowed in addition to range or words
	marks                    map[string][]string // annotations of the flag
}

// settings has all settings, in the order of Config's fields.
var settings = describe(reflect.TypeFor[Config]())

// describe returns the settings of the fields of a struct type.
func describe(t reflect.Type) []setting {
	named := strings.NewReplacer("{", "`", "}", "`")
	// By group: all flags of a group share their annotations, since commands have hundreds of flags and make them at every
	// start.
	marks := map[string]map[string][]string{}
	all := make([]setting, t.NumField())
	for i := range all {
		tag := t.Field(i).Tag
		s := setting{
			field: i, typ: t.Field(i).Type, name: tag.Get("mapstructure"), group: tag.Get("group"), bare: tag.Get("bare"),
			usage: named.Replace(tag.Get("usage")),
			file:  tag.Get("file"), words: strings.Fields(tag.Get("oneof")), unset: tag.Get("unset") == "ok",
		}
		if marks[s.group] == nil {
			marks[s.group] = map[string][]string{ours: {}, inGroup: {s.group}}
		}
		s.marks = marks[s.group]
		if lo, hi, ok := strings.Cut(tag.Get("range"), ".."); ok {
			var errs [2]error
			s.min, errs[0] = strconv.ParseFloat(lo, 64)
			s.max, errs[1] = strconv.ParseFloat(hi, 64)
			if errs[0] != nil || errs[1] != nil {
				panic("config: range of " + s.name)
			}
		}
		all[i] = s
	}
	return all
}

// add defines the flag of a setting, whose default is the value in d.
func (s *setting) add(fs *pflag.FlagSet, d *Config) {
	switch v := reflect.ValueOf(d).Elem().Field(s.field).Interface().(type) {
	case string:
		fs.String(s.name, v, s.usage)
	case bool:
		fs.Bool(s.name, v, s.usage)
	case int:
		fs.Int(s.name, v, s.usage)
	case int64:
		fs.Int64(s.name, v, s.usage)
	case float64:
		fs.Float64(s.name, v, s.usage)
	case []string:
		fs.StringArray(s.name, v, s.usage)
	default:
		panic(fmt.Sprintf("config: no flag for the type %T of %s", v, s.name))
	}
}

// wrong is the error about a value that is not of the setting's type. from says where the value was given.
func (s *setting) wrong(from, value string) error {
	want := "text"
	switch s.typ.Kind() {
	case reflect.Bool:
		want = "true or false"
	case reflect.Int, reflect.Int64:
		want = "a whole number"
	case reflect.Float64:
		want = "a number"
	case reflect.Slice:
		want = "a list of texts"
	}
	if s.min != s.max {
		want += fmt.Sprintf(" from %v to %v", s.min, s.max)
	}
	return fmt.Errorf("%s %q: want %s", from, value, want)
}

// holds says whether a setting can have a value of the settings file as it is. Decoding makes 99 of 99.9, 1 of true, and any number of
// one that is too large. Texts are checked when they are decoded.
func (s *setting) holds(value any) bool {
	switch x := value.(type) {
	case bool:
		return s.typ.Kind() == reflect.Bool || s.typ.Kind() == reflect.String
	case float64:
		whole := x == math.Trunc(x) && math.Abs(x) <= 1<<53
		return s.typ.Kind() != reflect.Bool && (whole || s.typ.Kind() != reflect.Int && s.typ.Kind() != reflect.Int64)
	case uint64: // more than an int64 has
		return s.typ.Kind() == reflect.String || s.typ.Kind() == reflect.Float64
	case int:
		return s.typ.Kind() != reflect.Bool || x == 0 || x == 1
	}
	return true
}

// validate refuses a value that is out of the setting's range.
func (s *setting) validate(c *Config) error {
	v := reflect.ValueOf(c).Elem().Field(s.field)
	if s.unset && v.IsZero() {
		return nil
	}
	if len(s.words) > 0 && !slices.Contains(s.words, v.String()) {
		return fmt.Errorf("--%s %q: want %s", s.name, v.String(), strings.Join(s.words, " or "))
	}
	if s.min == s.max {
		return nil
	}
	x := 0.0
	if v.CanInt() {
		x = float64(v.Int())
	} else {
		x = v.Float()
	}
	if !(x >= s.min && x <= s.max) { // the negated form also refuses NaN
		return fmt.Errorf("--%s %v: want a number from %v to %v", s.name, v.Interface(), s.min, s.max)
	}
	return nil
}

// ours is the annotation of flags that are settings; inGroup is the annotation with the group of the help.
const ours, inGroup = "setting", "group"

// groups are the sections of the help, in order: the name in tags, and the heading.
var groups = [][2]string{
	{"prove", "What to prove"}, {"accuracy", "Accuracy"}, {"server", "Server"}, {"machine", "Machine"}, {"files", "Files and printing"}, {"experts", "For experts"}, {"", "Other"},
}

// Help returns the help for flags, in sections.
func Help(all *pflag.FlagSet) string {
	var b strings.Builder
	for _, g := range groups {
		some := pflag.NewFlagSet("", pflag.ContinueOnError)
		all.VisitAll(func(f *pflag.Flag) {
			if in := f.Annotations[inGroup]; len(in) == 1 && in[0] == g[0] || in == nil && g[0] == "" {
				some.AddFlag(f)
			}
		})
		if some.HasAvailableFlags() {
			fmt.Fprintf(&b, "%s:\n%s\n", g[1], some.FlagUsages())
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// AddFlags defines the flags of the named settings, and --config. It panics if a name
// is not the name of a setting.
func AddFlags(fs *pflag.FlagSet, names ...string) {
	d := Default()
	for _, name := range names {
		s := find(name)
		if s == nil {
			panic(fmt.Sprintf("config: no setting %q", name))
		}
		s.add(fs, &d)
		fs.Lookup(name).Annotations = s.marks
		if s.bare != "" {
			fs.Lookup(name).NoOptDefVal = s.bare
		}
	}
	if fs.Lookup("config") == nil {
		fs.String("config", "", "settings `file` (default: prove-model.yaml here, if there is one)")
		fs.Lookup("config").Annotations = map[string][]string{inGroup: {"files"}}
	}
}

// FirstOf returns the first of the named settings whose value is not zero, "" if all are zero.
func (c *Config) FirstOf(names ...string) string {
	for _, name := range names {
		if !reflect.ValueOf(c).Elem().Field(find(name).field).IsZero() {
			return name
		}
	}
	return ""
}

// find returns the setting of a name, nil if there is none.
func find(name string) *setting {
	for i := range settings {
		if settings[i].name == name {
			return &settings[i]
		}
	}
	return nil
}
