package onnx

import (
	"fmt"
	"strings"
)

// NodeError says why one node of the file cannot be used.
type NodeError struct {
	Op     string // operator, with its domain unless that is ONNX's own
	Name   string // the node's name, or its first output where it has none
	Reason string
}

func (e NodeError) Error() string {
	return fmt.Sprintf("%s %s: %s", quote(e.Op), quote(e.Name), e.Reason)
}

// NodesError is every node of a model that cannot be used, in topological order.
type NodesError []NodeError

func (e NodesError) Error() string {
	if len(e) == 1 {
		return "a node cannot be used: " + e[0].Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d nodes cannot be used:", len(e))
	for _, n := range e {
		b.WriteString("\n  ")
		b.WriteString(n.Error())
	}
	return b.String()
}

// quote puts a string of the file in quotes for a message, shortened: names can be as
// long as the file.
func quote(s string) string {
	const most = 120
	if len(s) > most {
		return fmt.Sprintf("%q…", s[:most])
	}
	return fmt.Sprintf("%q", s)
}
