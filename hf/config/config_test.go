package config

import (
	"math"
	"strings"
	"testing"
)

// What is not read is refused by name; what is wrong is told at once.
func TestDone(t *testing.T) {
	read := func(c *Config) {
		c.Int("hidden_size", 0)
		c.Float("eps", 1)
		c.Is("mode", "a", 2)
		if s := c.Sub("rope"); s != nil {
			s.Text("type", "")
		}
		c.Texts("kinds")
		c.Numbers("factors")
		c.Bool("tied", false)
	}
	for name, c := range map[string]struct{ json, want string }{
		"all":            {`{"hidden_size": 8, "eps": 1e-5, "mode": 2, "rope": {"type": "x"}, "kinds": ["a"], "factors": [1, 2.5], "tied": true}`, ""},
		"null and usual": {`{"hidden_size": 8, "new": null, "use_cache": true, "mode": null}`, ""},
		"missing":        {`{}`, `"hidden_size" is missing`},
		"unknown":        {`{"hidden_size": 8, "b": 1, "a": false}`, `not understood and may change the arithmetic: "a", "b"`},
		"unknown within": {`{"hidden_size": 8, "rope": {"use_cache": 1}}`, `"rope.use_cache"`},
		"value":          {`{"hidden_size": 8, "mode": "b"}`, `"mode" is "b", which is not supported; understood: a, 2`},
		"fraction":       {`{"hidden_size": 8.5}`, "a whole number"},
		"zero":           {`{"hidden_size": 0}`, "a whole number"},
		"large":          {`{"hidden_size": 1e300}`, "a whole number"},
		"beyond":         {`{"hidden_size": 8, "eps": 1e999}`, "a number"},
		"text":           {`{"hidden_size": 8, "eps": "1"}`, "a number"},
		"object":         {`{"hidden_size": 8, "rope": 1}`, "an object"},
		"list":           {`{"hidden_size": 8, "kinds": [1]}`, "a list of strings"},
		"numbers":        {`{"hidden_size": 8, "factors": ["a"]}`, "a list of numbers"},
		"truth":          {`{"hidden_size": 8, "tied": 1}`, "true or false"},
	} {
		cfg, err := Parse([]byte(c.json))
		if err != nil {
			t.Fatal(name, err)
		}
		read(cfg)
		err = cfg.Done()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Parse([]byte(`[]`)); err == nil {
		t.Error("a list is read")
	}
}

// A time step's limits may be infinite, as Python writes that or as newer files do; within strings nothing changes.
func TestLimits(t *testing.T) {
	for data, want := range map[string][2]float64{
		`{"limit": [0.0, Infinity], "name": "\"Infinity"}`:                  {0, math.Inf(1)},
		`{"limit": [0.5, {"__float__": "Infinity"}], "name": "\"Infinity"}`: {0.5, math.Inf(1)},
		`{"limit": [0.5, 2], "name": "\"Infinity"}`:                         {0.5, 2},
		`{"name": "\"Infinity"}`:                                            {0, math.Inf(1)},
	} {
		c, err := Parse([]byte(data))
		if err != nil {
			t.Fatal(data, err)
		}
		lo, hi := c.Limits("limit")
		if name := c.Text("name", ""); lo != want[0] || hi != want[1] || name != `"Infinity` || c.Done() != nil {
			t.Error(data, lo, hi, name, c.Done())
		}
	}
	for _, data := range []string{`{"limit": [1]}`, `{"limit": [{"__float__": "Infinity"}, 2]}`, `{"limit": [0, "x"]}`, `{"limit": 3}`} {
		if c, err := Parse([]byte(data)); err == nil {
			if c.Limits("limit"); c.Done() == nil {
				t.Error(data)
			}
		}
	}
}

// A string that does not end costs no more than one that does.
func TestUnendedString(t *testing.T) {
	for _, data := range []string{`{"x": "` + strings.Repeat(`\"Infinity `, 1<<16), `{"x": Infinity, "y": "Infinity\`} {
		if _, err := Parse([]byte(data)); err == nil {
			t.Errorf("a string of %d bytes that does not end is read", len(data))
		}
	}
}
