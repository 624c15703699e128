package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/internal/program"
	"github.com/prove-model/prove-model/internal/serve/receipt"
)

// TestJointReceipts: answers that were proved together, by a worker of a cluster while it and the server were killed, are each verified by
// their receipts, and by no other's.
func TestJointReceipts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	js := natsServer(t, filepath.Join(dir, "nats"), 0)
	cluster := append([]string{"--cluster", js.ClientURL(), "--model", "../../testdata/story", "--cache-dir", filepath.Join(dir, "cache"), "--quiet"}, quick...)
	serve := append([]string{"serve", "--workers", "0", "--batch", "8", "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0"}, cluster...)
	p := started(t, serve...)
	prompts := []string{"The", "The capital of France is", "The capital of"}
	var answers [][]byte
	var ids []string
	for _, prompt := range prompts {
		a, id := p.ask(prompt)
		answers, ids = append(answers, a), append(ids, id)
	}
	p.kill()
	w := started(t, append([]string{"worker"}, cluster...)...)
	w.kill() // wherever it is
	p = started(t, serve...)
	started(t, append([]string{"worker"}, cluster...)...)

	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	vk := filepath.Join(dir, "x.vk")
	verify := func(proof, answer, request string, more ...string) (int, string) {
		args := []string{"verify", "--proof", proof, "--vk", vk, "--receipt", write("answer.json", []byte(answer)), "--min-bits", "20"}
		if request != "" {
			args = append(args, "--request", write("request.json", []byte(request)), "--model", "../../testdata/story")
		}
		var out, log bytes.Buffer
		code := proveModel(append(args, more...), &out, &log)
		return code, out.String() + log.String()
	}
	var first struct {
		Receipt json.RawMessage
		Proof   struct {
			Commitment string `json:"model_commitment"`
		}
	}
	if err := json.Unmarshal(answers[0], &first); err != nil {
		t.Fatal(err)
	}
	var proof string
	texts := make([]string, 3)
	for i, id := range ids {
		data := p.proof(id)
		if i == 0 {
			_, key := p.get("/v1/keys/" + first.Proof.Commitment)
			proof, vk = write("x.proof", data), write("x.vk", key)
		} else if got, _ := os.ReadFile(proof); !bytes.Equal(got, data) {
			t.Fatal("answers that were proved together have other files")
		}
		var record struct {
			Joint receipt.Place
		}
		_, text := p.get("/v1/proofs/" + id)
		if err := json.Unmarshal(text, &record); err != nil || record.Joint != (receipt.Place{Proof: record.Joint.Proof, TextID: i + 1, Texts: 3}) {
			t.Fatalf("%s, %v", text, err)
		}
		texts[i] = []string{"1", "2", "3"}[record.Joint.TextID-1]
		for _, more := range [][]string{nil, {"--text-id", texts[i]}} {
			if code, said := verify(proof, string(answers[i]), requestOf(prompts[i]), more...); code != program.ExitOK || !strings.Contains(said, "compared: request, text, prompt") || !strings.Contains(said, "text        "+texts[i]+" of 3") {
				t.Errorf("%s %q: code %d: %s", prompts[i], more, code, said)
			}
		}
	}
	placed := func(i int) []byte {
		resp, err := http.Post(p.url+"/v1/proofs/"+ids[i]+"/receipt", "application/json", bytes.NewReader(receiptIn(t, answers[i])))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var out bytes.Buffer
		if _, err := out.ReadFrom(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d, %v: %s", resp.StatusCode, err, out.Bytes())
		}
		return out.Bytes()
	}
	withPlace := string(placed(1))
	if code, said := verify(proof, withPlace, ""); code != program.ExitOK || !strings.Contains(said, "text        2 of 3") {
		t.Errorf("code %d: %s", code, said)
	}
	signing, err := receipt.OpenKey(filepath.Join(dir, "data", "receipts.pem"))
	if err != nil {
		t.Fatal(err)
	}
	signed := func(change func(r *receipt.Receipt)) string {
		s, err := receipt.Read([]byte(withPlace), "")
		if err != nil {
			t.Fatal(err)
		}
		change(&s.Receipt)
		if s, err = receipt.Sign(&s.Receipt, signing); err != nil {
			t.Fatal(err)
		}
		data, _ := json.Marshal(s)
		return string(data)
	}
	alone := filepath.Join(dir, "alone.proof")
	var out, log bytes.Buffer
	if code := proveModel(append([]string{"--model", "../../testdata/story", "--prompt", prompts[1], "--tokens", "64", "--max-tokens", "32", "--proof", alone, "--vk", filepath.Join(dir, "y.vk"), "--no-cache", "--quiet"}, quick...), &out, &log); code != program.ExitOK {
		t.Fatal(log.String())
	}
	text := func(id, of int) string {
		return signed(func(r *receipt.Receipt) { r.Joint = &receipt.Place{Proof: r.Joint.Proof, TextID: id, Texts: of} })
	}
	other := func(r *receipt.Receipt) { // of a text that the proof does not have
		r.Joint, r.Text.Tokens = nil, slices.Clone(r.Text.Tokens[1:])
	}
	for what, c := range map[string]struct {
		proof, answer string
		more          []string
		code          int
		want          string
	}{
		"another text's id":                {proof, text(1, 3), nil, program.ExitNotValid, "another text: its tokens"},
		"another id than the receipt's":    {proof, withPlace, []string{"--text-id", "3"}, program.ExitNotValid, "the receipt is about text 2"},
		"another id than the text's":       {proof, string(answers[1]), []string{"--text-id", "3"}, program.ExitNotValid, "another text: its tokens"},
		"an id beyond all":                 {proof, string(answers[1]), []string{"--text-id", "9"}, program.ExitNotValid, "the receipt is about text 2"},
		"text 0":                           {proof, text(0, 3), nil, program.ExitNotValid, "text 0 of a proof of 3"},
		"text 4":                           {proof, text(4, 3), nil, program.ExitNotValid, "text 4 of a proof of 3"},
		"text −1":                          {proof, text(-1, 3), nil, program.ExitNotValid, "text -1 of a proof of 3"},
		"a huge text":                      {proof, text(1<<62, 3), nil, program.ExitNotValid, "of a proof of 3"},
		"beyond numbers":                   {proof, strings.Replace(withPlace, `"text_id":2`, `"text_id":99999999999999999999`, 1), nil, program.ExitError, "receipt: "},
		"of another number":                {proof, text(2, 4), nil, program.ExitNotValid, "text 2 of a proof of 4, and this is a proof of 3"},
		"one altered":                      {proof, strings.Replace(withPlace, `"text_id":2`, `"text_id":1`, 1), nil, program.ExitNotValid, "signature"},
		"a text that is not there":         {proof, signed(other), nil, program.ExitNotValid, "none of the 3 has its tokens"},
		"one that was to be by itself":     {proof, signed(func(r *receipt.Receipt) { r.Joint, r.Shared = nil, "" }), nil, program.ExitNotValid, "of its text alone"},
		"one by itself with a place":       {proof, signed(func(r *receipt.Receipt) { r.Shared = "" }), nil, program.ExitNotValid, "of its text alone"},
		"a place, of a proof of one":       {alone, withPlace, nil, program.ExitNotValid, "text 2 of a proof of 3, and this is a proof of one"},
		"a proof of one, as anybody makes": {alone, string(answers[1]), nil, program.ExitOK, "compared: text"},
		"an id, of a proof of one":         {alone, string(answers[1]), []string{"--text-id", "1"}, program.ExitNotValid, "--text-id 1: it is of one text"},
	} {
		if what == "a proof of one, as anybody makes" {
			c.more = []string{"--model", "../../testdata/story"}
		}
		if code, said := verify(c.proof, c.answer, "", c.more...); code != c.code || !strings.Contains(said, c.want) {
			t.Errorf("%s: code %d: %s", what, code, said)
		}
	}
}

// receiptIn is the receipt of an answer.
func receiptIn(t *testing.T, answer []byte) json.RawMessage {
	t.Helper()
	var a struct{ Receipt json.RawMessage }
	if err := json.Unmarshal(answer, &a); err != nil {
		t.Fatal(err)
	}
	return a.Receipt
}
