// Command kubeschemas writes the JSON Schemas that deploy/kubernetes is checked against, one for each kind of object there. It makes them
// from the API descriptions that Kubernetes and KEDA publish with their Go modules. A schema allows all fields that an object may have, and
// no others.
//
//	go run ./scripts/kubeschemas FOLDER
//
// It fetches the two modules, some 50 MB. Nothing else needs them, as the schemas are in the repository. Both projects' files have the
// licence of this one.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/prove-model/prove-model/internal/must"
)

// The releases whose API the manifests are for.
const (
	kubernetes = "k8s.io/kubernetes@v1.37.2"
	keda       = "github.com/kedacore/keda/v2@v2.21.0"
)

// kinds are the kinds of Kubernetes objects that the manifests have: the name of the kind's definition, by that of the schema's file.
var kinds = map[string]string{
	"configmap-v1":                  "io.k8s.api.core.v1.ConfigMap",
	"persistentvolumeclaim-v1":      "io.k8s.api.core.v1.PersistentVolumeClaim",
	"service-v1":                    "io.k8s.api.core.v1.Service",
	"deployment-apps-v1":            "io.k8s.api.apps.v1.Deployment",
	"poddisruptionbudget-policy-v1": "io.k8s.api.policy.v1.PodDisruptionBudget",
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: kubeschemas FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "kubeschemas:", err)
		os.Exit(1)
	}
}

// run writes the schemas of all kinds to the folder out.
func run(out string) (err error) {
	defer must.Catch(&err)
	var api struct{ Definitions map[string]map[string]any }
	must.OK(json.Unmarshal(file(kubernetes, "api/openapi-spec/swagger.json"), &api))
	for name, kind := range kinds {
		used := map[string]any{}
		if api.Definitions[kind] == nil {
			return fmt.Errorf("%s does not describe %s", kubernetes, kind)
		}
		root := strict(api.Definitions[kind], true, func(d string) { collect(api.Definitions, d, used) })
		root["definitions"] = used
		write(filepath.Join(out, name+".json"), root)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct {
					Object map[string]any `yaml:"openAPIV3Schema"`
				}
			}
		}
	}
	must.OK(yaml.Unmarshal(file(keda, "config/crd/bases/keda.sh_scaledobjects.yaml"), &crd))
	for _, v := range crd.Spec.Versions {
		write(filepath.Join(out, "scaledobject-keda-"+v.Name+".json"), strict(v.Schema.Object, true, nil))
	}
	return nil
}

// file fetches a Go module and returns a file of it.
func file(module, path string) []byte {
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir = os.TempDir() // outside this repository's module
	cmd.Stderr = os.Stderr
	data, err := cmd.Output()
	if err != nil {
		must.OK(fmt.Errorf("go mod download %s: %w", module, err))
	}
	var m struct{ Dir string }
	must.OK(json.Unmarshal(data, &m))
	return must.Get(os.ReadFile(filepath.Join(m.Dir, path)))
}

// collect adds the strict form of a definition, and of all definitions that it refers to, to used.
func collect(all map[string]map[string]any, name string, used map[string]any) {
	if used[name] != nil {
		return
	}
	used[name] = true // so that a definition that refers to itself ends
	used[name] = strict(all[name], false, func(d string) { collect(all, d, used) })
}

// strict returns a schema that allows only the members that s describes, without the parts of s that are for readers. It calls named for
// each definition that s refers to. A root without named is that of a custom object, whose metadata may be any object.
func strict(s map[string]any, root bool, named func(string)) map[string]any {
	out := map[string]any{}
	for key, value := range s {
		switch key {
		case "type", "required", "enum", "minimum", "maximum", "pattern", "minItems", "maxItems", "minLength", "maxLength", "default":
			out[key] = value
		case "$ref":
			name := strings.TrimPrefix(value.(string), "#/definitions/")
			named(name)
			out[key] = "#/definitions/" + name
		case "properties":
			members := map[string]any{}
			for name, member := range value.(map[string]any) {
				members[name] = strict(member.(map[string]any), false, named)
			}
			out[key] = members
		case "items":
			out[key] = strict(value.(map[string]any), false, named)
		case "additionalProperties":
			if sub, ok := value.(map[string]any); ok {
				value = strict(sub, false, named)
			}
			out[key] = value
		}
	}
	if s["format"] == "int-or-string" || s["x-kubernetes-int-or-string"] == true {
		out["type"] = []string{"integer", "string"}
	}
	members, described := out["properties"].(map[string]any)
	if described && out["additionalProperties"] == nil {
		out["additionalProperties"] = false
	}
	if root && described && named == nil {
		members["metadata"] = map[string]any{"type": "object"}
	}
	return out
}

func write(path string, schema any) {
	data := must.Get(json.MarshalIndent(schema, "", " "))
	must.OK(os.WriteFile(path, append(data, '\n'), 0o644))
}
