package main

import (
	"flag"
	"fmt"
	"net/http"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

var queueThreads = flag.Int("queue-threads", 0, "threads of each of the three workers of TestQueueSpeed; 0: it is left out")

// TestQueueSpeed: three workers prove a queue at least 2.7 times as fast as one of them.
func TestQueueSpeed(t *testing.T) {
	if *queueThreads == 0 {
		t.Skip("-queue-threads says with how many threads")
	}
	if n := runtime.NumCPU(); n < 3**queueThreads {
		t.Fatalf("%d processors are fewer than three times %d", n, *queueThreads)
	}
	const jobs, pictures = 60, 256
	dir := t.TempDir()
	js := natsServer(t, filepath.Join(dir, "nats"), 0)
	cluster := append([]string{
		"--cluster", js.ClientURL(), "--model", "../../testdata/digits/digits.onnx", "--calibration", "../../testdata/digits/calibration.json",
		"--cache-dir", filepath.Join(dir, "cache"), "--quiet",
	}, quick...)
	p := started(t, append([]string{"serve", "--workers", "0", "--prove", "requested", "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0"}, cluster...)...)
	asked := 0
	took := func(workers int) time.Duration {
		var ids []string
		for range jobs {
			id, _ := p.batch(pictures, asked)
			ids, asked = append(ids, id), asked+1
		}
		var list []*process
		for range workers {
			list = append(list, started(t, append([]string{"worker", "--threads", fmt.Sprint(*queueThreads)}, cluster...)...))
		}
		begun := time.Now()
		for _, id := range ids {
			resp, err := http.Post(p.url+"/v1/proofs/"+id, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		for _, id := range ids {
			if r := p.waited(id); r.State != "proved" {
				t.Fatalf("%+v", r)
			}
		}
		d := time.Since(begun)
		for _, w := range list {
			w.kill()
		}
		return d
	}
	one, three := took(1), took(3)
	t.Logf("%d proofs take %v with one worker of %d threads, %v with three: %.2f times as fast", jobs, one, *queueThreads, three, float64(one)/float64(three))
	if float64(one) < 2.7*float64(three) {
		t.Error("less than 2.7 times as fast")
	}
}
