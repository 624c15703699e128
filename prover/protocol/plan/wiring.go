package plan

import (
	"encoding/binary"
	"slices"

	"github.com/prove-model/prove-model/prover/circuit/model"
)

// Wiring is a view in the form that the protocol uses (docs/protocol.md, "Wiring").
// At a point r of its output the view, without its fill, is a linear functional of the source:
//
//	View(src)~(r) = factor · Σ_x src~(bound, x) · Π_groups g_group(x).
type Wiring struct {
	Out, In []int // the shapes of the output and of the source
	Fill    int64 // the value of output entries that no source entry is wired to
	// Renaming groups bind source axes to coordinates of r. The source axes of Single
	// groups have one entry, and these groups give the factor. Neither kind leaves anything
	// to sum over.
	Renaming, Single []*model.Group
	// Summed groups have the source axes that are summed over. They are in the order of
	// these axes.
	Summed []*model.Group
	// Keep are the source axes in the sum, ascending. Vars is the number of their variables.
	Keep []int
	Vars int
	// Bound lists, for every source axis that is not summed over, the indexes of the
	// coordinates of r that it is bound to. It is nil for the axes in Keep.
	Bound [][]int
	// Empty says that there is a Single group that wires nothing: the factor is zero.
	Empty bool
	// SinglePairs and SummedPairs count the pairs of an output index and a source index that
	// an evaluation goes through: those of Single groups, and of Summed groups.
	SinglePairs, SummedPairs uint64
}

// NewWiring returns the wiring of a valid view, for the shapes of its output and its source.
// It does not set Empty.
func NewWiring(v *model.View, out, in []int) *Wiring {
	w := &Wiring{Out: out, In: in, Fill: v.Fill}
	groups := make([]*model.Group, len(v.Groups))
	for i := range v.Groups {
		groups[i] = &v.Groups[i]
	}
	slices.SortStableFunc(groups, func(a, b *model.Group) int { return firstAxis(a) - firstAxis(b) })
	w.Renaming = make([]*model.Group, 0, len(groups))
	for _, g := range groups {
		switch {
		case g.Trivial(out, in):
			w.Renaming = append(w.Renaming, g)
		case !slices.ContainsFunc(g.In, func(a int) bool { return in[a] != 1 }):
			w.Single = append(w.Single, g)
			w.SinglePairs += pairs(g, out)
		default:
			w.Summed = append(w.Summed, g)
			w.Keep = append(w.Keep, g.In...)
			w.SummedPairs += pairs(g, out)
		}
	}
	w.Vars = model.Vars(Pick(in, w.Keep))
	w.Bound = w.bound()
	return w
}

// wiringKey appends to b, as bytes, everything that the wiring of a view depends on. Views with
// the same key have the same wiring.
func wiringKey(b []byte, v *model.View, out, in []int) []byte {
	b = binary.AppendVarint(b, v.Fill)
	list := func(lists ...[]int) {
		for _, l := range lists {
			b = binary.AppendUvarint(b, uint64(len(l)))
			for _, n := range l {
				b = binary.AppendVarint(b, int64(n))
			}
		}
	}
	list(out, in)
	for i := range v.Groups {
		g := &v.Groups[i]
		for _, n := range []int{int(g.Map), g.Base, int(g.Ids), len(g.Sum)} {
			b = binary.AppendVarint(b, int64(n))
		}
		for _, s := range g.Sum {
			b = binary.AppendVarint(binary.AppendVarint(b, int64(s.Dim)), int64(s.Stride))
		}
		list(g.Out, g.In, g.Strides, g.Index)
	}
	return b
}

// findEmpty sets Empty. It goes through all pairs of Single groups.
func (w *Wiring) findEmpty() {
	for _, g := range w.Single {
		wired := g.Map == model.MapPublic // public indexes always wire something
		if !wired {
			g.ForEach(w.Out, w.In, func(int, int) { wired = true })
		}
		w.Empty = w.Empty || !wired
	}
}

// firstAxis returns a group's first source axis, −1 if it has none.
func firstAxis(g *model.Group) int {
	if len(g.In) == 0 {
		return -1
	}
	return g.In[0]
}

// pairs returns how many pairs of an output index and a source index an evaluation of a valid
// group goes through.
func pairs(g *model.Group, out []int) uint64 {
	n := uint64(model.Size(Pick(out, g.Out)))
	for _, s := range g.Sum {
		n *= uint64(s.Dim)
	}
	return n
}

// Pick returns the elements of s at the given indexes.
func Pick[S ~[]T, T any](s S, idx []int) S {
	out := make(S, len(idx))
	for i, j := range idx {
		out[i] = s[j]
	}
	return out
}

// bound returns Wiring.Bound.
func (w *Wiring) bound() [][]int {
	bound := make([][]int, len(w.In))
	first := make([]int, len(w.Out)) // coordinate of every output axis
	for a, at := 0, 0; a < len(w.Out); a++ {
		first[a] = at
		at += model.Log2Ceil(w.Out[a])
	}
	room := make([]int, 0, model.Vars(w.Out)) // for the coordinates of all groups
	for _, g := range w.Renaming {
		begin := len(room)
		for _, a := range g.Out {
			for i := range model.Log2Ceil(w.Out[a]) {
				room = append(room, first[a]+i)
			}
		}
		segment := room[begin:len(room):len(room)]
		for _, a := range g.In {
			n := model.Log2Ceil(w.In[a])
			bound[a], segment = segment[:n:n], segment[n:]
		}
	}
	for _, g := range w.Single {
		for _, a := range g.In {
			bound[a] = []int{}
		}
	}
	return bound
}

// boundAt returns the coordinates of every bound axis at a point, nil for the
// others.
func (w *Wiring) boundAt(at Point, room *room) []Point {
	bounds := carve(&room.points, len(w.Bound))
	for a, places := range w.Bound {
		if places != nil {
			part := carve(&room.coords, len(places))
			for i, p := range places {
				part[i] = at[p]
			}
			bounds[a] = bound(part)
		}
	}
	return bounds
}

// renamed returns the point of the source, for a wiring without axes to sum over.
func (w *Wiring) renamed(at Point, room *room) Point {
	p := carve(&room.coords, len(at))[:0]
	for _, places := range w.Bound {
		for _, i := range places {
			p = append(p, at[i])
		}
	}
	return p
}

// WithIds returns the wiring with the index lists of its groups that are public inputs
// replaced by the values of these inputs. It returns w itself if no group has such a list.
func (w *Wiring) WithIds(values func(model.TensorID) []int32) *Wiring {
	public := func(g *model.Group) bool { return g.Map == model.MapPublic }
	if !slices.ContainsFunc(w.Single, public) && !slices.ContainsFunc(w.Summed, public) {
		return w
	}
	bind := func(groups []*model.Group) []*model.Group {
		bound := make([]*model.Group, len(groups))
		for i, g := range groups {
			b := g.WithIds(values)
			bound[i] = &b
		}
		return bound
	}
	bound := *w
	bound.Single, bound.Summed = bind(w.Single), bind(w.Summed)
	return &bound
}
