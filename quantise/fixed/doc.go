// Package fixed makes circuits of integers with a power-of-two scale per tensor: sums and
// products in accumulators with static bounds, rounding and clamping by look-ups, digits of wide
// integers, and what is made of these: division, comparison, maximum, mean, norm, logarithm and
// Softmax.
//
// It knows neither float models nor proofs. A certificate replays blocks of steps with it
// (Block.Replay).
package fixed
