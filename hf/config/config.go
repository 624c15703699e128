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

// Config is an object of a configuration. Its methods record errors and return some valid
// value then; [Config.Done] returns the errors.
type Config struct {
	fields map[string]any
	read   map[string]bool // fields that were read
	at     string          // path to the object in the configuration, "" for the outermost
	model  bool            // the object is the configuration of a model or of a part of one, so that harmless applies
	errs   *[]error        // of the whole configuration
	within *[]*Config      // all objects of the configuration that were read
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

// infinite matches Infinity, which Python writes in JSON, and strings, so that an Infinity in a string is not matched. A last string may
// lack its end: otherwise a search would start anew at each Infinity behind such a quote, which takes quadratic time.
var infinite = regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*(?:"|\\?\z)|Infinity`)

// infinities replaces Infinity outside strings by {"__float__": "Infinity"}, which is JSON, and what newer files have.
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

// New is [Parse] for fields in memory. Single numbers may be json.Number, float64 or int64, and those in lists must be json.Number.
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

// wrong records that a field is not what is wanted.
func (c *Config) wrong(name, want string) {
	c.Failf("field %s is %s, where %s is expected", c.path(name), graph.Quote(fmt.Sprint(c.fields[name])), want)
}

// path is the quoted name of a field in messages, with the path to its object.
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

// Ints returns n whole numbers from 1 to 2^31. The field must be present. It is a list of n numbers, or one number, which is repeated n
// times.
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

// Put sets a field to a number, for code that reads one number where the file has a list.
func (c *Config) Put(name string, v int) { c.fields[name] = int64(v) }

// Natural is [Config.Int] for a number that may be 0. If def is 0, the field may be absent.
func (c *Config) Natural(name string, def int) int {
	if c.Has(name) && c.Float(name, 1) == 0 || def == 0 && !c.Has(name) {
		c.read[name] = true
		return 0
	}
	return c.Int(name, def)
}

// Bool returns a truth value, or def if it is absent.
func (c *Config) Bool(name string, def bool) bool {
	return value(c, name, def, "true or false")
}

// value returns a field of type T, or def if it is absent. want is the name of the type in messages.
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

// Text returns a string, or def if it is absent.
func (c *Config) Text(name, def string) string { return value(c, name, def, "a string") }

// IsText says whether a field is a string.
func (c *Config) IsText(name string) bool {
	_, is := c.fields[name].(string)
	return is
}

// Names lists the names of all fields, sorted.
func (c *Config) Names() []string { return slices.Sorted(maps.Keys(c.fields)) }

// Texts returns a list of strings, or nil if it is absent.
func (c *Config) Texts(name string) []string {
	return values(c, name, "a list of strings", func(x any) (string, bool) { s, is := x.(string); return s, is })
}

// values returns a list whose elements one converts, or nil if it is absent. It records an error if the field is no list, or if one reports
// false for an element.
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

// Parts is [Config.Texts] for a list that may also be written as one string, whose parts are separated by sep.
func (c *Config) Parts(name, sep string) []string {
	if one, ok := c.get(name).(string); ok {
		return strings.Split(one, sep)
	}
	return c.Texts(name)
}

// Numbers returns a list of numbers, or nil if it is absent.
func (c *Config) Numbers(name string) []float64 {
	return values(c, name, "a list of numbers", number)
}

func number(x any) (float64, bool) {
	n, is := x.(json.Number)
	f, err := n.Float64()
	return f, is && err == nil
}

// Sub returns an object within this one, or nil if it is absent. Done of either object returns the errors of both.
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

// Part is [Config.Sub] for the configuration of a model that is a part of this one, such as the text encoder of CLIP.
func (c *Config) Part(name string) *Config {
	sub := c.Sub(name)
	if sub != nil {
		sub.model = true
		for _, name := range []string{"is_decoder", "add_cross_attention", "tie_encoder_decoder"} {
			sub.Is(name, false)
		}
		sub.Sub("pruned_heads") // no code reads the fields of this object, so Done refuses it unless it is empty
	}
	return sub
}

// Is records an error unless a field is absent, null or one of the values that are
// understood. Values are compared as fmt.Sprint writes them.
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

// Ignore marks fields as read. They must not change what a forward pass computes.
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

// Done returns all recorded errors of the whole configuration, and an error for fields that no method has read, except harmless
// ones.
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
