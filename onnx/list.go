package onnx

// each lists what f makes of the elements of a list.
func each[A, B any](list []A, f func(A) B) []B {
	return filled(len(list), func(i int) B { return f(list[i]) })
}

// filled lists what f gives for each of n places.
func filled[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

// converted lists numbers as those of another type.
func converted[B, A numeric](list []A) []B {
	return each(list, func(v A) B { return B(v) })
}

type numeric interface {
	int | int32 | int64 | uint8 | float32 | float64
}

// upTo lists whole numbers from one on, such as axes.
func upTo[T int | int64](from, to T) (list []T) {
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}

// truth is 1 for what is true, and 0 for what is not.
func truth(is bool) int64 {
	if is {
		return 1
	}
	return 0
}
