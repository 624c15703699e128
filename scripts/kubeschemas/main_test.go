package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

const manifests = "../../deploy/kubernetes"

// objects are those of a file.
func objects(t *testing.T, text string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for d := yaml.NewDecoder(strings.NewReader(text)); ; {
		var object map[string]any
		if err := d.Decode(&object); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, object)
	}
}

// wrong lists the kinds of the objects that their schemas do not allow.
func wrong(t *testing.T, text string) []string {
	t.Helper()
	var out []string
	for _, object := range objects(t, text) {
		group, version, ok := strings.Cut(object["apiVersion"].(string), "/")
		name := strings.ToLower(object["kind"].(string)) + "-" + strings.Split(group, ".")[0]
		if ok {
			name += "-" + version
		}
		schema, err := jsonschema.NewCompiler().Compile(filepath.Join(manifests, "schemas", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(object); err != nil {
			out = append(out, object["kind"].(string))
			t.Log(err)
		}
	}
	return out
}

// TestManifests: the objects are what Kubernetes and KEDA take, and the schemas refuse what is none.
func TestManifests(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(manifests, "prove-model.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if got := wrong(t, text); len(objects(t, text)) < 7 || got != nil {
		t.Errorf("%v", got)
	}
	for change, kind := range map[[2]string]string{
		{"readinessProbe:", "readyProbe:"}:               "Deployment",
		{"replicas: 2", "replicas: two"}:                 "Deployment",
		{"maxReplicaCount: 50", "maxReplicaCount: many"}: "ScaledObject",
		{"port: 80,", "prt: 80,"}:                        "Service",
		{"accessModes: [ReadOnlyMany]", "modes: []"}:     "PersistentVolumeClaim",
	} {
		if got := wrong(t, strings.Replace(text, change[0], change[1], 1)); len(got) != 1 || got[0] != kind {
			t.Errorf("%v: %v", change, got)
		}
	}
}
