package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

var clusterJobs = flag.Int("cluster-jobs", 30, "jobs of TestWorkersKilled")

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
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) { // while NATS is away the server says so
		resp, err := http.Post(p.url+"/v2/models/digits/infer", "application/json",
			strings.NewReader(`{"inputs":[{"name":"image","shape":[1,1,8,8],"datatype":"FP64","data":`+string(data)+`}]}`))
		if err != nil {
			p.t.Fatal(err)
		}
		var a struct{ Proof struct{ ID string } }
		err = json.NewDecoder(resp.Body).Decode(&a)
		resp.Body.Close()
		if err == nil && resp.StatusCode == http.StatusOK {
			return a.Proof.ID, image
		}
		if resp.StatusCode != http.StatusServiceUnavailable || time.Now().After(end) {
			p.t.Fatalf("job %d: status %d, %v: %s", n, resp.StatusCode, err, p.log.String())
		}
	}
}

// TestWorkersKilled: a server and workers share a cluster. Workers are killed again and again, the server and NATS once; every answer is
// proved, once, to the bytes that the command makes.
func TestWorkersKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("a job whose worker was killed is given to another after half a minute")
	}
	t.Parallel()
	dir := t.TempDir()
	js := natsServer(t, filepath.Join(dir, "nats"), 0)
	model := append([]string{
		"--model", "../../testdata/digits/digits.onnx", "--calibration", "../../testdata/digits/calibration.json", "--cache-dir", filepath.Join(dir, "cache"), "--quiet",
	}, quick...)
	cluster := append([]string{"--cluster", js.ClientURL(), "--threads", "1"}, model...)
	serve := append([]string{"serve", "--workers", "0", "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0"}, cluster...)
	p := started(t, serve...)
	workers := []*process{started(t, append([]string{"worker"}, cluster...)...), started(t, append([]string{"worker"}, cluster...)...)}

	images := map[string][]float64{}
	var ids []string
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
			id, image := p.asked(len(ids))
			ids, images[id] = append(ids, id), image
		} else if waiting() == 0 {
			break
		} else {
			time.Sleep(50 * time.Millisecond)
		}
		if time.Now().After(end) {
			t.Fatalf("%d jobs wait after %d kills", waiting(), kills)
		}
		if kills < *clusterJobs/2 && time.Now().After(next) { // a worker every second, while there is much to do
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
	if len(images) != *clusterJobs {
		t.Errorf("%d proofs of %d jobs", len(images), *clusterJobs)
	}
	for i, id := range ids {
		got := p.proof(id)
		_, text := p.get("/v1/proofs/" + id)
		var record struct {
			State, Worker string
			Faults        []string
		}
		if err := json.Unmarshal(text, &record); err != nil || record.State != "proved" || len(record.Faults) > 0 || record.Worker == "" {
			t.Errorf("job %d: %s", i, text)
		}
		if i%max(1, *clusterJobs/6) != 0 {
			continue
		}
		file, proof := filepath.Join(dir, "input.json"), filepath.Join(dir, "x.proof")
		data, _ := json.Marshal(map[string]any{"input_data": [][]float64{images[id]}})
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		var out, log bytes.Buffer
		if code := run(append([]string{"--input", file, "--proof", proof, "--vk", filepath.Join(dir, "x.vk")}, model...), &out, &log); code != exitOK {
			t.Fatalf("%s", log.String())
		}
		if want, err := os.ReadFile(proof); err != nil || !bytes.Equal(got, want) {
			t.Errorf("job %d: the proof has other bytes than the command's: %v", i, err)
		}
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
