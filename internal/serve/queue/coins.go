package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/prove-model/prove-model/internal/must"
)

// Coin decides which answers of a day, in UTC, are proved (package receipt, Toss). All servers of a store have the same
// coin for a day.
type Coin struct {
	Day  string // 2006-01-02
	Seed []byte
}

const (
	coinsName = prefix + "-coins"
	seedBytes = 32
)

// Over returns the end of the coin's day. The coin is not tossed after that.
func (c *Coin) Over() time.Time {
	day, err := time.Parse(time.DateOnly, c.Day)
	if err != nil {
		return time.Unix(1<<40, 0)
	}
	return day.AddDate(0, 0, 1)
}

// Coin returns the coin of the day that a time is on, and makes it if there is none.
func (q *Queue) Coin(ctx context.Context, at time.Time) (*Coin, error) {
	c := &Coin{Day: at.UTC().Format(time.DateOnly), Seed: make([]byte, seedBytes)}
	_, _ = rand.Read(c.Seed) // never fails
	entry, err := q.coins.Get(ctx, c.Day)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		if _, err = q.coins.Create(ctx, c.Day, c.Seed); err == nil {
			return c, nil
		}
		if errors.Is(err, jetstream.ErrKeyExists) {
			entry, err = q.coins.Get(ctx, c.Day)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the store of coins: %w", err)
	}
	c.Seed = entry.Value()
	return c, nil
}

// Coins returns all coins that were made, the earliest first.
func (q *Queue) Coins(ctx context.Context) (_ []*Coin, err error) {
	defer must.Catch(&err)
	days, err := q.coins.Keys(ctx)
	if errors.Is(err, jetstream.ErrNoKeysFound) {
		return nil, nil
	}
	must.OKAs(err, "the store of coins")
	slices.Sort(days)
	list := make([]*Coin, len(days))
	for i, day := range days {
		entry := must.GetAs(q.coins.Get(ctx, day))("the store of coins")
		list[i] = &Coin{day, entry.Value()}
	}
	return list, nil
}
