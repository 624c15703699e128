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

// Adapter is a low-rank adapter to linear layers (LoRA, Hu et al. 2021, https://arxiv.org/abs/2106.09685), as PEFT stores one: of a layer
// y = W·x + b it makes y + s·B·(A·x).
type Adapter struct {
	src     *source            // of its own tensors
	modules map[string]*module // by the layer's full name
}

// module is an adapter of one layer.
type module struct {
	rank int
	s    float64
	used bool
}

// scale multiplies numbers by the module's factor.
func (m *module) scale(v []float32) {
	for i := range v {
		v[i] = float32(float64(v[i]) * m.s)
	}
}

// What PEFT puts before the names of layers, and behind them.
const (
	adapterPrefix = "base_model.model."
	loraA, loraB  = ".lora_A.weight", ".lora_B.weight"
)

// mostPattern bounds an expression of layers' names, and mostScale what an adapter is multiplied by.
const (
	mostPattern = 1 << 12
	mostScale   = 1 << 20
)

// ReadAdapter reads the configuration of an adapter, adapter_config.json, which says what the tensors of the set are.
func ReadAdapter(c *config.Config, set weights.Set) (_ *Adapter, err error) {
	defer must.Catch(&err)
	c.Is("peft_type", "LORA")
	for _, off := range []string{"use_dora", "lora_bias", "use_qalora", "use_bdlora"} {
		c.Is(off, false)
	}
	c.Is("bias", "none")
	c.Is("init_lora_weights", true, false, "gaussian", "eva", "orthogonal") // others change the base's weights
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

// patterns are numbers by the ends of layers' names.
type patterns struct {
	field string
	by    map[string]float64
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_.]+$`)

// patternsOf reads numbers by names.
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

// of is the number of a layer, whose name ends with one of the patterns, or else otherwise.
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

// targetsOf reads which layers the adapter is for: a list of names, and ends of names, or an expression.
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

// Adapted is the weights of a model with an adapter to it.
type Adapted struct {
	weights.Set
	*Adapter
}

// of returns the adapter of a layer, which is then used, by its name in the file of weights, which may lack what comes before the
// architecture; nil if it has none.
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

// rest returns an error that names layers of the adapter that the graph does not have.
func (a *Adapter) rest() error {
	for _, name := range sortedKeys(a.modules) {
		if !a.modules[name].used {
			return fmt.Errorf("the adapter is to %s, which is no linear layer of the model that can have one; those are of attention, feed-forward parts and an output layer of its own", graph.Quote(name))
		}
	}
	return a.src.rest()
}

// adapted is y with what the adapter of the layer, if there is one, makes of x.
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

// adaptedExperts is y with what the adapter makes of x where it is one of the experts' layers, whose names of gives. Ranks
// are filled up with zeros to the largest; experts that it leaves as they are have zeros alone.
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
