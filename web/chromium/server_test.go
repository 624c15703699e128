package chromium

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// served starts `prove-model serve` with the model of the tests' files and returns its address.
func served(t *testing.T) string {
	command, files := os.Getenv("PROVE_MODEL_COMMAND"), os.Getenv("PROVE_MODEL_FILES")
	if command == "" || files == "" {
		t.Skip("no command or no files: use scripts/test-web.sh")
	}
	dir := t.TempDir()
	cmd := exec.Command(command, "serve", "--model", "story="+filepath.Join(files, "story", "model"), "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--no-cache", "--quiet", "--batch", "16")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "ready       "); ok {
			go func() {
				for lines.Scan() {
				}
			}()
			return url
		}
	}
	t.Fatal("the server has ended")
	return ""
}

// TestServerPage asks the server's page, which shows the answer and verifies its proof in the browser; and refuses it for another
// model.
func TestServerPage(t *testing.T) {
	url := served(t)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(1000, 900))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	var answer, verdict, facts, refused string
	err := chromedp.Run(ctx,
		chromedp.Navigate(url),
		chromedp.WaitReady("body[data-ready]", chromedp.ByQuery),
		chromedp.SendKeys("#prompt", "The capital of France is", chromedp.ByQuery),
		chromedp.Click("#ask", chromedp.ByQuery),
		chromedp.WaitVisible("li.valid", chromedp.ByQuery),
		chromedp.Text("li.valid .answer", &answer, chromedp.ByQuery),
		chromedp.Text("li.valid .verdict", &verdict, chromedp.ByQuery),
		chromedp.Text("li.valid dl", &facts, chromedp.ByQuery),
		chromedp.SendKeys("#seed", "20", chromedp.ByQuery),
		chromedp.SendKeys("#commitment", strings.Repeat("0", 64), chromedp.ByQuery),
		chromedp.Click("#ask", chromedp.ByQuery),
		chromedp.WaitVisible("li.invalid", chromedp.ByQuery),
		chromedp.Text("li.invalid .verdict", &refused, chromedp.ByQuery),
	)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(answer, "Paris. It lies on the Seine!") || !strings.HasPrefix(verdict, "VALID") {
		t.Errorf("%q, %q", answer, verdict)
	}
	for _, want := range []string{"request", "tokens", "text", "100 bits"} {
		if !strings.Contains(facts, want) {
			t.Errorf("%q is not in %q", want, facts)
		}
	}
	if !strings.Contains(refused, "NOT VALID: the receipt is about another model") {
		t.Errorf("%q", refused)
	}
	shots["server"] = true
	if folder := os.Getenv("PROVE_MODEL_SHOTS"); folder != "" {
		var picture []byte
		if err := chromedp.Run(ctx, chromedp.FullScreenshot(&picture, 100)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "server.png"), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestServerPageTogether asks several questions at once: the page verifies each answer in the proof that it shares with others, and says so.
func TestServerPageTogether(t *testing.T) {
	url := served(t)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox)...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	const asked = `for (const text of ["The", "The capital", "The capital of", "The capital of France", "The capital of France is"]) {
		document.getElementById("prompt").value = text;
		document.getElementById("ask").click();
	}`
	var facts string
	if err := chromedp.Run(ctx,
		chromedp.Navigate(url),
		chromedp.WaitReady("body[data-ready]", chromedp.ByQuery),
		chromedp.Evaluate(asked, nil),
		chromedp.Poll(`document.querySelectorAll("li.valid").length + document.querySelectorAll("li.invalid").length === 5`, nil),
		chromedp.Text("#answers", &facts, chromedp.ByQuery),
	); err != nil {
		t.Fatal(err)
	}
	if strings.Count(facts, "VALID: verified in this browser") != 5 || !strings.Contains(facts, "in this proof: whoever has its file can read all of them") {
		t.Errorf("%s", facts)
	}
}
