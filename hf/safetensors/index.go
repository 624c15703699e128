package safetensors

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf/weights"
	"github.com/prove-model/prove-model/internal/mapped"
	"github.com/prove-model/prove-model/internal/regular"
)

// OpenIndex maps the shards that an index file names, model.safetensors.index.json
// of a folder. The shards lie beside it. A tensor is in the one shard that the
// index says, and the shards hold no others.
func OpenIndex(path string) (weights.Set, error) {
	data, err := regular.Read(path, maxHeader)
	if err != nil {
		return nil, err
	}
	var index struct {
		Map map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, err
	}
	if len(index.Map) == 0 {
		return nil, fmt.Errorf(`it has no "weight_map"`)
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	t := &weights.Tensors{ByName: map[string]*weights.Tensor{}}
	if err = add(t, root, index.Map); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// add maps the shards and takes the tensors from them that the index has there.
func add(t *weights.Tensors, root *os.Root, where map[string]string) error {
	names := map[string]bool{}
	for _, file := range where {
		if filepath.Base(file) != file || !filepath.IsLocal(file) {
			return fmt.Errorf("shard %s is not a file beside the index", graph.Quote(file))
		}
		names[file] = true
	}
	for _, file := range slices.Sorted(maps.Keys(names)) {
		f, err := openShard(root, file)
		if err != nil {
			return err
		}
		t.From = append(t.From, f)
		shard, err := parse(f.Bytes(), f)
		if err != nil {
			return fmt.Errorf("shard %s: %w", graph.Quote(file), err)
		}
		for name, v := range shard {
			if where[name] != file {
				return fmt.Errorf("shard %s has tensor %s, which the index has in %s", graph.Quote(file), graph.Quote(name), graph.Quote(where[name]))
			}
			t.ByName[name] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(where)) {
		if t.ByName[name] == nil {
			return fmt.Errorf("shard %s does not have tensor %s", graph.Quote(where[name]), graph.Quote(name))
		}
	}
	return nil
}

func openShard(root *os.Root, file string) (*mapped.File, error) {
	f, err := regular.OpenIn(root, file)
	if err != nil {
		return nil, fmt.Errorf("%w; all shards of the index must be there", err)
	}
	defer f.Close()
	return mapped.Read(f)
}
