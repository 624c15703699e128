package queue

import (
	"bytes"
	"context"
	"sync"
	"testing"
)

// BenchmarkOverhead is what the store adds to a proof of 1.5 MB that takes no time to make and to verify: a job from where it is accepted to
// where its record says proved.
func BenchmarkOverhead(b *testing.B) {
	ctx, cancel := context.WithCancel(context.Background())
	q, err := Embedded(ctx, b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	proof := bytes.Repeat([]byte{1, 2, 3}, 500_000)
	done := make(chan struct{})
	var wait sync.WaitGroup
	defer func() { cancel(); wait.Wait(); q.Close() }()
	wait.Go(func() {
		_ = q.Work(ctx, commitment, "w", new(Worker), func(context.Context, *Job, *Team, func(string, int, int)) ([]byte, error) { return proof, nil }, nil)
	})
	wait.Go(func() {
		_ = q.Check(ctx, func(context.Context, *Job, []byte) error { return nil }, false, func(*Record) { done <- struct{}{} })
	})
	for n := 0; b.Loop(); n++ {
		if _, err := q.Accept(ctx, jobOf(n), true); err != nil {
			b.Fatal(err)
		}
		<-done
	}
}
