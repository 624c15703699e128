package quantise

// Version changes whenever Quantise makes another graph or other weights of a
// model, its ranges and its options than before: a key names it, so that whoever
// has the model knows whether quantising it again can be expected to give the
// same.
const Version = 14
