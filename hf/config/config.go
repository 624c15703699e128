// Package config reads the configuration of a model strictly. A field that no code
// reads may change what the model computes, so it is refused by name.
package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/graph"
)

// Config is an object of a configuration. Its methods record errors, and
// [Config.Done] returns them.
type Config struct {
	fields map[string]any
	read   map[string]bool
	at     string // path to the object, "" for the outermost
	model  bool   // it is a model's: the outermost, or that of a part of it
	errs   *[]error
	within *[]*Config // all objects that were read
}

// Parse reads the JSON of a configuration.
func Parse(data []byte) (*Config, error) {
	dec := json.NewDecoder(bytes.NewReader(infinities(data)))
	dec.UseNumber()
	var fields map[string]any
	if err := dec.Decode(&fields); err != nil {
		return nil, err
	}
	return New(fields), nil
}

// infinite matches Infinity, which Python's JSON has, and strings, of which the last may not end: else all that follows would be looked at
// anew for every Infinity in it.
var infinite = regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*(?:"|\\?\z)|Infinity`)

// infinities writes Infinity, but in strings, as newer files do, {"__float__": "Infinity"}.
func infinities(data []byte) []byte {
	if !bytes.Contains(data, []byte("Infinity")) {
		return data
	}
	return infinite.ReplaceAllFunc(data, func(found []byte) []byte {
		if found[0] == '"' {
			return found
		}
		return []byte(`{"__float__": "Infinity"}`)
	})
}

// Limits returns a list of two numbers, the second of which may be infinite; 0 and +∞ if it is absent.
func (c *Config) Limits(name string) (lo, hi float64) {
	const want = "a list of two numbers"
	pair := values(c, name, want, func(x any) (float64, bool) {
		if of, ok := x.(map[string]any); ok && len(of) == 1 && of["__float__"] == "Infinity" {
			return math.Inf(1), true
		}
		return number(x)
	})
	if pair == nil {
		return 0, math.Inf(1)
	}
	if len(pair) != 2 || math.IsInf(pair[0], 0) {
		c.wrong(name, want)
		return 0, math.Inf(1)
	}
	return pair[0], pair[1]
}

// New is Parse for fields in memory: numbers as json.Number or of any Go type.
func New(fields map[string]any) *Config {
	c := &Config{fields: fields, read: map[string]bool{}, model: true, errs: new([]error), within: new([]*Config)}
	*c.within = append(*c.within, c)
	return c
}

// Has reports whether a field is present and not null.
func (c *Config) Has(name string) bool { return c.fields[name] != nil }

// get returns a field, and nil if it is absent or null.
func (c *Config) get(name string) any {
	c.read[name] = true
	return c.fields[name]
}

// Failf records an error.
func (c *Config) Failf(format string, args ...any) {
	*c.errs = append(*c.errs, fmt.Errorf(format, args...))
}

func (c *Config) wrong(name, want string) {
	c.Failf("field %s is %s, where %s is expected", c.path(name), graph.Quote(fmt.Sprint(c.fields[name])), want)
}

// path is what a field is called in messages.
func (c *Config) path(name string) string {
	if c.at != "" {
		name = c.at + "." + name
	}
	return graph.Quote(name)
}

// Float returns a number, or def if it is absent.
func (c *Config) Float(name string, def float64) float64 {
	v := c.get(name)
	if v == nil {
		return def
	}
	f := math.NaN()
	switch v := v.(type) {
	case json.Number:
		if x, err := v.Float64(); err == nil {
			f = x
		}
	case float64:
		f = v
	case int64:
		f = float64(v)
	}
	if f-f != 0 {
		c.wrong(name, "a number")
		return def
	}
	return f
}

// Int returns a whole number from 1 to 2^31, or def if it is absent. If def is
// 0, the field must be present.
func (c *Config) Int(name string, def int) int {
	if !c.Has(name) {
		c.read[name] = true
		if def == 0 {
			c.Failf("field %s is missing", c.path(name))
			return 1
		}
		return def
	}
	f := c.Float(name, 1)
	if f != math.Trunc(f) || f < 1 || f > 1<<31 {
		c.wrong(name, "a whole number from 1 on")
		return 1
	}
	return int(f)
}

// Ints returns n whole numbers from 1 to 2^31: a list of so many, or one number that stands for all. The field must be present.
func (c *Config) Ints(name string, n int) []int {
	list, ok := c.get(name).([]any)
	if !ok {
		return slices.Repeat([]int{c.Int(name, 0)}, n)
	}
	out := make([]int, n)
	if len(list) != n {
		c.Failf("field %s has %d entries, where %d are expected", c.path(name), len(list), n)
	}
	for i, f := range c.Numbers(name) {
		if f != math.Trunc(f) || f < 1 || f > 1<<31 {
			c.wrong(name, "whole numbers from 1 on")
			f = 1
		}
		if i < n {
			out[i] = int(f)
		}
	}
	return out
}

// Put has a field be a number, for what reads it as one.
func (c *Config) Put(name string, v int) { c.fields[name] = int64(v) }

// Natural is Int for a number that may be 0.
func (c *Config) Natural(name string, def int) int {
	if c.Has(name) && c.Float(name, 1) == 0 || def == 0 && !c.Has(name) {
		c.read[name] = true
		return 0
	}
	return c.Int(name, def)
}

// Bool returns a truth value, def if it is absent.
func (c *Config) Bool(name string, def bool) bool {
	return value(c, name, def, "true or false")
}

// value returns a field of a type, def if it is absent.
func value[T any](c *Config, name string, def T, want string) T {
	switch v := c.get(name).(type) {
	case nil:
		return def
	case T:
		return v
	}
	c.wrong(name, want)
	return def
}

// Text returns a string, def if it is absent.
func (c *Config) Text(name, def string) string { return value(c, name, def, "a string") }

// IsText says whether a field is a string.
func (c *Config) IsText(name string) bool {
	_, is := c.fields[name].(string)
	return is
}

// Names lists the fields.
func (c *Config) Names() []string { return slices.Sorted(maps.Keys(c.fields)) }

// Texts returns a list of strings, nil if it is absent.
func (c *Config) Texts(name string) []string {
	return values(c, name, "a list of strings", func(x any) (string, bool) { s, is := x.(string); return s, is })
}

// values returns a list, nil if it is absent.
func values[T any](c *Config, name, want string, one func(x any) (T, bool)) []T {
	v := c.get(name)
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	out := make([]T, len(list))
	for i := range list {
		var is bool
		out[i], is = one(list[i])
		ok = ok && is
	}
	if !ok {
		c.wrong(name, want)
		return nil
	}
	return out
}

// Parts is Texts for a list that may also be one string, cut at sep.
func (c *Config) Parts(name, sep string) []string {
	if one, ok := c.get(name).(string); ok {
		return strings.Split(one, sep)
	}
	return c.Texts(name)
}

// Numbers returns a list of numbers, nil if it is absent.
func (c *Config) Numbers(name string) []float64 {
	return values(c, name, "a list of numbers", number)
}

func number(x any) (float64, bool) {
	n, is := x.(json.Number)
	f, err := n.Float64()
	return f, is && err == nil
}

// Sub returns an object within this one, nil if it is absent.
func (c *Config) Sub(name string) *Config {
	switch v := c.get(name).(type) {
	case nil:
		return nil
	case map[string]any:
		at := name
		if c.at != "" {
			at = c.at + "." + name
		}
		sub := &Config{fields: v, read: map[string]bool{}, at: at, errs: c.errs, within: c.within}
		*c.within = append(*c.within, sub)
		return sub
	}
	c.wrong(name, "an object")
	return nil
}

// Part is Sub for the configuration of a model that is a part of this one.
func (c *Config) Part(name string) *Config {
	sub := c.Sub(name)
	if sub != nil {
		sub.model = true
		for _, name := range []string{"is_decoder", "add_cross_attention", "tie_encoder_decoder"} {
			sub.Is(name, false)
		}
		sub.Sub("pruned_heads") // none of whose fields is read, so that there may be none
	}
	return sub
}

// Is records an error unless a field is absent, null or one of the values that are
// understood.
func (c *Config) Is(name string, understood ...any) {
	v := c.get(name)
	if v == nil || slices.ContainsFunc(understood, func(u any) bool { return fmt.Sprint(u) == fmt.Sprint(v) }) {
		return
	}
	var list []string
	for _, u := range understood {
		list = append(list, fmt.Sprint(u))
	}
	c.Failf("field %s is %s, which is not supported; understood: %s", c.path(name), graph.Quote(fmt.Sprint(v)), strings.Join(list, ", "))
}

// Ignore marks fields as read that do not change what a forward pass computes.
func (c *Config) Ignore(names ...string) {
	for _, n := range names {
		c.read[n] = true
	}
}

// harmless are fields of any model that do not change its forward pass: about
// training, about the generation of text, and values that are read from other
// places.
var harmless = strings.Fields(`
	_name_or_path architectures model_type transformers_version torch_dtype dtype use_cache initializer_range initializer_factor
	bos_token_id eos_token_id pad_token_id sep_token_id decoder_start_token_id cls_token_id mask_token_id unk_token_id
	attention_dropout hidden_dropout hidden_dropout_prob attention_probs_dropout_prob classifier_dropout dropout attention_probs_dropout
	resid_pdrop embd_pdrop attn_pdrop embedding_dropout resid_dropout seq_classif_dropout qa_dropout summary_activation
	summary_first_dropout summary_proj_to_labels summary_type summary_use_proj task_specific_params gradient_checkpointing
	id2label label2id num_labels problem_type output_attentions output_hidden_states return_dict output_router_logits router_aux_loss_coef
	router_jitter_noise tokenizer_class auto_map vocab_file finetuning_task pretraining_tp is_encoder_decoder
	chunk_size_feed_forward cache_implementation _attn_implementation attn_implementation unsloth_version
	early_stopping num_beams num_beam_groups num_return_sequences diversity_penalty encoder_no_repeat_ngram_size no_repeat_ngram_size length_penalty
	output_scores return_dict_in_generate typical_p torchscript use_bfloat16 remove_invalid_values exponential_decay_length_penalty tf_legacy_loss
	transformers.js_config bad_words_ids max_length min_length do_sample temperature top_k top_p repetition_penalty`)

// Done returns all recorded errors, and an error for fields that were not read.
func (c *Config) Done() error {
	errs := *c.errs
	for _, o := range *c.within {
		var names []string
		for name, v := range o.fields {
			if v != nil && !o.read[name] && !(o.model && slices.Contains(harmless, name)) {
				names = append(names, o.path(name))
			}
		}
		slices.Sort(names)
		if len(names) > 0 {
			errs = append(errs, fmt.Errorf("these fields are not understood and may change the arithmetic: %s", strings.Join(names, ", ")))
		}
	}
	return errors.Join(errs...)
}
