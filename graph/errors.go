package graph

import (
	"fmt"
	"strings"
)

// NodeError says why one node of a model cannot be used.
type NodeError struct {
	Op     string // its operator, as the source of the model calls it; may be empty
	Name   string // its name there, or what it is called after
	Reason string
}

func (e NodeError) Error() string {
	if e.Op == "" {
		return fmt.Sprintf("%s: %s", Quote(e.Name), e.Reason)
	}
	return fmt.Sprintf("%s %s: %s", Quote(e.Op), Quote(e.Name), e.Reason)
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

// Quote puts a string of the model in quotes for a message, shortened: names can be as
// long as the file that they are from.
func Quote(s string) string {
	const most = 120
	if len(s) > most {
		return fmt.Sprintf("%q…", s[:most])
	}
	return fmt.Sprintf("%q", s)
}
