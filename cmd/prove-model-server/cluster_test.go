package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/prove-model/prove-model/prover/verifier"
)

var clusterJobs = flag.Int("cluster-jobs", 10, "jobs of TestWorkersKilled; make full has 30")

// natsServer runs NATS with JetStream, as a cluster has it, on a port of the loopback; 0 is any.
func natsServer(t *testing.T, folder string, port int) *server.Server {
	t.Helper()
	if port == 0 {
		port = server.RANDOM_PORT
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: folder, NoSigs: true, NoLog: true, SyncAlways: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("NATS does not start")
	}
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	return s
}

// asked asks the digits model about a picture, which a number makes another one, and returns the id of the proof.
func (p *process) asked(n int) (id string, image []float64) {
	p.t.Helper()
	image = make([]float64, 64)
	image[n%64], image[63] = 1, float64(n)/1024
	data, _ := json.Marshal(image)
	return p.posted("/v2/models/digits/infer", `{"inputs":[{"name":"image","shape":[1,1,8,8],"datatype":"FP64","data":`+string(data)+`}]}`), image
}

// askedText asks the story about a prompt that a number says, of any length, and returns the id of the proof and the prompt.
func (p *process) askedText(n int) (id string, prompt any) {
	p.t.Helper()
	r := rand.New(rand.NewPCG(1, uint64(n)))
	tokens := []int{1 + n%31, 1 + n/31%31, 1 + n/961%31} // which no other has
	for range r.IntN(28) {
		tokens = append(tokens, 1+r.IntN(31))
	}
	data, _ := json.Marshal(map[string]any{"model": "story", "prompt": tokens})
	return p.posted("/v1/completions", string(data)), tokens
}

// posted posts a request until it is answered, and returns the id of the proof.
func (p *process) posted(path, body string) (id string) {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) { // while NATS is away the server says so
		resp, err := http.Post(p.url+path, "application/json", strings.NewReader(body))
		if err != nil {
			p.t.Fatal(err)
		}
		var a struct{ Proof struct{ ID string } }
		err = json.NewDecoder(resp.Body).Decode(&a)
		resp.Body.Close()
		if err == nil && resp.StatusCode == http.StatusOK {
			return a.Proof.ID
		}
		if resp.StatusCode != http.StatusServiceUnavailable || time.Now().After(end) {
			p.t.Fatalf("%s: status %d, %v: %s", body, resp.StatusCode, err, p.log.String())
		}
	}
}

// proofBy returns the bytes of the proof that the command makes. input is what the file input.json has.
func proofBy(t *testing.T, dir string, input []byte, args []string) []byte {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "input.json"), input, 0o644); err != nil {
		t.Fatal(err)
	}
	proof := filepath.Join(dir, "x.proof")
	var out, log bytes.Buffer
	if code := proveModel(append([]string{"--proof", proof, "--vk", filepath.Join(dir, "x.vk"), "--force"}, args...), &out, &log); code != program.ExitOK {
		t.Fatalf("%s", log.String())
	}
	data, err := os.ReadFile(proof)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// jointAgain makes the proof of an answer again, with all texts that the server's has.
func jointAgain(t *testing.T, p *process, id string, _ any, dir string, model []string) []byte {
	t.Helper()
	served, args := p.proof(id), append([]string{"--prompts", filepath.Join(dir, "input.json")}, model...)
	_, text := p.get("/v1/proofs/" + id)
	var record struct {
		Commitment string `json:"model_commitment"`
		Joint      *struct{ Texts int }
	}
	if err := json.Unmarshal(text, &record); err != nil {
		t.Fatal(err)
	}
	_, vk := p.get("/v1/keys/" + record.Commitment)
	s, err := provemodel.VerifyFiles(bytes.NewReader(vk), bytes.NewReader(served), &provemodel.VerifyOptions{MinBits: 1})
	if err != nil {
		t.Fatal(err)
	}
	texts := s.Texts
	if record.Joint == nil {
		texts = []*verifier.Written{s.Generated}
		args = append([]string{"--tokens-file", filepath.Join(dir, "input.json")}, model...)
	} else if len(texts) != record.Joint.Texts {
		t.Errorf("%s, and the proof is of %d texts", text, len(texts))
	}
	var prompts bytes.Buffer
	for _, w := range texts {
		_ = json.NewEncoder(&prompts).Encode(map[string]any{"input_ids": w.Prompt})
	}
	return proofBy(t, dir, prompts.Bytes(), args)
}

// killing is what is asked again and again while workers are killed.
type killing struct {
	model []string // settings of it, which the command has as well
	serve []string // of the server besides
	// ask asks for the n-th answer, and returns the id of its proof and what the command is given to make the same.
	ask func(p *process, n int) (id string, how any)
	// again makes the proof of an answer with the command, and returns its bytes.
	again func(t *testing.T, p *process, id string, how any, dir string, model []string) []byte
}

// TestWorkersKilled: a server and workers share a cluster. Workers are killed again and again, the server and NATS once; every answer is
// proved, once, to the bytes that the command makes: each by itself, and several in one proof.
func TestWorkersKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("a job whose worker was killed is given to another after half a minute")
	}
	t.Parallel()
	for name, k := range map[string]*killing{
		"by itself": {
			model: []string{"--model", "../../testdata/digits/digits.onnx", "--calibration", "../../testdata/digits/calibration.json"},
			ask:   func(p *process, n int) (string, any) { id, image := p.asked(n); return id, image },
			again: func(t *testing.T, _ *process, _ string, how any, dir string, model []string) []byte {
				data, _ := json.Marshal(map[string]any{"input_data": [][]float64{how.([]float64)}})
				return proofBy(t, dir, data, append([]string{"--input", filepath.Join(dir, "input.json")}, model...))
			},
		},
		"together": {
			model: []string{"--model", "../../testdata/story", "--tokens", "64", "--max-tokens", "32"},
			serve: []string{"--batch", "8"},
			ask:   func(p *process, n int) (string, any) { return p.askedText(n) },
			again: jointAgain,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k.run(t)
		})
	}
}

func (k *killing) run(t *testing.T) {
	dir := t.TempDir()
	js := natsServer(t, filepath.Join(dir, "nats"), 0)
	model := append(append(slices.Clone(k.model), "--cache-dir", filepath.Join(dir, "cache"), "--quiet"), quick...)
	cluster := append([]string{"--cluster", js.ClientURL(), "--threads", "1"}, model...)
	serve := append(append([]string{"serve", "--workers", "0", "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0"}, k.serve...), cluster...)
	p := started(t, serve...)

	asked := map[string]any{}
	var ids []string
	ask := func() {
		id, how := k.ask(p, len(ids))
		ids, asked[id] = append(ids, id), how
	}
	for range 3 { // which wait together, however slow asking is
		ask()
	}
	workers := []*process{started(t, append([]string{"worker"}, cluster...)...), started(t, append([]string{"worker"}, cluster...)...)}
	kills, restarted, next := 0, false, time.Now()
	waiting := func() int {
		for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			_, text := p.get("/metrics")
			m := regexp.MustCompile(`(?m)^prove_model_queue_jobs (\S+)$`).FindSubmatch(text)
			if m != nil && string(m[1]) != "-1" {
				var n int
				fmt.Sscan(string(m[1]), &n)
				return n
			}
			if time.Now().After(end) {
				t.Fatalf("the queue cannot be reached: %s", p.log.String())
			}
		}
	}
	for end := time.Now().Add(8 * time.Minute); ; {
		if len(ids) < *clusterJobs {
			ask()
		} else if waiting() == 0 {
			break
		} else {
			time.Sleep(50 * time.Millisecond)
		}
		if time.Now().After(end) {
			t.Fatalf("%d jobs wait after %d kills", waiting(), kills)
		}
		if kills < max(8, *clusterJobs/4) && time.Now().After(next) { // a worker every second, while there is much to do
			next = time.Now().Add(time.Second)
			workers[kills%2].kill()
			workers[kills%2] = started(t, append([]string{"worker"}, cluster...)...)
			kills++
		}
		if !restarted && len(ids) == *clusterJobs/2 {
			restarted = true
			port := js.Addr().String()
			port = port[strings.LastIndex(port, ":")+1:]
			var n int
			fmt.Sscan(port, &n)
			js.Shutdown()
			js.WaitForShutdown()
			js = natsServer(t, filepath.Join(dir, "nats"), n)
			p.kill()
			p = started(t, serve...)
		}
	}
	t.Logf("%d jobs, %d kills", len(ids), kills)
	if len(asked) != *clusterJobs {
		t.Errorf("%d proofs of %d jobs", len(asked), *clusterJobs)
	}
	joint := 0
	for i, id := range ids {
		got := p.proof(id)
		_, text := p.get("/v1/proofs/" + id)
		var record struct {
			State, Worker string
			Faults        []string
			Joint         any
		}
		if err := json.Unmarshal(text, &record); err != nil || record.State != "proved" || len(record.Faults) > 0 || record.Worker == "" {
			t.Errorf("job %d: %s", i, text)
		}
		if record.Joint != nil {
			joint++
		}
		if i%max(1, *clusterJobs/6) == 0 && !bytes.Equal(got, k.again(t, p, id, asked[id], dir, model)) {
			t.Errorf("job %d: the proof has other bytes than the command's", i)
		}
	}
	if t.Logf("%d answers stand in proofs of several", joint); (joint > 0) != (k.serve != nil) {
		t.Error("that is not as it should be")
	}
	// A worker that is told to end does so, and well.
	for _, w := range workers {
		if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := w.cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, w.log.String())
		}
	}
}
