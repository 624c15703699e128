package quantise

// Version changes whenever Quantise makes another graph or other weights of a
// model, its ranges and its options than before.
const Version = 1
