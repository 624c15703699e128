package receipt

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	provemodel "github.com/prove-model/prove-model"
)

// TestSigned: a receipt is read back, white space and the order of its members aside, and not if anything in it is altered.
func TestSigned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key.pem")
	key, err := OpenKey(path)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := OpenKey(path); err != nil || !again.Equal(key) {
		t.Fatalf("the key that was made is not read back: %v", err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	rule := &provemodel.Sampling{Seed: -9007199254740993, Temperature: 0.7, TopK: 40, TopP: 0.95}
	s, err := Sign(&Receipt{
		Answer: "a", Created: 5, Model: "m<&>", Commitment: "c", Proof: "p", Request: "r", Inputs: map[string]string{"é": "1"},
		Text: &Text{TokenizerSHA256: "t", AnswerSHA256: "x", PromptTokens: []int{1, 2}, Tokens: []int{3}, Sampling: RuleOf(rule)},
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.MarshalIndent(s, " ", "   ")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(data, s.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := got.Sampling.Sampling(); err != nil || *back != *rule {
		t.Errorf("%+v, %v", back, err)
	}
	if _, err := Read(data, "another"); !errors.Is(err, ErrSignature) {
		t.Errorf("another server's: %v", err)
	}
	text := string(data)
	for _, change := range [][2]string{
		{`"created": 5`, `"created": 6`}, {`"c"`, `"d"`}, {`"seed": "-9007199254740993"`, `"seed": "-9007199254740992"`}, {"3\n", "4\n"},
		{`"tokens"`, `"outputs": {"a": "b"}, "tokens"`}, {`"tokens"`, `"shared": "all", "tokens"`},
		{`"tokens"`, `"joint": {"proof": "p", "text_id": 1, "texts": 2}, "tokens"`}, {s.Signature, "AAAA"}, {s.Signature, ""}, {s.PublicKey, "AAAA"},
	} {
		other := strings.Replace(text, change[0], change[1], 1)
		if other == text {
			t.Fatalf("%q is not in %s", change[0], text)
		}
		if _, err := Read([]byte(other), ""); !errors.Is(err, ErrSignature) {
			t.Errorf("%q for %q: %v", change[1], change[0], err)
		}
	}
	for _, other := range []string{strings.Replace(text, `"version": 1`, `"version": 2`, 1), strings.Replace(text, `"version"`, `"unknown": 1, "version"`, 1), "[]", ""} {
		if _, err := Read([]byte(other), ""); err == nil {
			t.Errorf("accepted: %s", other)
		}
	}
}

// TestTextOf: a receipt says, or lets find, which text of a proof it is about, and refuses a proof that is of more or less than it says.
func TestTextOf(t *testing.T) {
	text := &Text{}
	at := func(id, of int) *Place { return &Place{TextID: id, Texts: of} }
	for name, c := range map[string]struct {
		r           Receipt
		texts, find int
		want        int // −1: an error
	}{
		"an old one":                  {Receipt{Text: text}, 0, 0, 0},
		"an old one, of several":      {Receipt{Text: text}, 3, 2, -1},
		"one of arrays, of several":   {Receipt{Shared: SharedAll}, 3, 2, -1},
		"by itself":                   {Receipt{Text: text, Shared: SharedAll}, 0, 0, 0},
		"found":                       {Receipt{Text: text, Shared: SharedAll}, 3, 2, 2},
		"not found":                   {Receipt{Text: text, Shared: SharedKey}, 3, 0, -1},
		"said":                        {Receipt{Text: text, Shared: SharedKey, Joint: at(3, 3)}, 3, 1, 3},
		"said, of a proof of one":     {Receipt{Text: text, Shared: SharedKey, Joint: at(1, 3)}, 0, 0, -1},
		"said, though by itself":      {Receipt{Text: text, Joint: at(1, 3)}, 3, 1, -1},
		"of another number":           {Receipt{Text: text, Shared: SharedAll, Joint: at(1, 4)}, 3, 1, -1},
		"zero":                        {Receipt{Text: text, Shared: SharedAll, Joint: at(0, 3)}, 3, 1, -1},
		"negative":                    {Receipt{Text: text, Shared: SharedAll, Joint: at(-1, 3)}, 3, 1, -1},
		"beyond":                      {Receipt{Text: text, Shared: SharedAll, Joint: at(4, 3)}, 3, 1, -1},
		"huge":                        {Receipt{Text: text, Shared: SharedAll, Joint: at(1<<62, 1<<62)}, 3, 1, -1},
		"negative, of as many as one": {Receipt{Text: text, Shared: SharedAll, Joint: at(0, 0)}, 0, 0, -1},
	} {
		got, err := c.r.TextOf(c.texts, func() int { return c.find })
		if err != nil {
			got = -1
		}
		if got != c.want {
			t.Errorf("%s: text %d, %v", name, got, err)
		}
	}
}

// FuzzRead reads receipts of any content: those that are taken as a server's are what it has signed.
func FuzzRead(f *testing.F) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	s, err := Sign(&Receipt{
		Answer: "a", Created: 5, Model: "m<&>", Commitment: "c", Proof: "p", Request: "r", Inputs: map[string]string{"é": "1"},
		Shared: SharedAll, Joint: &Place{"j", 2, 3},
		Text: &Text{TokenizerSHA256: "t", AnswerSHA256: "x", PromptTokens: []int{1, 2}, Tokens: []int{3},
			Sampling: RuleOf(&provemodel.Sampling{Seed: -9007199254740993, Temperature: 0.7, TopP: 1})},
	}, key)
	if err != nil {
		f.Fatal(err)
	}
	data, err := json.Marshal(s)
	if err != nil {
		f.Fatal(err)
	}
	signed, err := s.message()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(bytes.Replace(data, []byte(`"answer":"a"`), []byte(`"answer":"b","ANSWER":"a"`), 1))
	f.Add([]byte(`{"version": 1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Read(data, s.PublicKey)
		if err != nil {
			return
		}
		if message, err := got.message(); err != nil || !bytes.Equal(message, signed) {
			t.Errorf("the server has not signed %s: %v", message, err)
		}
		if got.Text != nil && got.Sampling != nil {
			if rule, err := got.Sampling.Sampling(); err == nil && rule.Validate() != nil {
				t.Errorf("a rule that is none: %+v", rule)
			}
		}
	})
}

// Servers that begin at once in one folder sign with one key.
func TestOpenKeyAtOnce(t *testing.T) {
	for range 20 {
		path := filepath.Join(t.TempDir(), "receipts.pem")
		keys := make([]ed25519.PrivateKey, 8)
		var all sync.WaitGroup
		for i := range keys {
			all.Go(func() { keys[i], _ = OpenKey(path) })
		}
		all.Wait()
		for i, k := range keys {
			if !k.Equal(keys[0]) || len(k) == 0 {
				t.Fatalf("server %d signs with another key", i)
			}
		}
		if st, err := os.Stat(path); err != nil || st.Mode().Perm()&0o077 != 0 {
			t.Fatal(st.Mode(), err)
		}
	}
}
