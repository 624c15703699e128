package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/internal/serve/receipt"
)

// textOf is a job of a text that others may be proved with.
func textOf(n int) *Job {
	return &Job{Model: "m", Commitment: commitment, Shared: receipt.SharedAll, Owner: fmt.Sprint("owner", n%2),
		Text: &Text{Prompt: make([]int, 1+n%7), Tokens: []int{n}}}
}

var anySize = &Batch{Most: 8, Fits: func(*Job) bool { return true }}

// waitingTexts has jobs of texts wait, and returns their ids.
func waitingTexts(t *testing.T, q *Queue, n int) (ids []string) {
	t.Helper()
	for i := range n {
		ids = append(ids, accepted(t, q, textOf(i), true).ID)
	}
	return ids
}

// working has one worker prove until the test ends.
func working(t *testing.T, q *Queue, batch *Batch, prove Prover) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() {
		if err := q.Work(ctx, commitment, "w", new(Worker), prove, batch); err != nil {
			t.Error(err)
		}
	})
	wait.Go(func() {
		if err := q.Check(ctx, verifyBytes, false, func(*Record) {}); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); wait.Wait() })
}

// isText holds that a proof is of several texts and has the one with a job's id in its place.
func isText(t *testing.T, q *Queue, r *Record, texts int) {
	t.Helper()
	if r.State != Proved || r.Joint == nil || r.Joint.Texts != texts {
		t.Fatalf("%+v", r)
	}
	j, err := q.job(context.Background(), r.Joint.Proof)
	if err != nil {
		t.Fatal(err)
	}
	if len(j.Joint) != texts || j.Joint[r.Joint.TextID-1].Job != r.ID || !bytes.Equal(held(t, q, r), bytesOf(j)) {
		t.Errorf("text %d is of another job, or the proof has other bytes: %+v", r.Joint.TextID, r)
	}
}

// Jobs that wait are proved together, those of another kind are not, and one that is alone waits for nobody.
func TestJoint(t *testing.T) {
	q := opened(t, t.TempDir())
	t.Cleanup(q.Close)
	ids := waitingTexts(t, q, 5)
	alone, drawn, longer, owned := textOf(100), textOf(101), textOf(102), textOf(103)
	alone.Shared = ""
	drawn.Text.Sampling = &provemodel.Sampling{Seed: 1, Temperature: 1, TopP: 1}
	longer.Text.Prompt = make([]int, 40)
	owned.Shared = receipt.SharedKey
	var others []string
	for _, j := range []*Job{alone, drawn, longer, owned, jobOf(1)} {
		others = append(others, accepted(t, q, j, true).ID)
	}
	ids = append(ids, accepted(t, q, textOf(5), true).ID)
	var proofs, texts atomic.Int64
	working(t, q, anySize, func(ctx context.Context, j *Job, team *Team, p func(string, int, int)) ([]byte, error) {
		proofs.Add(1)
		texts.Add(int64(len(j.Joint)))
		return proveBytes(ctx, j, team, p)
	})
	for _, id := range others {
		if r := ended(t, q, id); r.State != Proved || r.Joint != nil {
			t.Errorf("%+v", r)
		}
	}
	// Eight messages are looked at at a time, of which one is of another kind or more.
	found := map[string]int{}
	for _, id := range ids {
		if r := ended(t, q, id); r.Joint != nil {
			isText(t, q, r, r.Joint.Texts)
			found[r.Joint.Proof]++
		}
	}
	if len(found) == 0 || int(texts.Load()) < 5 || int(proofs.Load()) > len(others)+2 {
		t.Errorf("%d proofs, %d texts of several: %v", proofs.Load(), texts.Load(), found)
	}
	one := accepted(t, q, textOf(200), true)
	if r := ended(t, q, one.ID); r.State != Proved || r.Joint != nil {
		t.Errorf("alone: %+v", r)
	}
	until(t, "an empty queue", func() bool { n, err := q.Waiting(context.Background()); return err == nil && n == 0 })
	// The same question again has the proof that there is.
	if r := accepted(t, q, textOf(0), true); r.State != Proved || r.Joint == nil {
		t.Errorf("asked again: %+v", r)
	}
}

// A joint job takes no more texts than there is memory for.
func TestJointFits(t *testing.T) {
	q := opened(t, t.TempDir())
	t.Cleanup(q.Close)
	ids := waitingTexts(t, q, 8)
	working(t, q, &Batch{Most: 8, Fits: func(j *Job) bool { return len(j.Joint) <= 3 }}, proveBytes)
	for _, id := range ids {
		r := ended(t, q, id)
		if r.Joint == nil || r.Joint.Texts > 3 {
			t.Fatalf("%+v", r)
		}
		isText(t, q, r, r.Joint.Texts)
	}
}

// A worker that ends over a joint job leaves it to another, which proves the same texts in the same order; after three of them the texts
// are proved by themselves.
func TestJointKilled(t *testing.T) {
	t.Parallel()
	for _, kills := range []int{1, jointTries} {
		s := opening(t)
		s.batch = anySize
		ids := waitingTexts(t, s.q, 6)
		var mu sync.Mutex
		var seen []string
		for range kills {
			begun := make(chan struct{})
			kill := s.worker(func(ctx context.Context, j *Job, _ *Team, _ func(string, int, int)) ([]byte, error) {
				id, _ := j.ID()
				mu.Lock()
				seen = append(seen, id)
				mu.Unlock()
				close(begun)
				<-ctx.Done()
				return nil, ctx.Err()
			}, nil)
			<-begun
			kill()
		}
		s.worker(proveBytes, nil)
		for _, id := range ids {
			r := ended(t, s.q, id)
			if kills < jointTries {
				isText(t, s.q, r, 6)
				if r.Joint.Proof != seen[0] {
					t.Errorf("another proof than the one that was begun: %+v", r)
				}
			} else if r.State != Proved || r.Joint != nil || r.Parted != seen[0] {
				t.Errorf("%+v", r)
			}
		}
		if len(slices.Compact(seen)) != 1 {
			t.Errorf("the texts that were proved together have changed: %v", seen)
		}
	}
}

// A process that ends in the middle of making a joint job leaves all that goes on: at whichever step, nothing is lost, and nothing is
// proved that was.
func TestJointHalfMade(t *testing.T) {
	t.Parallel()
	for _, marked := range []int{0, 1, 3, 4} { // records that say so when it ends
		q := opened(t, t.TempDir())
		t.Cleanup(q.Close)
		ids := waitingTexts(t, q, 4)
		ctx := context.Background()
		list := make([]*taken, len(ids))
		for i, id := range ids {
			list[i] = &taken{id: id, job: textOf(i)}
		}
		if _, err := q.enterJoint(ctx, list); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids[marked:] {
			if _, err := q.change(ctx, id, func(r *Record) bool { r.Joint = nil; return true }); err != nil {
				t.Fatal(err)
			}
		}
		var proofs atomic.Int64
		working(t, q, nil, func(ctx context.Context, j *Job, team *Team, p func(string, int, int)) ([]byte, error) {
			proofs.Add(1)
			return proveBytes(ctx, j, team, p)
		})
		for _, id := range ids {
			if r := ended(t, q, id); r.State != Proved || len(r.Faults) > 0 {
				t.Errorf("%d marked: %+v", marked, r)
			}
		}
		until(t, "an empty queue", func() bool { n, err := q.Waiting(ctx); return err == nil && n == 0 })
		if got := int(proofs.Load()); got > 1+len(ids)-marked {
			t.Errorf("%d marked: %d proofs", marked, got)
		}
	}
}

// A text that cannot be proved fails alone: those that were to be proved with it are proved by themselves. So they are if joint proofs
// are wrong.
func TestJointFails(t *testing.T) {
	t.Parallel()
	bad := func(j *Job) bool { return j.Text != nil && j.Text.Tokens[0] == 2 }
	for name, joint := range map[string]func() ([]byte, error){
		"an error":    func() ([]byte, error) { return nil, errors.New("a text is too long") },
		"wrong bytes": func() ([]byte, error) { return []byte("wrong"), nil },
	} {
		q := opened(t, t.TempDir())
		t.Cleanup(q.Close)
		ids := waitingTexts(t, q, 4)
		working(t, q, anySize, func(ctx context.Context, j *Job, team *Team, p func(string, int, int)) ([]byte, error) {
			switch {
			case j.Joint != nil:
				return joint()
			case bad(j):
				return nil, errors.New("this text is too long")
			}
			return proveBytes(ctx, j, team, p)
		})
		for i, id := range ids {
			r := ended(t, q, id)
			want := Proved
			if bad(textOf(i)) {
				want = Failed
			}
			if r.State != want || r.Joint != nil || r.Parted == "" || want == Failed && r.Error != "this text is too long" || name == "wrong bytes" && len(r.Faults) != jointFaults {
				t.Errorf("%s: job %d: %+v", name, i, r)
			}
		}
		// It can be asked for again, and is proved by itself.
		if _, err := q.Prove(context.Background(), ids[2]); err != nil {
			t.Fatal(err)
		}
		if r := ended(t, q, ids[2]); r.State != Failed {
			t.Errorf("%+v", r)
		}
	}
}

// A worker that was silent for long, while its jobs were given to another, changes nothing when it goes on.
func TestJointLate(t *testing.T) {
	t.Parallel()
	q := opened(t, t.TempDir())
	t.Cleanup(q.Close)
	ctx := context.Background()
	ids := waitingTexts(t, q, 4)
	c, err := q.jobs.CreateOrUpdateConsumer(ctx, q.workers(commitment))
	if err != nil {
		t.Fatal(err)
	}
	var late []*taken
	for i := range ids {
		m, err := c.Next()
		if err != nil {
			t.Fatal(err)
		}
		late = append(late, &taken{m, ids[i], textOf(i)})
	}
	working(t, q, anySize, proveBytes) // gets them after q.wait
	for _, id := range ids {
		if r := ended(t, q, id); r.State != Proved {
			t.Errorf("%+v", r)
		}
	}
	before, _ := q.Record(ctx, ids[1])
	other := []*taken{late[3], late[1]} // in an order in which nobody has joined them
	if in, err := q.enterJoint(ctx, other); err != nil || slices.Contains(in, true) {
		t.Errorf("%v, %v", in, err)
	}
	if joined, err := q.join(ctx, c, late[0].m, anySize); joined || err != nil {
		t.Errorf("what was proved is joined: %v", err)
	}
	until(t, "an empty queue", func() bool { n, err := q.Waiting(ctx); return err == nil && n == 0 })
	if after, err := q.Record(ctx, ids[1]); err != nil || after.SHA256 != before.SHA256 || len(after.Faults) > 0 || *after.Joint != *before.Joint {
		t.Errorf("%+v became %+v, %v", before, after, err)
	}
}

// A job that many workers have ended over is given up, and begun anew when somebody asks for it.
func TestTries(t *testing.T) {
	q := opened(t, t.TempDir())
	t.Cleanup(q.Close)
	id := accepted(t, q, jobOf(1), true).ID
	if _, err := q.change(context.Background(), id, func(r *Record) bool { r.Tries = tries; return true }); err != nil {
		t.Fatal(err)
	}
	working(t, q, anySize, proveBytes)
	if r := ended(t, q, id); r.State != Failed || r.Error != "20 workers have ended over it, or could not leave the result" {
		t.Errorf("%+v", r)
	}
	if _, err := q.Prove(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	if r := ended(t, q, id); r.State != Proved || r.Tries != 1 {
		t.Errorf("%+v", r)
	}
}

// What a worker makes one job of is held against the jobs themselves: a joint one with other texts, or with those of somebody who has not
// allowed it, counts for nobody, and each is proved by itself.
func TestJointForged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, c := range map[string]struct {
		own   func(j *Job) // of the second of two jobs
		forge func(j *Job) // of the joint one
	}{
		"as it is":            {func(*Job) {}, nil},
		"another text":        {func(*Job) {}, func(j *Job) { j.Joint[1].Text = &Text{Prompt: []int{9}, Tokens: []int{9}} }},
		"by itself":           {func(j *Job) { j.Shared = "" }, func(*Job) {}},
		"another owner":       {func(j *Job) { j.Shared = receipt.SharedKey }, func(*Job) {}},
		"another rule":        {func(j *Job) { j.Text.Sampling = &provemodel.Sampling{Seed: 1} }, func(*Job) {}},
		"said to be for all":  {func(j *Job) { j.Shared = receipt.SharedKey }, func(j *Job) { j.Shared = receipt.SharedKey }},
		"of another's texts":  {func(*Job) {}, func(j *Job) { j.Joint[0].Job, j.Joint[1].Job = j.Joint[1].Job, j.Joint[0].Job }},
		"of another key than": {func(j *Job) { j.Commitment = fmt.Sprintf("%064x", 8) }, func(*Job) {}},
	} {
		q := opened(t, t.TempDir())
		t.Cleanup(q.Close)
		a, b := textOf(0), textOf(1)
		c.own(b)
		ids := []string{accepted(t, q, a, true).ID, accepted(t, q, b, true).ID}
		joint := jointOf([]*taken{{id: ids[0], job: a}, {id: ids[1], job: b}})
		if c.forge != nil {
			c.forge(joint)
		}
		if wrong, err := q.wrongPart(ctx, joint); (wrong != "") != (c.forge != nil) || err != nil {
			t.Errorf("%s: %q, %v", name, wrong, err)
		}
		data, _ := joint.encode()
		id, _ := joint.ID()
		if err := q.files.put(ctx, jobFile(id), data); err != nil {
			t.Fatal(err)
		}
		r, err := q.enter(ctx, &Record{ID: id, State: Queued, Model: joint.Model, Commitment: commitment, Texts: 2})
		if err != nil {
			t.Fatal(err)
		}
		if err := q.publish(ctx, r, ""); err != nil {
			t.Fatal(err)
		}
		working(t, q, nil, proveBytes)
		until(t, "the end of the joint job", func() bool { r, _ = q.Record(ctx, id); return r.State.Final() })
		if (r.State == Failed) != (c.forge != nil) {
			t.Errorf("%s: %+v", name, r)
		}
		if b.Commitment == commitment {
			if r := ended(t, q, ids[1]); r.State != Proved || c.forge != nil && r.Joint != nil {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
}

// Two proofs of one job, by itself and with others, are no fault: the first that holds stays.
func TestJointAndAlone(t *testing.T) {
	q := opened(t, t.TempDir())
	t.Cleanup(q.Close)
	ctx := context.Background()
	ids := waitingTexts(t, q, 2)
	list := []*taken{{id: ids[0], job: textOf(0)}, {id: ids[1], job: textOf(1)}}
	if _, err := q.enterJoint(ctx, list); err != nil {
		t.Fatal(err)
	}
	joint, _ := jointOf(list).ID()
	leave := func(id string, j *Job) *Record {
		t.Helper()
		file := bytesOf(j)
		digest := fmt.Sprintf("%x", sha256.Sum256(file))
		if err := q.files.put(ctx, proofFile(id, digest), file); err != nil {
			t.Fatal(err)
		}
		r, err := q.check(ctx, &result{ID: id, Worker: "w", SHA256: digest}, verifyBytes)
		if err != nil {
			t.Fatal(err)
		}
		if r.Texts > 0 {
			if _, err := q.settle(ctx, r); err != nil {
				t.Fatal(err)
			}
		}
		return r
	}
	if r := leave(ids[0], textOf(0)); r.State != Proved || r.Joint != nil {
		t.Errorf("%+v", r)
	}
	leave(joint, jointOf(list))
	leave(ids[1], textOf(1))
	for i, id := range ids {
		r, err := q.Record(ctx, id)
		if err != nil || r.State != Proved || len(r.Faults) > 0 || (r.Joint != nil) != (i == 1) {
			t.Errorf("job %d: %+v, %v", i, r, err)
		}
		held(t, q, r)
	}
	if r, err := q.Prove(ctx, joint); err != nil || r.State != Proved {
		t.Errorf("%+v, %v", r, err)
	}
}

// Jobs of one class are those that one proof may be of.
func TestClass(t *testing.T) {
	a := textOf(1)
	if a.class() != textOf(2).class() || a.class() == "" {
		t.Error("two texts that anybody may be proved with have other classes")
	}
	for name, change := range map[string]func(j *Job){
		"an owner":  func(j *Job) { j.Shared = receipt.SharedKey },
		"a rule":    func(j *Job) { j.Text.Sampling = &provemodel.Sampling{Seed: 1} },
		"logits":    func(j *Job) { j.Text.Logits = true },
		"long":      func(j *Job) { j.Text.Prompt = make([]int, 33) },
		"by itself": func(j *Job) { j.Shared = "" },
	} {
		b := textOf(1)
		if change(b); b.class() == a.class() {
			t.Errorf("%s: the same class", name)
		}
	}
	b, c := textOf(1), textOf(2)
	b.Shared, c.Shared = receipt.SharedKey, receipt.SharedKey
	if b.class() == c.class() {
		t.Error("two owners have one class")
	}
	for _, j := range []*Job{{Joint: []Part{}, Text: &Text{}}, {Inputs: provemodel.Input{}, Joint: []Part{{}}}} {
		if _, err := j.ID(); err == nil {
			t.Errorf("%+v is a job", j)
		}
	}
}
