package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/inspect"
	"github.com/prove-model/prove-model/internal/bench"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/statement"
)

var update = flag.Bool("update", false, "write docs/json-schema")

// schemas is their folder, whatever the current one becomes.
var schemas, _ = filepath.Abs("../../docs/json-schema")

// results are what the commands print with --json, and what each is called.
var results = map[string]struct {
	title string
	value any
}{
	"prove":             {"prove-model --json", proved{}},
	"prove-prompts":     {"prove-model --prompts --json", provedTexts{}},
	"prove-chain":       {"prove-model --chain --json", provedChain{}},
	"verify-chain":      {"prove-model verify --chain --json, exit code 0 or 1", verifiedChain{}},
	"prove-each":        {"prove-model --each --json", []*proved{}},
	"inaccurate":        {"prove-model --json with exit code 3: the run is further from the float model than --max-error", inaccurate{}},
	"verify":            {"prove-model verify --json, exit code 0 or 1", verified{}},
	"check-key":         {"prove-model check-key --json, exit code 0 or 1", checked{}},
	"check-link":        {"prove-model check-key --renew --json, exit code 0 or 1", checkedLink{}},
	"commit":            {"prove-model commit --json", committed{}},
	"commit-input":      {"prove-model commit-input --json", committedInput{}},
	"inspect-model":     {"prove-model inspect --model x.onnx --json", inspect.Model{}},
	"inspect-html":      {"prove-model inspect --model x.onnx --html x.html --json", described{}},
	"chat":              {"a line of prove-model chat --json", chatEvent{}},
	"error":             {"any command with --json that ends with exit code 2, unless it has printed a document of its own", program.Failed{}},
	"inspect-key":       {"prove-model inspect --vk x.vk --json", inspect.Key{}},
	"inspect-proof":     {"prove-model inspect --proof x.proof --json", inspect.Proof{}},
	"devices":           {"prove-model devices --json", deviceList{}},
	"bench-accuracy":    {"prove-model bench accuracy --json", bench.Accuracy{}},
	"bench-text":        {"prove-model bench accuracy --text FILE --json", bench.TextFidelity{}},
	"bench-model":       {"prove-model bench model mlp --json", bench.Model{}},
	"bench-models":      {"prove-model bench model FILE… --json", []*bench.Model{}},
	"bench-scale":       {"prove-model bench scale --json", []bench.ScaleRow{}},
	"bench-llm":         {"prove-model bench llm --json", bench.LLM{}},
	"bench-segments":    {"prove-model bench segments --json", bench.Segments{}},
	"bench-texts":       {"prove-model bench texts --json", bench.Texts{}},
	"bench-write":       {"prove-model bench write --json", bench.Writing{}},
	"bench-kernels":     {"prove-model bench kernels --json", []bench.Kernel{}},
	"bench-kernels-gpu": {"prove-model bench kernels --gpu --json", []bench.DeviceKernel{}},
}

// TestSchemas: the schemas in docs are those of what the commands print. A change of
// them is one of the interface: programs may rely on every member that is there.
func TestSchemas(t *testing.T) {
	for name, r := range results {
		s := schemaOf(reflect.TypeOf(r.value))
		s["$schema"], s["title"] = "https://json-schema.org/draft/2020-12/schema", r.title
		want, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, '\n')
		path := filepath.Join(schemas, name+".json")
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the command prints: look at the change, and run go test ./cmd/prove-model -run TestSchemas -update", path)
		}
	}
	files, err := os.ReadDir(schemas)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name, _ := strings.CutSuffix(f.Name(), ".json")
		if _, ok := results[name]; !ok && name != "progress" {
			t.Errorf("%s is of no command", f.Name())
		}
		if err := compiled(name).Validate(map[string]any{"nonsense": 1}); err == nil {
			t.Errorf("%s accepts anything", f.Name())
		}
	}
}

// schemaOf describes how encoding/json writes a type. A list that is nil is null.
func schemaOf(t reflect.Type) map[string]any {
	if t == reflect.TypeFor[statement.Numbers]() {
		number := map[string]any{"anyOf": []any{map[string]any{"type": "number"}, map[string]any{"enum": []string{"NaN", "Infinity", "-Infinity"}}}}
		return map[string]any{"type": []string{"array", "null"}, "items": number}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Slice:
		return map[string]any{"type": []string{"array", "null"}, "items": schemaOf(t.Elem())}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64:
		return map[string]any{"type": "integer"}
	case reflect.Struct:
		properties, required := map[string]any{}, []string{}
		members(t, properties, &required)
		return map[string]any{"type": "object", "properties": properties, "required": required}
	}
	panic("no schema of " + t.String())
}

// members adds those of a struct and of what is embedded in it.
func members(t reflect.Type, properties map[string]any, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && tag == "":
			e := f.Type
			if e.Kind() == reflect.Pointer {
				e = e.Elem()
			}
			members(e, properties, required)
		case !f.IsExported() || tag == "-":
		default:
			if tag == "" {
				tag = f.Name
			}
			properties[tag] = schemaOf(f.Type)
			if !strings.Contains(options, "omitempty") {
				*required = append(*required, tag)
			}
		}
	}
}

func compiled(name string) *jsonschema.Schema {
	return jsonschema.NewCompiler().MustCompile(filepath.Join(schemas, name+".json"))
}

// valid holds a JSON text against a schema.
func valid(name string, text []byte) error {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return compiled(name).Validate(document)
}

// schema NAME FILE is a script's command: the file, which may be stdout, must be valid.
// NAMEs progress and chat are for lines of JSON.
func schema(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: schema NAME FILE")
	}
	texts := []string{ts.ReadFile(args[1])}
	if args[0] == "progress" || args[0] == "chat" {
		texts = strings.Split(strings.TrimSpace(texts[0]), "\n")
	}
	for _, text := range texts {
		if err := valid(args[0], []byte(text)); err != nil {
			ts.Fatalf("%v\n%s", err, text)
		}
	}
}

// What takes a GPU or long to measure is valid with any numbers.
func TestMeasurementsAreValid(t *testing.T) {
	for name, value := range map[string]any{
		"bench-kernels": []bench.Kernel{{Name: "add", Unit: "element", Units: 5, Seconds: 1e-9, PerUnit: 2}}, "bench-kernels-gpu": []bench.DeviceKernel{{}},
		"bench-llm":  bench.LLM{Runs: []bench.LLMRun{{}}},
		"bench-text": bench.TextFidelity{Margins: []bench.MarginPart{{}}, Drift: []bench.LayerDrift{{}}},
	} {
		var b bytes.Buffer
		if err := ui.JSON(&b, value); err != nil {
			t.Fatal(err)
		}
		if err := valid(name, b.Bytes()); err != nil {
			t.Error(err)
		}
	}
	if err := valid("verify", []byte(`{"valid": "yes", "seconds": 1}`)); err == nil {
		t.Error("a verdict that is a string is valid")
	}
	if err := valid("verify", []byte(`{"valid": true}`)); err == nil {
		t.Error("a verdict without its time is valid")
	}
}
