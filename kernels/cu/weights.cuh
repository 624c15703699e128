// Weights that are products of two tables, package whir.
#pragma once
#include "m31.cuh"

// A weight over 2^n indexes is a product of a table over the
// upper bits of the index and one over the lower LOW, or all if there are fewer.
#define LOW 8

DEVICE u32 low_vars(u64 n) { return n < LOW ? (u32)n : LOW; }

// A weight_part is where the two tables of a weight are, in elements of a common
// array, and the number of variables. With it come n factors: variable j from
// the last multiplies by factors[j] where its bit is 1, and for eq by
// 1 - factors[j] where it is 0.
struct weight_part {
    u64 high, low, vars, factors;
};
