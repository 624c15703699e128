package prover

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prove-model/prove-model/prover/machine/schedule"
)

// TestInTurn: no worker waits for the last task of a list if another list may be under way, no
// more lists are than may be, and after an error none is begun.
func TestInTurn(t *testing.T) {
	errOwn := errors.New("a task's own")
	for _, c := range []struct {
		together int
		fails    int // the list whose first task does, -1 for none
		takes    time.Duration
		begun    int // lists
	}{
		{0, -1, 4 * 3 * time.Second, 4},
		{1, -1, 4 * 3 * time.Second, 4},
		{2, -1, 8 * time.Second, 4}, // 4·4 s on two workers
		{1, 1, 6 * time.Second, 2},
		{2, 1, 0, 3},
	} {
		t.Run(fmt.Sprint(c.together, c.fails), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				left, begun := map[int]int{}, map[int]bool{}
				lists := make([][]schedule.Task, 4, 5)
				for k := range lists {
					left[k] = 2
					for i, takes := range []time.Duration{3 * time.Second, time.Second} {
						lists[k] = append(lists[k], schedule.Task{ID: fmt.Sprint(k, i), Need: int64(2 - i), Run: func(context.Context, schedule.Worker) error {
							mu.Lock()
							begun[k] = true
							underWay := 0
							for list := range begun {
								if left[list] > 0 {
									underWay++
								}
							}
							if underWay > max(c.together, 1) {
								t.Errorf("%d lists are under way", underWay)
							}
							mu.Unlock()
							time.Sleep(takes)
							mu.Lock()
							defer mu.Unlock()
							left[k]--
							if k == c.fails && i == 0 {
								return errOwn
							}
							return nil
						}})
					}
				}
				lists = append(lists, nil)                                    // nothing was left of it
				fatal := func(error) schedule.Fault { return schedule.Fatal } // the device goes on
				l := &Pool{Schedule: schedule.New([]schedule.Device{{Name: "a GPU", Capacity: 100, Workers: 2}}, fatal)}
				start := time.Now()
				err := l.inTurn(t.Context(), lists, c.together)
				if (c.fails >= 0) != (err != nil) {
					t.Errorf("the error is %v", err)
				}
				if took := time.Since(start); c.takes > 0 && took != c.takes {
					t.Errorf("it took %v, not %v", took, c.takes)
				}
				if len(begun) != c.begun {
					t.Errorf("%d lists were begun, not %d", len(begun), c.begun)
				}
			})
		})
	}
}
