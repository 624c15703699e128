// Package weights has what quantising needs of constant weights: the statistics of their output
// channels, which bound products, and their rounding to integers.
package weights
