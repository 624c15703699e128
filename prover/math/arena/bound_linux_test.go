package arena

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/prove-model/prove-model/internal/resident"
)

// What does not fit under a bound is in files, whose pages leave, and keeps its values.
func TestBound(t *testing.T) {
	now, ok := resident.Now()
	if !ok {
		t.Fatal("sizes are not known")
	}
	bytes := now.Anonymous + now.File + 256<<20
	release, err := Bound(bytes, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Bound(bytes, ""); !errors.Is(err, ErrBound) || Bounded() != bytes {
		t.Errorf("a second bound: %v, and %d is in force", err, Bounded())
	}
	var a Arena
	const n, each = 16, 32 << 20
	var buffers [][]int32
	for k := range n {
		v := Make[int32](&a, each/4)
		for i := 0; i < len(v); i += 1024 {
			v[i] = int32(k + i)
		}
		buffers = append(buffers, v)
	}
	lists := Lasting[int16](64 << 20)
	for i := 0; i < len(lists); i += 2048 {
		lists[i] = int16(i >> 11)
	}
	least := int64(1 << 62)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline) && least > bytes; time.Sleep(tick) {
		now, _ = resident.Now()
		least = min(least, now.Anonymous+now.File)
	}
	if least > bytes {
		t.Errorf("%d bytes in memory, and the bound is %d", least, bytes)
	}
	for k, v := range buffers {
		for i := 0; i < len(v); i += 1024 {
			if v[i] != int32(k+i) {
				t.Fatalf("entry %d of buffer %d is %d", i, k, v[i])
			}
		}
	}
	for i := 0; i < len(lists); i += 2048 {
		if lists[i] != int16(i>>11) {
			t.Fatalf("entry %d of the list is %d", i, lists[i])
		}
	}
	a.Close()
	filed, err := release()
	if err != nil || filed < n*each/2 || Bounded() != 0 {
		t.Errorf("%d bytes in files, %v; %d is in force", filed, err, Bounded())
	}
	if again, err := release(); err != nil || again != filed {
		t.Errorf("released again: %d, %v", again, err)
	}
}

// Without a folder for files memory is taken, and the error is told.
func TestBoundWithoutFiles(t *testing.T) {
	release, err := Bound(64<<20, filepath.Join(t.TempDir(), "none"))
	if err != nil {
		t.Fatal(err)
	}
	if a := ForRun(); a == nil || len(Make[int32](a, 64<<20/4)) != 16<<20 {
		t.Error("no memory for a run")
	} else {
		a.Close()
	}
	if len(Lasting[int8](32<<20)) != 32<<20 {
		t.Error("no memory for a list")
	}
	if filed, err := release(); err == nil || filed != 0 {
		t.Errorf("%d bytes in files, and %v", filed, err)
	}
	if ForRun() != nil {
		t.Error("an arena without a bound")
	}
}
