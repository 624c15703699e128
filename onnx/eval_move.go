package onnx

import "slices"

// The operators that only move elements map the index of each output axis on
// its own: output (i_1, …, i_r) reads input Σ_k table_k[i_k], or is padding
// where an entry is negative.

// strides returns how far apart neighbours along each axis are.
func strides(shape []int) []int {
	out := make([]int, len(shape))
	s := 1
	for i := len(shape) - 1; i >= 0; i-- {
		out[i] = s
		s *= shape[i]
	}
	return out
}

// broadcastTables maps shape to a tensor that broadcasts to it.
func broadcastTables(from, shape []int) [][]int {
	st := strides(from)
	off := len(shape) - len(from)
	tables := make([][]int, len(shape))
	for k, n := range shape {
		tables[k] = make([]int, n)
		if k < off || from[k-off] == 1 {
			continue
		}
		for i := range tables[k] {
			tables[k][i] = i * st[k-off]
		}
	}
	return tables
}

// moveTables maps the output axes of a moving operator to its input.
func moveTables(n *Node, in, shape []int) [][]int {
	if n.Op == "Expand" {
		return broadcastTables(in, shape)
	}
	st := strides(in)
	tables := make([][]int, len(shape))
	for k, d := range shape {
		tables[k] = make([]int, d)
		for i := range tables[k] {
			j, axis := i, k // index along which input axis
			switch n.Op {
			case "Transpose":
				axis = int(n.Ints["perm"][k])
			case "Slice":
				j = int(n.Ints["starts"][k] + int64(i)*n.Ints["steps"][k])
			case "Gather":
				if k == n.Int("axis") {
					j = int(n.Ints["indices"][i])
				}
			case "Tile":
				j = i % in[k]
			case "Pad":
				j = i - int(n.Ints["pads"][k])
				if j < 0 || j >= in[k] {
					tables[k][i] = -1
					continue
				}
			}
			tables[k][i] = j * st[axis]
		}
	}
	return tables
}

// walk calls f for each index of shape in order, with its position in two
// tables. There must be no negative entries.
func walk(shape []int, ta, tb [][]int, f func(i, ja, jb int)) {
	r := len(shape)
	if size(shape) == 0 {
		return
	}
	if r == 0 {
		f(0, 0, 0)
		return
	}
	idx := make([]int, r-1)
	lastA, lastB := ta[r-1], tb[r-1]
	for i := 0; ; {
		ja, jb := 0, 0
		for k, x := range idx {
			ja += ta[k][x]
			jb += tb[k][x]
		}
		for x := range lastA {
			f(i, ja+lastA[x], jb+lastB[x])
			i++
		}
		if !increment(idx, shape) {
			return
		}
	}
}

// increment steps idx through the leading axes of shape; false at the end.
func increment(idx, shape []int) bool {
	for k := len(idx) - 1; k >= 0; k-- {
		if idx[k]++; idx[k] < shape[k] {
			return true
		}
		idx[k] = 0
	}
	return false
}

// evalMove computes an operator that moves elements.
func evalMove(n *Node, x operand, shape []int) operand {
	tables := moveTables(n, x.shape, shape)
	fill := n.Floats["value"]
	out := operand{shape: shape}
	switch {
	case x.f != nil:
		out.f = move(x.f, tables, shape, fill)
	case x.w != nil:
		out.w = move(x.w, tables, shape, float32(fill))
	default:
		out.i = move(x.i, tables, shape, int64(fill))
	}
	return out
}

func move[T number](src []T, tables [][]int, shape []int, fill T) []T {
	out := make([]T, size(shape))
	r := len(shape)
	if len(out) == 0 {
		return out
	}
	if r == 0 {
		out[0] = src[0]
		return out
	}
	last := tables[r-1]
	run := slices.Min(last) >= 0 // the last axis is copied in one piece
	for i, v := range last {
		run = run && v == last[0]+i
	}
	idx := make([]int, r-1)
	for at := 0; ; at += len(last) {
		dst := out[at : at+len(last)]
		base := 0
		for k, x := range idx {
			t := tables[k][x]
			if t < 0 {
				base = -1
				break
			}
			base += t
		}
		switch {
		case base < 0:
			for i := range dst {
				dst[i] = fill
			}
		case run:
			copy(dst, src[base+last[0]:])
		default:
			for i, t := range last {
				if t < 0 {
					dst[i] = fill
				} else {
					dst[i] = src[base+t]
				}
			}
		}
		if !increment(idx, shape) {
			return out
		}
	}
}

// evalConcat joins tensors along an axis.
func evalConcat(in []operand, shape []int, axis int) operand {
	out := operand{shape: shape}
	allW, allI := true, true
	for _, v := range in {
		allW = allW && v.w != nil
		allI = allI && v.i != nil
	}
	shapes := make([][]int, len(in))
	for k, v := range in {
		shapes[k] = v.shape
	}
	switch {
	case allW:
		out.w = concat(in, func(v operand) []float32 { return v.w }, shape, axis)
	case allI:
		out.i = concat(in, func(v operand) []int64 { return v.i }, shape, axis)
	default:
		out.f = concat(in, operand.float64s, shape, axis)
	}
	return out
}

func concat[T number](in []operand, data func(operand) []T, shape []int, axis int) []T {
	out := make([]T, size(shape))
	outer, row := size(shape[:axis]), size(shape[axis:])
	at := 0
	for _, v := range in {
		src := data(v)
		n := size(v.shape[axis:])
		for o := range outer {
			copy(out[o*row+at:o*row+at+n], src[o*n:(o+1)*n])
		}
		at += n
	}
	return out
}
