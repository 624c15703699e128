package chat

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/hf/gguf"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/internal/regular"
)

// Template is a chat template. It is never changed, so several goroutines may use it.
type Template struct {
	body   []located
	vars   map[string]any // variables that the template mentions, such as bos_token
	digest [sha256.Size]byte
}

// Message is a message of a conversation.
type Message struct {
	Role    string `json:"role"` // such as user
	Content string `json:"content"`
}

// maxTemplate is the most bytes of a template; the longest published ones have some 20 KB.
const maxTemplate = 1 << 18

// maxFile is the most bytes of a file with a template. It may also have a list of tokens.
const maxFile = 1 << 26

// Parse reads a template. vars are the variables that it may use besides the conversation, such as bos_token.
func Parse(source string, vars map[string]string) (_ *Template, err error) {
	defer must.Catch(&err)
	if len(source) > maxTemplate {
		refuse.With("the template has more than %d bytes", maxTemplate)
	}
	p := &parser{tokens: lex(source)}
	t := &Template{vars: map[string]any{}}
	t.body, _ = p.body()
	for _, word := range p.tokens {
		if v, ok := vars[word.value]; ok && word.kind == name {
			t.vars[word.value] = v
		}
	}
	t.digest = digestOf(source, t.vars)
	return t, nil
}

// Digest is the SHA-256 of everything besides the conversation that determines the text: the
// source, then the name and the value of each variable that the source mentions, in the order of the
// names. Each of these texts is preceded by its length in decimal digits and a newline. The
// same template in a folder and in a GGUF file has the same digest.
func (t *Template) Digest() [sha256.Size]byte { return t.digest }

func digestOf(source string, vars map[string]any) [sha256.Size]byte {
	h := sha256.New()
	add := func(text string) { fmt.Fprintf(h, "%d\n%s", len(text), text) }
	add(source)
	for _, k := range slices.Sorted(maps.Keys(vars)) {
		add(k)
		add(vars[k].(string))
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// Render returns a conversation as text. With prompt, it ends with the beginning of the
// model's answer.
func (t *Template) Render(messages []Message, prompt bool) (string, error) {
	list := make([]any, len(messages))
	size := 0
	for i, m := range messages {
		size += len(m.Role) + len(m.Content)
		d := newDict()
		d.set("role", m.Role)
		d.set("content", m.Content)
		list[i] = d
	}
	global := &scope{vars: map[string]any{}}
	for name, f := range functions {
		global.vars[name] = f
	}
	maps.Copy(global.vars, t.vars)
	global.vars["messages"] = list
	global.vars["add_generation_prompt"] = prompt
	s := &state{globals: global, out: &strings.Builder{}, most: maxText + textPerByte*size}
	err := refuse.Caught(func() { runAll(s, global, t.body) })
	return s.out.String(), err
}

// Open reads the template of a model at path, a folder or a .gguf file. In a folder,
// chat_template.jinja counts before tokenizer_config.json.
func Open(path string) (*Template, error) {
	t, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("the chat template of %s: %w", path, err)
	}
	return t, nil
}

var errNone = errors.New("there is none; give the text as the model expects it")

func open(path string) (_ *Template, err error) {
	defer must.Catch(&err)
	if strings.EqualFold(filepath.Ext(path), ".gguf") {
		f := must.Get(gguf.Open(path))
		defer f.Close()
		return fromGGUF(f.Meta)
	}
	// read returns a file of the folder, nil if there is none.
	read := func(name string) []byte {
		data, err := regular.Read(filepath.Join(path, name), maxFile)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return must.Get(data, err)
	}
	source, vars := "", map[string]string{}
	if data := read("tokenizer_config.json"); data != nil {
		refuse.Within("tokenizer_config.json", func() { source = fromConfig(data, vars) })
	}
	if own := read("chat_template.jinja"); own != nil {
		source = string(own)
	}
	if source == "" {
		return nil, errNone
	}
	return Parse(source, vars)
}

// fromConfig returns the template of tokenizer_config.json, or "" if it has none. It adds
// the special tokens of the file, such as bos_token, to vars.
func fromConfig(data []byte, vars map[string]string) string {
	var c map[string]json.RawMessage
	must.OK(json.Unmarshal(data, &c))
	for name, raw := range c {
		if !strings.HasSuffix(name, "_token") {
			continue
		}
		var text string
		var token struct {
			Content string `json:"content"`
		}
		if json.Unmarshal(raw, &text) == nil && text != "" {
			vars[name] = text
		} else if json.Unmarshal(raw, &token) == nil && token.Content != "" {
			vars[name] = token.Content
		}
	}
	raw := c["chat_template"]
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return ""
	}
	var source string
	if json.Unmarshal(raw, &source) == nil {
		return source
	}
	var several []struct{ Name, Template string }
	must.OK(json.Unmarshal(raw, &several))
	for _, t := range several {
		if t.Name == "default" {
			return t.Template
		}
	}
	refuse.With(`there are several, and none is called "default"`)
	return ""
}

func fromGGUF(meta map[string]any) (*Template, error) {
	source, _ := meta["tokenizer.chat_template"].(string)
	if source == "" {
		return nil, errNone
	}
	vars := map[string]string{}
	tokens, _ := meta["tokenizer.ggml.tokens"].([]string)
	for _, name := range []string{"bos", "eos"} {
		if id, ok := meta["tokenizer.ggml."+name+"_token_id"].(int64); ok && id >= 0 && id < int64(len(tokens)) {
			vars[name+"_token"] = tokens[id]
		}
	}
	return Parse(source, vars)
}
