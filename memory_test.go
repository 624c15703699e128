package provemodel

import (
	"errors"
	"runtime"
	"slices"
	"testing"
)

// A limit changes no byte; one that is too small is refused before anything is done, with
// the least that will do.
func TestLimitMemory(t *testing.T) {
	c, in := commit(t, quick...)
	p, err := Prove(t.Context(), c, in, quick...)
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Circuit().Estimate(in, quick...)
	if err != nil {
		t.Fatal(err)
	}
	if e.Memory < e.Beside || e.Least < 64<<20 || e.Commit <= 0 || e.Prove <= 0 || e.Device != 0 {
		t.Errorf("%+v", *e)
	}
	small, err := LimitMemory(64<<20, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var short *MemoryError
	if _, err := Prove(t.Context(), c, in, quick...); !errors.As(err, &short) || short.Limit != 64<<20 || short.Least != e.Least {
		t.Errorf("%v", err)
	}
	if _, err := Commit(t.Context(), c.Circuit(), quick...); !errors.As(err, &short) {
		t.Errorf("a commitment: %v", err)
	}
	if _, err := LimitMemory(1<<40, ""); !errors.Is(err, ErrLimited) {
		t.Errorf("a second limit: %v", err)
	}
	if _, err := small(); err != nil {
		t.Error(err)
	}
	large, err := LimitMemory(e.Least, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	other, q := prove(t, quick...)
	filed, err := large()
	if err != nil || runtime.GOOS == "linux" && filed == 0 {
		t.Errorf("%d bytes in files, %v", filed, err)
	}
	if other.Commitment() != c.Commitment() || !slices.Equal(p.File, q.File) {
		t.Error("another key or proof")
	}
	if MemoryLimit() != 0 {
		t.Error("the limit is still in force")
	}
}
