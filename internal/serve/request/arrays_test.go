package request

import (
	"encoding/json"
	"math"
	"testing"
)

// Integers that no float64 has, or that are out of their type's range, are refused, and not rounded.
func TestIntegers(t *testing.T) {
	for _, c := range []struct {
		datatype, data string
		want           float64
		ok             bool
	}{
		{"INT64", "9007199254740991", 1<<53 - 1, true}, {"INT64", "-9007199254740991", 1 - 1<<53, true}, {"INT64", "9007199254740993", 0, false},
		{"INT64", "-9007199254740993", 0, false}, {"UINT64", "9007199254740993", 0, false},
		{"UINT64", "-1", 0, false}, {"INT32", "-2147483648", -1 << 31, true},
		{"INT32", "2147483648", 0, false}, {"BOOL", "2", 0, false}, {"BOOL", "true", 1, true},
	} {
		a := &Array{Shape: []int{1}, Datatype: c.datatype, Data: json.RawMessage("[" + c.data + "]")}
		got, err := a.Read()
		if (err == nil) != c.ok || c.ok && got[0] != c.want {
			t.Errorf("%s %s: %v, %v", c.datatype, c.data, got, err)
		}
	}
}

func TestNumbers(t *testing.T) {
	var n Numbers
	if err := json.Unmarshal([]byte(`[1.5, "NaN", "Infinity", "-Infinity"]`), &n); err != nil || len(n) != 4 {
		t.Fatal(n, err)
	}
	if n[0] != 1.5 || !math.IsNaN(n[1]) || !math.IsInf(n[2], 1) || !math.IsInf(n[3], -1) {
		t.Error(n)
	}
	for _, bad := range []string{`["1"]`, `[{}]`, `[null, "NaN"]`, `"NaN"`, `{}`} {
		if err := json.Unmarshal([]byte(bad), &n); err == nil {
			t.Errorf("%s: %v", bad, n)
		}
	}
}
