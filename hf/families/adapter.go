package families

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/hf/config"
	"github.com/prove-model/prove-model/hf/weights"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
)

// Adapter is a low-rank adapter to linear layers (LoRA, Hu et al. 2021, https://arxiv.org/abs/2106.09685), as PEFT stores one. It changes
// the output y = W·x + b of a layer to y + s·B·(A·x).
type Adapter struct {
	src     *source            // of the adapter's tensors
	modules map[string]*module // by the layer's full name
}

// module is the adapter of one layer.
type module struct {
	rank int     // rows of A and columns of B
	s    float64 // the factor s of B·(A·x)
	used bool    // a graph has this layer
}

// scale multiplies the numbers v by the module's factor s.
func (m *module) scale(v []float32) {
	for i := range v {
		v[i] = float32(float64(v[i]) * m.s)
	}
}

// PEFT stores the matrices A and B of a layer under the layer's name with this prefix and these suffixes.
const (
	adapterPrefix = "base_model.model."
	loraA, loraB  = ".lora_A.weight", ".lora_B.weight"
)

// mostPattern is the most bytes of a regular expression for layers' names, and mostScale the largest absolute value of a factor s.
const (
	mostPattern = 1 << 12
	mostScale   = 1 << 20
)

// ReadAdapter returns the adapter with the configuration c, of adapter_config.json, and the tensors of set. It returns an error for an
// adapter that changes more than linear layers, and for tensors that the configuration does not explain.
func ReadAdapter(c *config.Config, set weights.Set) (_ *Adapter, err error) {
	defer must.Catch(&err)
	c.Is("peft_type", "LORA")
	for _, off := range []string{"use_dora", "lora_bias", "use_qalora", "use_bdlora"} {
		c.Is(off, false)
	}
	c.Is("bias", "none")
	c.Is("init_lora_weights", true, false, "gaussian", "eva", "orthogonal") // other ways change the weights of the base model
	for _, other := range []string{"modules_to_save", "layer_replication", "trainable_token_indices", "target_parameters", "alora_invocation_tokens",
		"arrow_config", "kasa_config", "megatron_config", "monteclora_config", "velora_config"} {
		if c.Has(other) {
			c.Failf("field %q is not supported: it changes more than linear layers", other)
		}
		c.Ignore(other)
	}
	c.Ignore("auto_mapping", "base_model_name_or_path", "corda_config", "ensure_weight_tying", "eva_config", "exclude_modules", "fan_in_fan_out",
		"inference_mode", "layers_pattern", "layers_to_transform", "loftq_config", "lora_dropout", "lora_ga_config", "megatron_core", "peft_version",
		"qalora_group_size", "revision", "runtime_config", "task_type")
	r, alpha := c.Int("r", 8), c.Float("lora_alpha", 8)
	ranks, alphas := patternsOf(c, "rank_pattern"), patternsOf(c, "alpha_pattern")
	root := c.Bool("use_rslora", false)
	targeted := targetsOf(c)
	must.OK(c.Done())
	a := &Adapter{src: &source{set: set, kept: map[string]*graph.Tensor{}, used: map[string]bool{}}, modules: map[string]*module{}}
	for _, name := range set.Names() {
		layer, ok := strings.CutSuffix(strings.TrimPrefix(name, adapterPrefix), loraA)
		if !ok || !strings.HasPrefix(name, adapterPrefix) {
			if !strings.HasSuffix(name, loraB) {
				refuse.With("tensor %s is none of a low-rank adapter of a linear layer; understood: %sLAYER%s and …%s", graph.Quote(name), adapterPrefix, loraA, loraB)
			}
			continue
		}
		if !targeted(layer) {
			refuse.With("there are tensors of layer %s, which field \"target_modules\" does not name", graph.Quote(layer))
		}
		rank, own := ranks.of(layer, float64(r)), alphas.of(layer, alpha)
		m := &module{rank: int(rank), s: own / rank}
		if root {
			m.s = own / math.Sqrt(rank)
		}
		if math.Abs(m.s) > mostScale {
			refuse.With("the adapter of layer %s is times %v, more than %d", graph.Quote(layer), m.s, mostScale)
		}
		a.modules[layer] = m
	}
	if len(a.modules) == 0 {
		refuse.With("the adapter has no tensors %sLAYER%s", adapterPrefix, loraA)
	}
	return a, nil
}

// patterns are numbers for some layers, such as ranks. by has them by the layer's name, or by an end of it behind a dot.
type patterns struct {
	field string
	by    map[string]float64
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_.]+$`)

// patternsOf reads the patterns of a field. It takes names only, not the regular expressions that PEFT understands too.
func patternsOf(c *config.Config, field string) patterns {
	p := patterns{field, map[string]float64{}}
	sub := c.Sub(field)
	if sub == nil {
		return p
	}
	for _, name := range sub.Names() {
		if !plainName.MatchString(name) {
			c.Failf("field %q: %s is an expression; understood: names, and the ends of names", field, graph.Quote(name))
		}
		if p.by[name] = sub.Float(name, 1); p.by[name] <= 0 || field == "rank_pattern" && p.by[name] != math.Trunc(p.by[name]) {
			c.Failf("field %q: %v of %s", field, p.by[name], graph.Quote(name))
		}
	}
	return p
}

// of returns the number of the pattern that fits the layer, or otherwise if none does. It refuses patterns with different numbers
// for the same layer.
func (p patterns) of(layer string, otherwise float64) float64 {
	found := ""
	for _, name := range sortedKeys(p.by) {
		if layer != name && !strings.HasSuffix(layer, "."+name) {
			continue
		}
		if found != "" && p.by[found] != p.by[name] {
			refuse.With("field %q has different numbers for %s and %s, which are both names of layer %s", p.field, graph.Quote(found), graph.Quote(name), graph.Quote(layer))
		}
		found = name
	}
	if found == "" {
		return otherwise
	}
	return p.by[found]
}

// targetsOf reads target_modules, and returns a function that says whether the adapter is for a layer. The field is a list of layers'
// names or ends of names, "all-linear", or a regular expression for the whole name.
func targetsOf(c *config.Config) func(layer string) bool {
	if !c.IsText("target_modules") {
		list := c.Texts("target_modules")
		return func(layer string) bool {
			return slices.ContainsFunc(list, func(name string) bool { return layer == name || strings.HasSuffix(layer, "."+name) })
		}
	}
	text := c.Text("target_modules", "")
	if text == "all-linear" {
		return func(string) bool { return true }
	}
	if len(text) > mostPattern {
		c.Failf("field \"target_modules\" has %d bytes, more than %d", len(text), mostPattern)
		return nil
	}
	re, err := regexp.Compile("^(?:" + text + ")$")
	if err != nil {
		c.Failf("field \"target_modules\" is an expression that is not understood: %v", err)
		return nil
	}
	return re.MatchString
}

// Adapted are the weights of a model together with an adapter to it.
type Adapted struct {
	weights.Set
	*Adapter
}

// of returns the adapter of a layer and the layer's name in the adapter, and marks it as used; m is nil if the layer has no adapter.
// layer is the name in the file of weights. The name in the adapter may have a prefix such as "model." in front of it.
func (a *Adapter) of(layer string) (name string, m *module) {
	for _, full := range sortedKeys(a.modules) {
		if full != layer && !strings.HasSuffix(full, "."+layer) {
			continue
		}
		if m != nil {
			refuse.With("the adapter has tensors of %s and of %s, which are both names of layer %s", graph.Quote(name), graph.Quote(full), graph.Quote(layer))
		}
		name, m = full, a.modules[full]
	}
	if m != nil {
		m.used = true
	}
	return name, m
}

// rest returns an error if the adapter has a layer that the graph does not have, or tensors that were not used.
func (a *Adapter) rest() error {
	for _, name := range sortedKeys(a.modules) {
		if !a.modules[name].used {
			return fmt.Errorf("the adapter is to %s, which is no linear layer of the model that can have one; those are of attention, feed-forward parts and an output layer of its own", graph.Quote(name))
		}
	}
	return a.src.rest()
}

// adapted returns y + s·B·(A·x) if the layer has an adapter, and otherwise y. x and y are the input and output of the layer, one row
// a token.
func (n *net) adapted(x, y graph.Value, layer string) graph.Value {
	a := n.src.adapter
	if a == nil || !n.Valid(x) || !n.Valid(y) {
		return y
	}
	return n.caught(func() graph.Value {
		name, m := a.of(layer)
		if m == nil {
			return y
		}
		n.At("", name+".lora")
		in, out := n.Shape(x)[1], n.Shape(y)[1]
		down := n.loaded(a.src, adapterPrefix+name+loraA, []int{m.rank, in})
		up := n.loaded(a.src, adapterPrefix+name+loraB, []int{out, m.rank}, m.scale)
		return n.Add(y, n.Gemm(rowwise, n.Gemm(rowwise, x, down), up))
	})
}

// adaptedExperts is adapted for the layers of count experts; of(i) is the name of expert i's layer. The matrices A of all experts become
// one constant, and so do the matrices B. Those of smaller rank are padded with zeros to the largest one, and experts
// without an adapter have zeros only.
func (n *net) adaptedExperts(x, y, slots graph.Value, all string, count int, of func(i int) string) graph.Value {
	a := n.src.adapter
	if a == nil || !n.Valid(x) || !n.Valid(y) {
		return y
	}
	return n.caught(func() graph.Value {
		names, modules, rank := make([]string, count), make([]*module, count), 0
		for i := range modules {
			if names[i], modules[i] = a.of(of(i)); modules[i] != nil {
				rank = max(rank, modules[i].rank)
			}
		}
		if rank == 0 {
			return y
		}
		n.At("", all+".lora")
		width, height := n.dim(x, -1), n.dim(y, -1)
		if !n.Room(count, rank, width+height) {
			return y
		}
		down, up := make([]float32, count*rank*width), make([]float32, count*height*rank)
		for i, m := range modules {
			if m == nil {
				continue
			}
			a.src.load(adapterPrefix+names[i]+loraA, []int{m.rank, width}).Read(down[i*rank*width:][:m.rank*width], 0)
			u := a.src.load(adapterPrefix+names[i]+loraB, []int{height, m.rank}, m.scale)
			for j := range height {
				u.Read(up[(i*height+j)*rank:][:m.rank], j*m.rank)
			}
		}
		low := n.Experts(x, n.table(all+loraA, []int{count, rank, width}, down, false), slots)
		return n.Add(y, n.Experts(low, n.table(all+loraB, []int{count, height, rank}, up, false), slots))
	})
}
