package whir

// RowSource gives the rows of a stack. Its methods may be called concurrently
// and must give the same values every time.
type RowSource interface {
	// Rows returns the number of rows, at least 1.
	Rows() int
	// FillRow sets dst to the values of row i from number from on. Values are integers
	// |v| < 2^30.
	FillRow(i, from int, dst []int32)
}
