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
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/internal/regular"
)

// OpenIndex maps the shards that an index file names, such as model.safetensors.index.json.
// The shards lie beside it. It returns an error unless every tensor is in the shard that the
// index says, and the shards hold no others.
func OpenIndex(path string) (weights.Set, error) {
	t := &weights.Tensors{ByName: map[string]*weights.Tensor{}}
	err := refuse.Caught(func() {
		var index struct {
			Map map[string]string `json:"weight_map"`
		}
		must.OK(json.Unmarshal(must.Get(regular.Read(path, maxHeader)), &index))
		if len(index.Map) == 0 {
			refuse.With(`it has no "weight_map"`)
		}
		root := must.Get(os.OpenRoot(filepath.Dir(path)))
		defer root.Close()
		add(t, root, index.Map)
	})
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// add maps the shards in root and adds their tensors to t. where is the shard of each tensor, as the index has it.
func add(t *weights.Tensors, root *os.Root, where map[string]string) {
	names := map[string]bool{}
	for _, file := range where {
		if filepath.Base(file) != file || !filepath.IsLocal(file) {
			refuse.With("shard %s is not a file beside the index", graph.Quote(file))
		}
		names[file] = true
	}
	for _, file := range slices.Sorted(maps.Keys(names)) {
		f := must.Get(openShard(root, file))
		t.From = append(t.From, f)
		var shard map[string]*weights.Tensor
		refuse.Within("shard "+graph.Quote(file), func() { shard = parse(f.Bytes(), f) })
		for name, v := range shard {
			if where[name] != file {
				refuse.With("shard %s has tensor %s, which the index has in %s", graph.Quote(file), graph.Quote(name), graph.Quote(where[name]))
			}
			t.ByName[name] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(where)) {
		if t.ByName[name] == nil {
			refuse.With("shard %s does not have tensor %s", graph.Quote(where[name]), graph.Quote(name))
		}
	}
}

func openShard(root *os.Root, file string) (*mapped.File, error) {
	f, err := regular.OpenIn(root, file)
	if err != nil {
		return nil, fmt.Errorf("%w; all shards of the index must be there", err)
	}
	defer f.Close()
	return mapped.Read(f)
}
