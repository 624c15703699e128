package chat

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// twice is a template whose x doubles 60 times, and what is done with it.
func twice(begin, grow, use string) string {
	return fmt.Sprintf("{%% set ns = namespace(x=%s) %%}{%% for i in range(60) %%}{%% set ns.x = %s %%}{%% endfor %%}%s", begin, grow, use)
}

// many is a template that does the same a million times.
func many(begin, body string) string {
	return begin + "{% for i in range(1000) %}{% for j in range(1000) %}" + body + "{% endfor %}{% endfor %}"
}

const long = "{% set t = 'ab ' * 1000000 %}"

// hostile are templates that ask for more than is there, by what they do.
var hostile = map[string]string{
	"joined":            twice("'x'", "ns.x ~ ns.x", ""),
	"added":             twice("'x'", "ns.x + ns.x", ""),
	"lists added":       twice("[1]", "ns.x + ns.x", ""),
	"replaced":          twice("'x'", "ns.x.replace('x', 'xx')", ""),
	"filter replace":    twice("'x'", "ns.x | replace('', 'x')", ""),
	"captured":          "{% set ns = namespace(x='x') %}{% for i in range(60) %}{% set y %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = y %}{% endfor %}",
	"self join":         twice("'xx'", "ns.x.join(ns.x)", ""),
	"filter join":       twice("'xx'", "ns.x | join(ns.x)", ""),
	"nested printed":    twice("[1]", "[ns.x, ns.x]", "{{ ns.x }}"),
	"nested to text":    twice("[1]", "[ns.x, ns.x]", "{{ ns.x | string }}"),
	"nested in error":   twice("[1]", "[ns.x, ns.x]", "{{ ns.x < 1 }}"),
	"nested range":      twice("[1]", "[ns.x, ns.x]", "{{ range(ns.x) }}"),
	"nested JSON":       twice("[1]", "[ns.x, ns.x]", "{{ ns.x | tojson }}"),
	"nested indent":     twice("[1]", "[ns.x, ns.x]", "{{ ns.x | tojson(indent=64) }}"),
	"nested equal":      "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}",
	"nested in":         "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x in [ns.y] }}",
	"nested test":       "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x is eq(ns.y) }}",
	"mappings equal":    "{% set ns = namespace(x={}, y={}) %}{% for i in range(60) %}{% set ns.x = {'a': ns.x, 'b': ns.x} %}{% set ns.y = {'a': ns.y, 'b': ns.y} %}{% endfor %}{{ ns.x != ns.y }}",
	"mappings printed":  twice("{}", "{'a': ns.x, 'b': ns.x}", "{{ ns.x }}"),
	"mapping as key":    twice("{}", "{'a': ns.x, 'b': ns.x}", "{{ {}[ns.x] }}"),
	"deep":              "{% set ns = namespace(x=[1]) %}{% for i in range(99999) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
	"deep equal":        "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(99999) %}{% set ns.x = [ns.x] %}{% set ns.y = [ns.y] %}{% endfor %}{{ ns.x == ns.y }}",
	"repeated":          "{{ 'x' * 9223372036854775807 }}",
	"repeated often":    many("", "{% set x = 'x' * 100000 %}"),
	"range":             "{{ range(9223372036854775807) | length }}",
	"range of steps":    "{{ range(0, 9223372036854775807, 9223372036854775) | length }}{{ range(-9223372036854775807, 9223372036854775807, 3) | length }}",
	"ranges kept":       "{% set ns = namespace(x=[]) %}{% for i in range(99999) %}{% set ns.x = [ns.x, range(9999)] %}{% endfor %}",
	"loops":             many("", "{% for k in range(1000) %}{% endfor %}"),
	"empty loops":       "{% for i in range(99999) %}{% for j in range(99999) if false %}{% endfor %}{% endfor %}",
	"expressions":       many("", "{% set x = "+strings.Repeat("1 + ", 200)+"1 %}"),
	"arguments":         many("", "{% set x = namespace("+strings.Repeat("a=1, ", 200)+") %}"),
	"lists":             many("", "{% set x = ["+strings.Repeat("1, ", 200)+"] %}"),
	"comparisons":       "{{ " + strings.Repeat("1 < (", 100) + "1" + strings.Repeat(") < 3", 100) + " }}",
	"scopes":            strings.Repeat("{% for i in [1] %}", 90) + "{% for i in range(9999) %}{% for i in range(9999) %}{% if messages %}{% endif %}{% endfor %}{% endfor %}" + strings.Repeat("{% endfor %}", 90),
	"macros":            "{% macro a(x) %}{{ x(x) }}{{ x(x) }}{% endmacro %}{{ a(a) }}",
	"macro captures":    "{% macro a() %}{% endmacro %}{{ 'x' * 1000000 }}" + many("", "{{ a() }}"),
	"upper":             many(long, "{% set x = t | upper %}"),
	"lower":             many(long, "{% set x = t.lower() %}"),
	"title":             many(long, "{% set x = t | title %}"),
	"capitalize":        many(long, "{% set x = t | capitalize %}"),
	"trim":              many(long, "{% set x = t | trim %}"),
	"strip of set":      "{% set t = 'ab' * 500000 %}{{ t.strip(t ~ 'x') | length }}",
	"strip of a letter": many("{% set t = 'a' * 1000000 %}", "{% set x = t.strip('a') %}"),
	"split":             many(long, "{% set x = t.split(' ') %}"),
	"fields":            many(long, "{% set x = t.split() %}"),
	"lines":             many("{% set t = '\n' * 1000000 %}", "{% set x = t.splitlines() %}"),
	"split at most":     many(long, "{% set x = t.split('ab', 9223372036854775807) %}"),
	"split of nothing":  many(long, "{% set x = t.split('#', 1000000) %}"),
	"find":              many(long, "{% set x = t.find('abc') %}"),
	"count":             many(long, "{% set x = t.count('a') %}"),
	"starts":            many(long, "{% set x = t.startswith(['b', 'c'] + range(1000)) %}"),
	"in text":           many(long, "{% set x = 'abc' in t %}"),
	"in list":           many("{% set t = range(100000) %}", "{% set x = -1 in t %}"),
	"equal texts":       many(long+"{% set u = t ~ '' %}", "{% set x = t == u %}"),
	"ordered texts":     many(long+"{% set u = t ~ '' %}", "{% set x = t < u %}"),
	"as key":            many(long+"{% set d = {t: 1} %}", "{% set x = d[t] %}"),
	"get":               many(long+"{% set d = {t: 1} %}", "{% set x = d.get(t) %}"),
	"key in":            many(long+"{% set d = {t: 1} %}", "{% set x = t in d %}"),
	"length":            many(long, "{% set x = t | length %}"),
	"letters":           many(long, "{% set x = t | list %}"),
	"letter":            many(long, "{% set x = t[5] %}"),
	"first":             many(long, "{% set x = t | first %}"),
	"last":              many(long, "{% set x = t | last %}"),
	"slice":             many(long, "{% set x = t[1:] %}"),
	"slice of list":     many("{% set t = range(100000) %}", "{% set x = t[::-1] %}"),
	"reverse":           many(long, "{% set x = t | reverse %}"),
	"map":               many("{% set t = range(100000) %}", "{% set x = t | map('string') %}"),
	"map of map":        many("{% set u = [[[1, 2, 3, 4]]] %}", "{% set x = u | map('map', 'map', 'string') %}"),
	"attributes":        many("{% set t = [{}] + range(100000) %}", "{% set x = t | map(attribute='x') %}"),
	"selected":          many("{% set t = range(100000) %}", "{% set x = t | selectattr('x', 'defined') %}"),
	"rejected":          many("{% set t = range(100000) %}", "{% set x = t | rejectattr('x') %}"),
	"items":             many("{% set d = {'a': 1, 'b': 2, 'c': 3, 'd': 4} %}", "{% set x = d.items() %}{% set y = d.values() %}{% set z = d.keys() %}{% set w = dict(d) %}"),
	"number":            "{% set t = '0' * 9999999 %}" + many("", "{% set x = t | int %}"),
	"names":             "{% set t = range(3) %}" + many("", "{% for a, b, c in [t, t, t] %}{% endfor %}"),
	"raised":            twice("[1]", "[ns.x, ns.x]", "{{ raise_exception(ns.x) }}"),
	"written":           many("", strings.Repeat("x", 1000)),
	"longer chain":      "{{ 1" + strings.Repeat("+1", 100000) + " }}",
	"longer filters":    "{{ 1" + strings.Repeat("|string", 30000) + " }}",
	"longer fields":     "{{ messages" + strings.Repeat(".a", 100000) + " }}",
	"many strings":      "{{ " + strings.Repeat("''", 100000) + " ? }}",
	"many signs":        strings.Repeat("{%+ if 1 +%}", 20000),
	"many brackets":     "{{ " + strings.Repeat("[], ", 50000) + " }}",
	"many outputs":      strings.Repeat("{{a}}", 50000) + "{{ 1 // 0 }}",
	"many comments":     strings.Repeat("{##}", 50000) + "{{ 1 // 0 }}",
	"many opened":       strings.Repeat("{", 250000) + "{#",
	"open string":       "{{ " + strings.Repeat("'a", 100001) + " }}",
}

// A hostile template is refused before it has taken much memory or time.
func TestBudget(t *testing.T) {
	conversation := []Message{{"user", "hello"}, {"assistant", "hi"}}
	for name, source := range hostile {
		if len(source) > maxTemplate {
			t.Fatalf("%s: %d bytes", name, len(source))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begin := time.Now()
		tmpl, err := Parse(source, nil)
		parsed := time.Since(begin)
		if err == nil {
			_, err = tmpl.Render(conversation, true)
		}
		took := time.Since(begin)
		runtime.ReadMemStats(&after)
		made := (after.TotalAlloc - before.TotalAlloc) >> 20
		if err == nil || len(err.Error()) > 1200 {
			t.Errorf("%s: %.100v", name, err)
		}
		// All memory that was ever asked for is much more than what is held at a time.
		if made > mostMade() || took > patience() {
			t.Errorf("%s: %d MB, %v, of which parsing %v", name, made, took, parsed)
		}
	}
}

// A long conversation is within the budget of the templates that models come with.
func TestLongConversation(t *testing.T) {
	var all []Message
	for range 2000 {
		all = append(all, Message{"user", strings.Repeat("word ", 40)}, Message{"assistant", strings.Repeat("word ", 40)})
	}
	tmpl, err := Parse("{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('turns') }}{% endif %}"+
		"{{ '<|im_start|>' + m.role + '\n' + m['content'] | trim + '<|im_end|>' + '\n' }}{% endfor %}", nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := tmpl.Render(all, true)
	if err != nil || len(text) < 4000*200 {
		t.Fatal(len(text), err)
	}
}

// A template's digest is of its source and of the variables that it speaks of.
func TestDigest(t *testing.T) {
	digest := func(source string, vars map[string]string) [32]byte {
		t.Helper()
		tmpl, err := Parse(source, vars)
		if err != nil {
			t.Fatal(err)
		}
		return tmpl.Digest()
	}
	vars := func(v ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(v); i += 2 {
			m[v[i]] = v[i+1]
		}
		return m
	}
	one := digest("{{ bos_token }}x", vars("bos_token", "<s>", "eos_token", "</s>"))
	if one != digest("{{ bos_token }}x", vars("bos_token", "<s>", "pad_token", "p")) {
		t.Error("a variable that the template does not speak of counts")
	}
	for _, other := range [][32]byte{
		digest("{{ bos_token }}y", vars("bos_token", "<s>")),
		digest("{{ bos_token }}x", vars("bos_token", "<t>")),
		digest("{{ bos_token }}x", nil),
	} {
		if other == one {
			t.Error("two templates have one digest")
		}
	}
}

// mostMade is how many megabytes may be allocated until then. With the race detector, which -short
// goes with, values that are on the stack otherwise are allocated.
func mostMade() uint64 {
	if testing.Short() {
		return 800
	}
	return 400
}

// patience is what a file that asks for much may take until it is refused, on a machine that
// does other work as well; with -short, as the race detector runs, more.
// internal/hostile measures processor time.
func patience() time.Duration {
	if testing.Short() {
		return 100 * time.Second
	}
	return 30 * time.Second
}
