package onnx

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prove-model/prove-model/graph"
)

// A table of many columns takes time in proportion to them, whether it is read or refused.
func TestWideTable(t *testing.T) {
	var names []string
	for i := range maxColumns {
		names = append(names, fmt.Sprintf("c%d", i))
	}
	begin := time.Now()
	header := strings.Join(names, ",")
	in, err := refusal(parseTable, []byte(header+"\n"+strings.Repeat("1,", maxColumns-1)+"2\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if column, err := in[0].table.column(in[0].table.at[name], graph.Input{Name: name}); err != nil || len(column.Values) != 1 {
			t.Fatalf("column %s", name)
		}
	}
	if _, err := refusal(parseTable, []byte(header+",c7\n1\n")); err == nil || !strings.Contains(err.Error(), "no name of its own") {
		t.Error(err)
	}
	if _, err := refusal(parseTable, []byte(header+",more\n1\n")); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
	if took := time.Since(begin); took > patience() {
		t.Errorf("%d columns took %v", maxColumns, took)
	}
}
