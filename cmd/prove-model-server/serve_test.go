package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prove-model/prove-model/internal/program"
)

// process is the command, running.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	url string
	log bytes.Buffer
}

// started starts the command as a process of its own. A server is waited for until it is ready.
func started(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command("prove-model", args...)}
	p.cmd.Stderr = &p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	ready := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "ready       "); ok {
				ready <- text
			}
		}
		close(ready)
	}()
	select {
	case url, ok := <-ready:
		if !ok {
			p.kill()
			t.Fatalf("it has ended: %s", p.log.String())
		}
		p.url = url
	case <-time.After(2 * time.Minute):
		p.kill()
		t.Fatalf("it is not ready: %s", p.log.String())
	}
	return p
}

// kill is kill −9.
func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

func (p *process) get(path string) (int, []byte) {
	p.t.Helper()
	resp, err := http.Get(p.url + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, data
}

// ask asks the story after a prompt and returns the whole answer, and the id of the proof.
func (p *process) ask(prompt string) (answer []byte, id string) {
	p.t.Helper()
	resp, err := http.Post(p.url+"/v1/completions", "application/json", strings.NewReader(requestOf(prompt)))
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	var a struct{ Proof struct{ ID string } }
	if err != nil || json.Unmarshal(answer, &a) != nil || a.Proof.ID == "" {
		p.t.Fatalf("%s: %s, %v", prompt, answer, err)
	}
	return answer, a.Proof.ID
}

func requestOf(prompt string) string { return fmt.Sprintf(`{"model":"story","prompt":%q}`, prompt) }

// proof waits for a proof.
func (p *process) proof(id string) []byte {
	p.t.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if status, data := p.get("/v1/proofs/" + id + "/file"); status == http.StatusOK {
			return data
		} else if status != http.StatusAccepted {
			p.t.Fatalf("proof %s: status %d: %s", id, status, data)
		}
	}
	p.t.Fatalf("proof %s is not made", id)
	return nil
}

var quick = []string{"--security-bits", "20", "--grind-bits", "0", "--mode", "w8a8"} // keys and proofs that take little time

// TestKilledServer: what a server has answered outlasts kill −9, as often as that happens, and is proved to the bytes that the command makes
// of it: each by itself, and those that wait together.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	for _, batch := range []string{"1", "4"} {
		t.Run("batch "+batch, func(t *testing.T) {
			t.Parallel()
			killedServer(t, batch)
		})
	}
}

func killedServer(t *testing.T, batch string) {
	dir := t.TempDir()
	model := append([]string{"--model", "../../testdata/story", "--tokens", "64", "--max-tokens", "32", "--cache-dir", filepath.Join(dir, "cache"), "--quiet"}, quick...)
	serve := append([]string{"serve", "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0", "--batch", batch}, model...)
	p := started(t, serve...)
	prompts := []string{"The", "The capital", "The capital of", "The capital of France", "The capital of France is"}
	ids, answers := map[string]string{}, map[string][]byte{}
	for i, prompt := range prompts {
		answers[prompt], ids[prompt] = p.ask(prompt)
		if i%2 == 1 { // while others wait, and one is being proved
			p.kill()
			p = started(t, serve...)
		}
	}
	p.kill()
	p = started(t, serve...)
	for _, prompt := range prompts {
		got := p.proof(ids[prompt])
		files := map[string]string{}
		for name, data := range map[string][]byte{"served.proof": got, "answer.json": answers[prompt], "request.json": []byte(requestOf(prompt))} {
			files[name] = filepath.Join(dir, name)
			if err := os.WriteFile(files[name], data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(got, jointAgain(t, p, ids[prompt], nil, dir, model)) {
			t.Errorf("%s: the proof has other bytes than the command's", prompt)
		}
		vk := filepath.Join(dir, "x.vk")
		var out, log bytes.Buffer
		if code := proveModel([]string{"verify", "--proof", files["served.proof"], "--vk", vk, "--receipt", files["answer.json"], "--request", files["request.json"], "--model", "../../testdata/story", "--min-bits", "20"}, &out, &log); code != program.ExitOK || !strings.Contains(out.String(), "compared: request, text, prompt") {
			t.Errorf("%s: code %d: %s%s", prompt, code, out.String(), log.String())
		}
	}
}

// TestDrainedServer: a server that is told to end lets the answer that it is giving end, ends well, and proves the rest when it is started
// again.
func TestDrainedServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	serve := append([]string{"serve", "--model", "named=../../testdata/story", "--data", filepath.Join(dir, "data"), "--cache-dir", filepath.Join(dir, "cache"), "--listen", "127.0.0.1:0"}, quick...)
	p := started(t, serve...)
	resp, err := http.Post(p.url+"/v1/completions", "application/json", strings.NewReader(`{"model":"named","prompt":"The","stream":true,"stop":"Lyon"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.Contains(rest, []byte("data: [DONE]")) || !bytes.Contains(rest, []byte(`"receipt"`)) {
		t.Errorf("the answer was cut short: %v: %s", err, rest)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, p.log.String())
	}
	_, id, _ := bytes.Cut(rest, []byte(`"url":"/v1/proofs/`))
	p = started(t, serve...)
	if len(p.proof(string(id[:64]))) == 0 {
		t.Error("no proof")
	}
}
