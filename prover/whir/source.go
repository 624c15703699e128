package whir

// RowSource gives the rows of a stack. Its methods may be called concurrently
// and must give the same values every time.
type RowSource interface {
	// Rows returns the number of rows, at least 1.
	Rows() int
	// FillRow sets dst, of one row's length, to row i. Values are integers
	// |v| < 2^30.
	FillRow(i int, dst []int32)
}
