// Package chromium tests the page of the web verifier in a headless Chromium, from a
// file, as users open it. It is a module of its own, as what drives the browser is
// large: scripts/test-web.sh builds the page and runs it.
//
//	PROVE_MODEL_WEB     the folder with verifier.html
//	PROVE_MODEL_FILES   what web/testfiles wrote, and what scripts/test-web.sh proved, with reports
//	PROVE_MODEL_TIMES   1: times count, on a machine that does nothing else
//	PROVE_MODEL_SHOTS   a folder for screenshots of all states; none without
package chromium

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const golden = "../../testdata/golden"

// page is an open page, and what it did that it should not.
type page struct {
	context.Context
	t *testing.T

	mu       sync.Mutex
	requests []string
	problems []string
}

func open(t *testing.T) *page {
	p := browse(t, "PROVE_MODEL_WEB", "verifier.html")
	p.run(chromedp.WaitReady("body[data-ready]", chromedp.ByQuery))
	return p
}

// browse opens a file of a folder that a variable names.
func browse(t *testing.T, variable, name string) *page {
	folder := os.Getenv(variable)
	if folder == "" {
		t.Skip(variable + " names no folder: use scripts/test-web.sh")
	}
	file, err := filepath.Abs(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(1000, 900))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(cancel)
	p := &page{Context: ctx, t: t}
	chromedp.ListenTarget(ctx, p.hear)
	p.run(network.Enable(), log.Enable(), chromedp.Navigate("file://"+file))
	t.Cleanup(p.innocent)
	return p
}

func (p *page) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		p.problems = append(p.problems, e.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		p.problems = append(p.problems, e.Entry.Text)
	}
}

// innocent fails the test if the page asked for anything but itself, its worker, and what it
// holds, or threw anything.
func (p *page) innocent() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, url := range p.requests {
		if i > 0 && !strings.HasPrefix(url, "blob:") && !strings.HasPrefix(url, "data:") || i == 0 && !strings.HasPrefix(url, "file:") {
			p.t.Errorf("the page asks for %s", url)
		}
	}
	for _, problem := range p.problems {
		p.t.Errorf("the page says %s", problem)
	}
}

func (p *page) run(actions ...chromedp.Action) {
	p.t.Helper()
	if err := chromedp.Run(p, actions...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *page) text(selector string) string {
	p.t.Helper()
	var s string
	p.run(chromedp.Evaluate(`document.querySelector(`+strconv.Quote(selector)+`).innerText`, &s))
	return s
}

// give chooses files, by the element that takes them, and waits for the verdict.
func (p *page) give(files ...string) string {
	p.t.Helper()
	for i := 0; i < len(files); i += 2 {
		path, err := filepath.Abs(files[i+1])
		if err != nil {
			p.t.Fatal(err)
		}
		p.run(chromedp.SetUploadFiles("#"+files[i], []string{path}, chromedp.ByQuery))
	}
	return p.verdict()
}

func (p *page) verdict() string {
	p.t.Helper()
	p.run(chromedp.Poll(`document.getElementById("status").textContent.startsWith("the proof is")`, nil,
		chromedp.WithPollingInterval(10*time.Millisecond), chromedp.WithPollingTimeout(2*time.Minute)))
	return p.text("#verdict") + ": " + p.text("#reason")
}

// forget has the page as it was when it was opened.
func (p *page) forget() {
	p.t.Helper()
	p.run(chromedp.Evaluate(`for (const kind of Object.keys(files)) take(kind, undefined);
		document.getElementById("form").reset(); document.getElementById("status").textContent = "";
		for (const d of document.querySelectorAll("details")) d.open = false; 0`, nil))
}

// unfold opens what is for experts.
func (p *page) unfold() {
	p.t.Helper()
	p.run(chromedp.Evaluate(`document.getElementById("details").open = true; 0`, nil))
}

func (p *page) milliseconds() int {
	p.t.Helper()
	p.unfold()
	m := regexp.MustCompile(`in (\d+) ms`).FindStringSubmatch(p.text("#facts"))
	if m == nil {
		p.t.Fatalf("no time in %q", p.text("#facts"))
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// shots are the names of the pictures that the tests take.
var shots = map[string]bool{}

// TestMain holds the pictures of the documents against those that the tests take.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	const folder = "../../docs/images/web"
	if flag.Lookup("test.run").Value.String() == "" && len(shots) > 0 {
		there, _ := filepath.Glob(filepath.Join(folder, "*.png"))
		for _, path := range there {
			if name := strings.TrimSuffix(filepath.Base(path), ".png"); !shots[name] {
				fmt.Printf("%s: no test takes this picture\n", path)
				code = 1
			}
			delete(shots, strings.TrimSuffix(filepath.Base(path), ".png"))
		}
		for name := range shots {
			fmt.Printf("%s has no picture %s: make shots\n", folder, name)
			code = 1
		}
	}
	os.Exit(code)
}

// shot takes a picture of the page as it is, if pictures are wanted.
func (p *page) shot(name string) {
	p.t.Helper()
	shots[name] = true
	folder := os.Getenv("PROVE_MODEL_SHOTS")
	if folder == "" {
		return
	}
	var picture []byte
	p.run(chromedp.Evaluate(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))`, nil,
		func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) })) // it is laid out
	if strings.HasPrefix(name, "report-") { // which go on for pages
		p.run(chromedp.CaptureScreenshot(&picture))
	} else {
		p.run(chromedp.FullScreenshot(&picture, 100))
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// timed says whether times count: on a machine with other work they say nothing.
func timed() bool { return os.Getenv("PROVE_MODEL_TIMES") == "1" }

func of(folder string) (proof, key string) {
	return filepath.Join(folder, "run.proof"), filepath.Join(folder, "key.vk")
}

func made(name string) (proof, key string) {
	return of(filepath.Join(os.Getenv("PROVE_MODEL_FILES"), name))
}

// TestGolden: every golden proof is valid, and the digits within the time that people
// take for at once.
func TestGolden(t *testing.T) {
	p := open(t)
	p.shot("empty")
	folders, err := os.ReadDir(golden)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		p.forget()
		proof, key := of(filepath.Join(golden, f.Name()))
		if got := p.give("proof", proof, "key", key); got != "Valid: " {
			t.Errorf("%s: %s", f.Name(), got)
		}
		if f.Name() != "digits" {
			continue
		}
		p.shot("valid")
		best := p.milliseconds()
		for range 2 {
			p.run(chromedp.Click("#verify", chromedp.ByQuery))
			p.verdict()
			best = min(best, p.milliseconds())
		}
		t.Logf("digits: %d ms", best)
		if timed() && best > 150 {
			t.Errorf("digits take %d ms", best)
		}
		if s := p.text("#proved"); !strings.Contains(s, "Highest score: class 0") || !strings.Contains(s, "Compare it with the one that the model's owner has published") {
			t.Errorf("no classes: %s", s)
		}
		p.run(chromedp.WaitVisible(`canvas[aria-label^="picture 1 of 1, 8 by 8"]`, chromedp.ByQuery))
	}
}

// TestLarge: an opening of 700 KB within a second and a half, and a proof of several MB, with
// progress on the way.
func TestLarge(t *testing.T) {
	p := open(t)
	proof, key := made("medium")
	best := 1 << 30
	for range 3 {
		p.forget()
		if got := p.give("proof", proof, "key", key); got != "Valid: " {
			t.Fatal(got)
		}
		best = min(best, p.milliseconds())
	}
	t.Logf("medium: %d ms", best)
	if timed() && best > 1500 {
		t.Errorf("a proof of 700 KB takes %d ms", best)
	}
	p.forget()
	p.run(chromedp.Evaluate(`globalThis.parts = new Set();
		new MutationObserver(() => parts.add(document.getElementById("progress").value)).observe(document.getElementById("progress"), {attributes: true}); 0`, nil))
	proof, key = made("large")
	p.run(chromedp.SetUploadFiles("#proof", []string{proof}, chromedp.ByQuery), chromedp.SetUploadFiles("#key", []string{key}, chromedp.ByQuery))
	p.run(chromedp.Poll(`document.getElementById("progress").value > 0.2`, nil, chromedp.WithPollingInterval(5*time.Millisecond)))
	p.shot("verifying")
	if got := p.verdict(); got != "Valid: " {
		t.Fatal(got)
	}
	t.Logf("large: %d ms", p.milliseconds())
	var steps int
	p.run(chromedp.Evaluate(`parts.size`, &steps))
	if steps < 3 {
		t.Errorf("%d steps of progress", steps)
	}
}

// TestAltered: 200 altered proofs and keys are refused, and the page goes on.
func TestAltered(t *testing.T) {
	p := open(t)
	rng := rand.New(rand.NewPCG(1, 2))
	folder := t.TempDir()
	names := []string{"conv", "linear", "transpose", "digits", "averagepool", "division"}
	for i := range 200 {
		proofPath, keyPath := of(filepath.Join(golden, names[i%len(names)]))
		proof, err := os.ReadFile(proofPath)
		if err != nil {
			t.Fatal(err)
		}
		key, err := os.ReadFile(keyPath)
		if err != nil {
			t.Fatal(err)
		}
		switch rng.IntN(5) {
		case 3:
			proof = proof[:rng.IntN(len(proof))]
		case 4:
			key[rng.IntN(len(key))] ^= 1 << rng.IntN(8)
		default:
			proof[rng.IntN(len(proof))] ^= 1 << rng.IntN(8)
		}
		paths := []string{filepath.Join(folder, "x.proof"), filepath.Join(folder, "x.vk")}
		for j, data := range [][]byte{proof, key} {
			if err := os.WriteFile(paths[j], data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		p.forget()
		if got := p.give("proof", paths[0], "key", paths[1]); !strings.HasPrefix(got, "Not valid: ") || len(got) < 20 {
			t.Fatalf("%d, %s: %s", i, names[i%len(names)], got)
		}
	}
	p.shot("not-valid")
	if got := p.text("#plain"); !strings.Contains(got, "Do not rely on anything that it claims") {
		t.Errorf("it says %s", got)
	}
}

// TestRefusals: each with its sentence.
func TestRefusals(t *testing.T) {
	p := open(t)
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	proof, key := of(filepath.Join(golden, "digits"))
	expect := func(got, want string) {
		t.Helper()
		if !strings.HasPrefix(got, "Not valid: ") || !strings.Contains(got, want) {
			t.Errorf("%s: want %s", got, want)
		}
	}
	expect(p.give("proof", write("a.proof", "<b>hello</b>"), "key", key), "not a prove-model proof")
	p.shot("malformed")
	if got := p.text("#plain"); !strings.Contains(got, "A file is not what it should be") {
		t.Errorf("it says %s", got)
	}
	p.forget()
	expect(p.give("proof", proof, "key", write("a.vk", "")), "not a prove-model key")
	p.forget()
	expect(p.give("input", write("input.json", `{"input_data": [[1, 2]]}`), "proof", proof, "key", key), "another input")
	p.shot("another-input")
	if got := p.text("#plain"); !strings.Contains(got, "not about the input that you gave") {
		t.Errorf("it says %s", got)
	}
	p.forget()
	expect(p.give("input", write("input.json", `{"picture": [[[[1, 2]]]]}`), "proof", proof, "key", key), `"picture" is given`)
	p.forget()
	expect(p.give("input", write("input.csv", "1,2"), "proof", proof, "key", key), "neither JSON nor a NumPy file")
	p.forget()
	p.run(chromedp.Evaluate(`document.querySelector("details").open = true; document.getElementById("commitment").value = "0f".repeat(32); 0`, nil))
	expect(p.give("proof", proof, "key", key), "another model's")
	p.forget()
	p.run(chromedp.Evaluate(`document.getElementById("bits").value = "120"; 0`, nil))
	expect(p.give("proof", proof, "key", key), "at least 120 are asked for")
	p.shot("weak")
}

// TestNames: a name that is HTML is shown, not run; one of a file that turns text round
// is shown with what it is made of; text is text.
func TestNames(t *testing.T) {
	p := open(t)
	proof, key := made("names")
	data, err := os.ReadFile(proof)
	if err != nil {
		t.Fatal(err)
	}
	odd := filepath.Join(t.TempDir(), "a\u202e<img src=x onerror=alert(1)>.proof")
	if err := os.WriteFile(odd, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := p.give("proof", odd, "key", key); got != "Valid: " {
		t.Fatal(got)
	}
	p.shot("names")
	if s := p.text("#proved"); !strings.Contains(s, `<img src=x onerror="document.title='owned'">`) {
		t.Errorf("the name is not shown: %s", s)
	}
	if s := p.text("#proof-chosen"); !strings.Contains(s, `a\u{202e}<img`) {
		t.Errorf("the file's name is shown as %q", s)
	}
	var title string
	var images int
	p.run(chromedp.Title(&title), chromedp.Evaluate(`document.querySelectorAll("img").length + document.querySelectorAll("#result script").length`, &images))
	if title == "owned" || images > 0 {
		t.Errorf("the name was run: title %q, %d elements", title, images)
	}
	// Even a script that gets into the page does not run: its policy names those that do.
	p.run(chromedp.Evaluate(`{ const s = document.createElement("script"); s.textContent = "document.title = 'owned'"; document.body.append(s); } 0`, nil), chromedp.Title(&title))
	if title == "owned" {
		t.Error("the policy lets any script run")
	}
	p.mu.Lock()
	refused := len(p.problems)
	p.problems = nil
	p.mu.Unlock()
	if refused == 0 {
		t.Error("nothing was said about the script")
	}
	p.forget()
	proof, key = made("text")
	p.give("proof", proof, "key", key)
	p.shot("text")
	if s := p.text("#proved"); !strings.Contains(s, "it says <b>nothing</b> of why. Größe.") {
		t.Errorf("no text: %s", s)
	}
	p.unfold()
	if s := p.text("#tensors"); !strings.Contains(s, "87 104 97 116") {
		t.Errorf("no numbers: %s", s)
	}
	p.forget()
	proof, key = made("picture")
	p.give("proof", proof, "key", key)
	p.shot("pictures")
	p.run(chromedp.WaitVisible(`canvas[aria-label^="picture 2 of 2, 32 by 24"]`, chromedp.ByQuery))
}

// TestKeyboardAndReader: the page is used without a mouse, and says what it shows.
func TestKeyboardAndReader(t *testing.T) {
	p := open(t)
	focused := func() string {
		var id string
		p.run(chromedp.Evaluate(`document.activeElement.id || document.activeElement.tagName`, &id))
		return id
	}
	var order []string
	for range 4 {
		p.run(chromedp.KeyEvent(kb.Tab))
		order = append(order, focused())
	}
	if got := strings.Join(order, " "); got != "proof key SUMMARY example" {
		t.Errorf("the order of the focus is %s", got)
	}
	p.run(chromedp.KeyEvent(kb.Enter))
	if got := p.verdict(); got != "Valid: " {
		t.Errorf("the example: %s", got)
	}
	if got := focused(); got != "verdict" {
		t.Errorf("after the verdict the focus is on %s", got)
	}
	said := p.said()
	for _, want := range []string{
		"heading Valid", "button Verify", "button Show an example", "region Valid",
		"image picture 1 of 1, 8 by 8, from 0 (black) to 1 (white)", "columnheader class",
		"StaticText the proof is valid: The model gives exactly this output for exactly this input.",
	} {
		if !said[want] {
			t.Errorf("a screen reader is not told %q", want)
		}
	}
	if t.Failed() {
		for s := range said {
			t.Log(s)
		}
	}
}

// said is what a screen reader is told: role and name of everything. The driver's own
// types are older than browsers.
func (p *page) said() map[string]bool {
	p.t.Helper()
	type text struct {
		Value string `json:"value"`
	}
	var tree struct {
		Nodes []struct {
			Ignored bool `json:"ignored"`
			Role    text `json:"role"`
			Name    text `json:"name"`
		} `json:"nodes"`
	}
	p.run(chromedp.ActionFunc(func(ctx context.Context) error {
		return cdp.Execute(ctx, "Accessibility.getFullAXTree", nil, &tree)
	}))
	said := map[string]bool{}
	for _, n := range tree.Nodes {
		if !n.Ignored {
			said[n.Role.Value+" "+n.Name.Value] = true
		}
	}
	return said
}

// TestDark: with the system's dark colours, text has contrast enough, as with light ones.
func TestDark(t *testing.T) {
	p := open(t)
	for _, scheme := range []string{"light", "dark"} {
		p.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
		p.forget()
		p.run(chromedp.Click("#example", chromedp.ByQuery))
		p.verdict()
		var worst float64
		p.run(chromedp.Evaluate(contrast, &worst))
		if worst < 4.5 {
			t.Errorf("%s: a contrast of %.2f", scheme, worst)
		}
		if scheme == "dark" {
			p.shot("dark")
		}
	}
}

// contrast is the least contrast of a text with what is behind it, as WCAG 2 counts it.
const contrast = `(() => {
	const rgb = (c) => c.match(/[\d.]+/g).map(Number);
	const light = (c) => { const [r, g, b] = rgb(c).slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (rgb(c)[3] !== 0) return c; } return "rgb(255,255,255)"; };
	let worst = 21;
	for (const e of document.querySelectorAll("main *, footer *")) {
		if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility() || e.disabled || e.matches(".unseen")) continue;
		const [a, b] = [light(getComputedStyle(e).color), light(behind(e))];
		worst = Math.min(worst, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
	}
	return worst;
})()`

// choose sets a field of the form, as typing and leaving it does.
func (p *page) choose(fields ...string) {
	p.t.Helper()
	for i := 0; i < len(fields); i += 2 {
		p.run(chromedp.Evaluate(fmt.Sprintf(`{ const e = document.getElementById(%q); e.value = %q; e.dispatchEvent(new Event("change", {bubbles: true})); } 0`, fields[i], fields[i+1]), nil))
	}
}

// TestText: a text is shown as text, and who chose its words is said.
func TestText(t *testing.T) {
	p := open(t)
	tokenizer := filepath.Join(os.Getenv("PROVE_MODEL_FILES"), "story", "model", "tokenizer.json")
	shows := func(selector string, wanted ...string) {
		t.Helper()
		for _, want := range wanted {
			if s := p.text(selector); !strings.Contains(s, want) {
				t.Errorf("%s does not show %q: %s", selector, want, s)
			}
		}
	}
	noBars := func() {
		t.Helper()
		var bars int
		if p.run(chromedp.Evaluate(`document.querySelectorAll("#result .bar").length`, &bars)); bars > 0 {
			t.Errorf("%d bars for a text", bars)
		}
	}
	proof, key := made("story")
	if got := p.give("proof", proof, "key", key); got != "Valid: " {
		t.Fatal(got)
	}
	p.shot("text-without-tokenizer")
	noBars()
	shows("#proved", "1 2 3 4 5", "6 8 9 10 11 12 13 15 0", "Choose the tokenizer")
	p.run(chromedp.Click("#ask-tokenizer", chromedp.ByQuery))
	if got := p.give("tokenizer", tokenizer); got != "Valid: " {
		t.Fatal(got)
	}
	p.run(chromedp.Evaluate(`document.getElementById("more").open = false; 0`, nil))
	p.shot("text-likeliest")
	noBars()
	shows("#proved", "The capital of France is", " Paris. It lies on the Seine!", "Nobody picked these words", "The model itself ended the answer")
	shows("#plain", "The model wrote exactly this answer to exactly this prompt.")
	p.unfold()
	shows("#tensors", `" Paris" 6`, "each is proved to have the greatest score (logit)", "Output argmax of logits")
	p.shot("text-details")

	// Tokens that were drawn: whoever does not know how is told what to ask for.
	p.forget()
	proof, key = made("drawn")
	if got := p.give("tokenizer", tokenizer, "proof", proof, "key", key); !strings.HasPrefix(got, "Not valid: the text does not follow from the logits") {
		t.Fatal(got)
	}
	shows("#plain", "drawn by lot", "whoever made the proof has to tell you")
	p.shot("text-seed-missing")
	p.choose("temperature", "1.5", "top-k", "5", "seed", "20")
	if got := p.verdict(); got != "Valid: " {
		t.Fatal(got)
	}
	shows("#proved", " Lyon. It lies on the Rhône!", "drawn by lot", "the seed 20 and the temperature 1.5, among the 5 likeliest", "may have tried others before")
	p.run(chromedp.Evaluate(`document.getElementById("more").open = false; 0`, nil))
	p.shot("text-drawn")
	p.choose("seed", "21")
	if got := p.verdict(); !strings.HasPrefix(got, "Not valid: ") {
		t.Error(got)
	}
	shows("#plain", "not those that this seed draws")

	// Another tokenizer would show other words.
	p.forget()
	text, err := os.ReadFile(tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(other, []byte(strings.Replace(string(text), " Paris", " Milan", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	proof, key = made("story")
	if got := p.give("tokenizer", other, "proof", proof, "key", key); !strings.Contains(got, "the key is for the file with the SHA-256") {
		t.Error(got)
	}
	shows("#plain", "The tokenizer is not the one of this model")
}

// TestClasses: classes have the names of a file that gives some, which the page says.
func TestClasses(t *testing.T) {
	p := open(t)
	folder := t.TempDir()
	proof, key := of(filepath.Join(golden, "digits"))
	for name, content := range map[string]string{
		"names.txt": "zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n", "config.json": `{"id2label": {"0": "zero", "2": "two"}}`, "list.json": `["zero", "one"]`,
	} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		p.forget()
		if got := p.give("classes", path, "proof", proof, "key", key); got != "Valid: " {
			t.Fatal(got)
		}
		if s := p.text("#proved"); !strings.Contains(s, "Highest score: zero") || !strings.Contains(s, "the proof knows classes by their number alone") {
			t.Errorf("%s: %s", name, s)
		}
		if name == "names.txt" {
			p.shot("classes")
		}
	}
}

// TestNarrow: nothing is wider than the screen of a small telephone.
func TestNarrow(t *testing.T) {
	narrow := func(p *page, name string) {
		t.Helper()
		var width int
		p.run(chromedp.Evaluate(`document.documentElement.scrollWidth`, &width))
		if width > 360 {
			t.Errorf("%s is %d pixels wide", name, width)
		}
		p.shot(name + "-narrow")
	}
	small := emulation.SetDeviceMetricsOverride(360, 780, 1, true)
	p := open(t)
	p.run(small)
	proof, key := of(filepath.Join(golden, "digits"))
	p.give("proof", proof, "key", key)
	p.unfold()
	narrow(p, "valid")
	p.forget()
	proof, key = made("story")
	p.give("tokenizer", filepath.Join(os.Getenv("PROVE_MODEL_FILES"), "story", "model", "tokenizer.json"), "proof", proof, "key", key)
	p.unfold()
	narrow(p, "text")
	p.forget()
	p.run(chromedp.Evaluate(`document.getElementById("more").open = true; 0`, nil))
	p.give("proof", key, "key", key)
	narrow(p, "malformed")
	for _, name := range []string{"digit", "story"} {
		p := browse(t, "PROVE_MODEL_FILES", filepath.Join(name, "report.html"))
		p.run(small)
		narrow(p, "report-"+name)
	}
}

// TestReport: the report of a proof opens without a fault, loads nothing, shows what was
// proved, and names the layer with the largest error.
func TestReport(t *testing.T) {
	for name, wanted := range map[string][]string{
		"digit": {"Highest score", "0"},
		"story": {"The capital of France is", " Paris. It lies on the Seine!", "Nobody picked these words", "Lyon"},
		"drawn": {" Lyon. It lies on the Rhône!", "drawn by lot", "seed 20"},
	} {
		p := browse(t, "PROVE_MODEL_FILES", filepath.Join(name, "report.html"))
		for _, scheme := range []string{"light", "dark"} {
			p.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
			var worst float64
			if p.run(chromedp.Evaluate(contrast, &worst)); worst < 4.5 {
				t.Errorf("%s, %s: a contrast of %.2f", name, scheme, worst)
			}
		}
		p.run(emulation.SetEmulatedMedia())
		p.shot("report-" + name)
		p.run(chromedp.Evaluate(`for (const d of document.querySelectorAll("details")) d.open = true; 0`, nil))
		if got := p.text("#worst"); !strings.HasPrefix(got, "The largest error is at ") {
			t.Errorf("the report says %q", got)
		}
		for _, want := range wanted {
			if s := p.text("#proved"); !strings.Contains(s, want) {
				t.Errorf("%s does not show %q: %s", name, want, s)
			}
		}
		var plots, pictures int
		p.run(chromedp.Evaluate(`[...document.querySelectorAll(".plot")].filter((s) => s.getBoundingClientRect().height > 20 && [...s.querySelectorAll("i")].some((i) => i.getBoundingClientRect().width > 100)).length`, &plots),
			chromedp.Evaluate(`[...document.querySelectorAll("img")].filter((i) => i.naturalWidth === 8 && i.getBoundingClientRect().width > 60).length`, &pictures))
		if plots < 5 || (pictures == 1) != (name == "digit") {
			t.Errorf("%s: %d plots, %d pictures", name, plots, pictures)
		}
	}
}

// TestDrop: files that are dropped are told apart by what they hold.
func TestDrop(t *testing.T) {
	p := open(t)
	p.run(chromedp.Evaluate(`(() => {
		const { proof, key } = example();
		const data = new DataTransfer();
		for (const [name, content] of [["one", key], ["two", proof]]) data.items.add(new File([content], name));
		document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
	})()`, nil))
	if got := p.verdict(); got != "Valid: " {
		t.Error(got)
	}
	if got := p.text("#key-chosen"); !strings.HasPrefix(got, "one, ") {
		t.Errorf("the key is %q", got)
	}
}
