// Package pads has the pads of a masked proof, their stack in the witness's tree, and the proof that ties them
// together (docs/protocol.md, "Masked sub-transcripts").
//
// Elements of sub-transcripts are sent less pads. So what the verifier computes from them is a known part plus a linear
// form in the pads (transcript.Form). A product of two elements is not linear in their pads. For each such product the
// product of the two pads is committed to in advance, as a further element of the stack. What must be zero becomes an
// equation in the pads.
//
// Claims and equations are not checked one by one. Together with the proof that the committed products are products
// they are joined into one functional on the opening's tables. Its weights on the stack of pads follow from the
// verifier's tapes, which record how each form was computed.
//
// The stack has the pads of every sub-transcript in order, then the pads of the proof of products, then all products,
// then the dummies: four triples that nothing else uses.
package pads
