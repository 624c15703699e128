package onnx

// each returns f(x) for each x of a list.
func each[A, B any](list []A, f func(A) B) []B {
	return filled(len(list), func(i int) B { return f(list[i]) })
}

// filled returns f(0), …, f(n−1).
func filled[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

// converted converts each number of a list to another type.
func converted[B, A numeric](list []A) []B {
	return each(list, func(v A) B { return B(v) })
}

type numeric interface {
	int | int32 | int64 | uint8 | float32 | float64
}

// upTo returns the whole numbers from, from + 1, …, to − 1, such as axes.
func upTo[T int | int64](from, to T) (list []T) {
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}

// truth returns 1 for true and 0 for false.
func truth(is bool) int64 {
	if is {
		return 1
	}
	return 0
}
