package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prove-model/prove-model/internal/program"
)

// batch asks about so many pictures at once, of which a number makes others, and returns the id of the proof and what was asked.
func (p *process) batch(pictures, n int) (id string, values []float64) {
	p.t.Helper()
	values = make([]float64, 64*pictures)
	for i := range values {
		values[i] = float64((i*i+i*n+n)%257) / 256 // others for every n below 257
	}
	body, err := json.Marshal(map[string]any{"inputs": []any{map[string]any{"name": "image", "shape": []int{pictures, 1, 8, 8}, "datatype": "FP64", "data": values}}})
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := http.Post(p.url+"/v2/models/digits/infer", "application/json", bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	var a struct{ Proof struct{ ID string } }
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil || resp.StatusCode != http.StatusOK {
		p.t.Fatalf("status %d, %v", resp.StatusCode, err)
	}
	return a.Proof.ID, values
}

// recorded is the record of a proof.
type recorded struct {
	State, Worker string
	Helped        int
	Faults        []string
}

func (p *process) record(id string) *recorded {
	p.t.Helper()
	_, text := p.get("/v1/proofs/" + id)
	r := &recorded{}
	if err := json.Unmarshal(text, r); err != nil {
		p.t.Fatalf("%v: %s", err, text)
	}
	return r
}

// TestTeam: three workers of a cluster make one proof together, also when one of them is killed, whichever. The proof has the bytes of one
// that the command makes.
func TestTeam(t *testing.T) {
	if testing.Short() {
		t.Skip("a job whose worker was killed is given to another after half a minute")
	}
	t.Parallel()
	const pictures = 512 // two parts
	dir := t.TempDir()
	js := natsServer(t, filepath.Join(dir, "nats"), 0)
	model := append([]string{
		"--model", "../../testdata/digits/digits.onnx", "--calibration", "../../testdata/digits/calibration.json", "--cache-dir", filepath.Join(dir, "cache"), "--quiet",
	}, quick...)
	cluster := append([]string{"--cluster", js.ClientURL(), "--threads", "1"}, model...)
	p := started(t, append([]string{"serve", "--workers", "0", "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0"}, cluster...)...)
	workers := map[string]*process{}
	more := func() {
		w := started(t, append([]string{"worker"}, cluster...)...)
		workers[w.url] = w // which is its name
	}
	for range 3 {
		more()
	}
	check := func(id string, values []float64) {
		t.Helper()
		got := p.proof(id)
		file, proof := filepath.Join(dir, "input.json"), filepath.Join(dir, "x.proof")
		data, _ := json.Marshal(map[string]any{"input_data": [][]float64{values}, "input_shapes": [][]int{{pictures, 1, 8, 8}}})
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		var out, log bytes.Buffer
		if code := proveModel(append([]string{"--input", file, "--proof", proof, "--vk", filepath.Join(dir, "x.vk")}, model...), &out, &log); code != program.ExitOK {
			t.Fatalf("%s", log.String())
		}
		if want, err := os.ReadFile(proof); err != nil || !bytes.Equal(got, want) {
			t.Errorf("the proof has other bytes than the command's: %v", err)
		}
	}
	// On a busy machine one worker may be done before another begins: until it was not.
	n, helped := 0, 0
	for ; helped == 0 && n < 10; n++ {
		id, values := p.batch(pictures, n)
		if helped = p.waited(id).Helped; helped > 0 || n == 0 {
			check(id, values)
		}
	}
	t.Logf("%d parts of proof %d were proved by other workers", helped, n)
	if helped == 0 {
		t.Error("nobody has helped")
	}
	for _, who := range []string{"another", "the maker"} {
		n++
		id, values := p.batch(pictures, n)
		maker := ""
		for end := time.Now().Add(time.Minute); maker == "" && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			maker = p.record(id).Worker
		}
		for name, w := range workers {
			if (name == maker) == (who == "the maker") {
				w.kill()
				delete(workers, name)
				break
			}
		}
		if r := p.waited(id); r.State != "proved" || len(r.Faults) > 0 {
			t.Errorf("%s killed: %+v", who, r)
		}
		check(id, values)
		more()
	}
}

// waited waits for the end of a proof.
func (p *process) waited(id string) *recorded {
	p.t.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if r := p.record(id); r.State == "proved" || r.State == "failed" {
			return r
		}
	}
	p.t.Fatalf("proof %s is not made: %s", id, strings.TrimSpace(p.log.String()))
	return nil
}
