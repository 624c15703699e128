package serve

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var loadTime = flag.Duration("load-time", 2*time.Second, "how long TestManyStreams asks")

// TestManyStreams: many clients stream at once without an error, and the server's memory stays as it is.
func TestManyStreams(t *testing.T) {
	r := start(t, false, Options{MaxQueue: 1 << 20, Parallel: 2})
	const clients = 64
	var answers atomic.Int64
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var early uint64
	end, third := time.Now().Add(*loadTime), time.Now().Add(*loadTime/3)
	var once sync.Once
	var wait sync.WaitGroup
	for c := range clients {
		wait.Go(func() {
			client := &http.Client{}
			for n := 0; n == 0 || time.Now().Before(end); n++ { // one at least
				body := fmt.Sprintf(question, fmt.Sprintf(`,"stream":true,"seed":%d,"max_tokens":8`, c*1_000_000+n))
				resp, err := client.Post(r.url+"/v1/chat/completions", "application/json", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				data, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusOK || !bytes.HasSuffix(data, []byte("data: [DONE]\n\n")) || !bytes.Contains(data, []byte(`"receipt"`)) {
					t.Errorf("status %d, %v: %s", resp.StatusCode, err, data)
					return
				}
				answers.Add(1)
				if time.Now().After(third) {
					once.Do(func() { early = heap() })
				}
			}
		})
	}
	wait.Wait()
	late := heap()
	t.Logf("%d answers; heap %.1f MB after a third of the time, %.1f MB at the end", answers.Load(), float64(early)/1e6, float64(late)/1e6)
	if *loadTime >= time.Minute && late > early+early/4+8<<20 {
		t.Errorf("the heap has grown from %d to %d bytes", early, late)
	}
}
