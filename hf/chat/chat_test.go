package chat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testdata has templates with what Jinja makes of them.
func TestReference(t *testing.T) {
	data, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Template string
		Messages []Message
		Prompt   bool
		Want     string
		Fails    bool
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 100 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		tmpl, err := Parse(c.Template, map[string]string{"bos_token": "<s>", "eos_token": "</s>"})
		got := ""
		if err == nil {
			got, err = tmpl.Render(c.Messages, c.Prompt)
		}
		if (err != nil) != c.Fails || !c.Fails && got != c.Want {
			t.Errorf("%q\nof %v, %v:\n got %q, %v\nwant %q, fails %v", c.Template, c.Messages, c.Prompt, got, err, c.Want, c.Fails)
		}
	}
}

// What is not understood is refused by name, and nothing runs for ever.
func TestRefused(t *testing.T) {
	for source, want := range map[string]string{
		"{% include 'x' %}":        `"include" is not understood`,
		"{{ 1 | shuffle }}":        `filter "shuffle" is not understood`,
		"{{ 1 is prime }}":         `test "prime" is not understood`,
		"{{ 'a'.zfill(3) }}":       `method "zfill" is not understood`,
		"{{ strftime_now('%Y') }}": `"strftime_now" is not understood`,
		"{{ 1":                     "does not end",
		"{% if x %}":               "the template ends",
		"{# x":                     "a comment does not end",
		"{{ ? }}":                  `"?" is not understood`,
		"{% if 1 %}{% endfor %}":   `"endfor"`,
		"{{ '\\q' }}":              `escape \q`,
		"{{ 1 // 0 }}":             "division by zero",
		"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}":                       "deeper than",
		"{% for i in range(9) %}{{ 'x' * 999999 }}{% endfor %}":                 "longer than",
		"\n\n{{ 1 }}\n{{ 1 +\n [] }}":                                           "line 4: + of 1 and a list of 0",
		"{{ 9223372036854775807 + 1 }}":                                         "63 bits",
		"{{ (0 - 9223372036854775807) * 2 }}":                                   "63 bits",
		"{{ 1e99 | int }}":                                                      "63 bits",
		"{{" + strings.Repeat("(", 300) + "1" + strings.Repeat(")", 300) + "}}": "nested deeper",
		"{{" + strings.Repeat(" not", 300) + " 1 }}":                            "nested deeper",
		strings.Repeat("{% if 1 %}", 300):                                       "nested deeper",
		"{% set a.b = 1 %}":                                                     "no namespace",
	} {
		tmpl, err := Parse(source, nil)
		if err == nil {
			_, err = tmpl.Render(nil, false)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v", source, err)
		}
	}
}

// Templates are found where models have them.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "there is none") {
		t.Error(err)
	}
	write := func(name, data string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	render := func(want string) {
		t.Helper()
		tmpl, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := tmpl.Render([]Message{{"user", "x"}}, true); err != nil || got != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	write("tokenizer_config.json", `{"bos_token": {"content": "<s>"}, "eos_token": "</s>", "chat_template": "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}"}`)
	render("<s>x</s>")
	write("tokenizer_config.json", `{"chat_template": [{"name": "tool", "template": "no"}, {"name": "default", "template": "{{ messages[0].role }}"}]}`)
	render("user")
	write("chat_template.jinja", "{% if add_generation_prompt %}own{% endif %}")
	render("own")
}

func FuzzRender(f *testing.F) {
	f.Add("{% for m in messages %}{{ m.role ~ m['content'] | trim }}{% endfor %}")
	f.Add("{%- set ns = namespace(a=1) -%}{% if ns.a is defined and 1 < 2 %}{{ [1, {'b': 2}] | tojson }}{% endif %}")
	f.Add("{% macro f(x, y=2) %}{{ x[::-1] }}{% endmacro %}{{ f('abc') }}{# c #}{{ 'a' if none else -1 // 2 }}")
	f.Fuzz(func(t *testing.T, source string) {
		tmpl, err := Parse(source, nil)
		if err == nil {
			_, _ = tmpl.Render([]Message{{"user", "hello"}, {"assistant", "hi"}}, true)
		}
	})
}
