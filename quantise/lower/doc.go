// Package lower lowers a float graph to a circuit of integers, operator by operator, with the
// number formats that it is given. A family of operators is a file with their lowerings and
// their entries in the table (register); nothing else goes by the type of an operator.
//
// Lowering is lazy. The value of a node is at first an accumulator, or a function of an earlier
// value. It becomes a tensor only when something needs its entries: so a convolution, its bias and
// the activation after it are one look-up, and a chain of element-wise functions of one value
// is one table.
package lower
