package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/internal/quote"
)

// NodeError says why one node of a model cannot be used.
type NodeError struct {
	Op     string // the node's operator, as the source of the model calls it; may be empty
	Name   string // the node's name in the source, or that of one of its outputs if it has none
	Reason string
}

func (e NodeError) Error() string {
	if e.Op == "" {
		return fmt.Sprintf("%s: %s", Quote(e.Name), e.Reason)
	}
	return fmt.Sprintf("%s %s: %s", Quote(e.Op), Quote(e.Name), e.Reason)
}

// NodesError lists every node of a model that cannot be used, in topological order.
type NodesError []NodeError

// Error lists the nodes by operator and reason, the commonest first.
func (e NodesError) Error() string {
	if len(e) == 1 {
		return "a node cannot be used: " + e[0].Error()
	}
	type group struct {
		NodeError          // the first of the group
		names     []string // of all nodes of the group
	}
	index := map[NodeError]int{}
	var groups []group
	for _, n := range e {
		key := NodeError{Op: n.Op, Reason: n.Reason}
		i, ok := index[key]
		if !ok {
			i = len(groups)
			index[key], groups = i, append(groups, group{NodeError: n})
		}
		groups[i].names = append(groups[i].names, Quote(n.Name))
	}
	slices.SortStableFunc(groups, func(a, b group) int { return len(b.names) - len(a.names) })
	var b strings.Builder
	fmt.Fprintf(&b, "%d nodes cannot be used:", len(e))
	for _, g := range groups {
		b.WriteString("\n  ")
		if len(g.names) == 1 {
			b.WriteString(g.NodeError.Error())
			continue
		}
		const most = 4
		names := strings.Join(g.names[:min(most, len(g.names))], ", ")
		if n := len(g.names) - most; n > 0 {
			names += fmt.Sprintf(" and %d others", n)
		}
		fmt.Fprintf(&b, "%s, %d nodes: %s (%s)", Quote(g.Op), len(g.names), g.Reason, names)
	}
	return b.String()
}

// Quote returns a string of the model in quotes for a message, shortened if it is long.
func Quote(s string) string { return quote.Name(s) }
