// Package pads has the pads of a masked proof, their stack in the witness's tree, and the proof that ties them
// together (docs/protocol.md, "Masked sub-transcripts").
//
// Elements of sub-transcripts are sent less pads. All that a verifier computes of them is then a known part and a
// linear form in the pads (transcript.Form), but for products of two elements: for these the product of their pads
// is committed to in advance, a further element of the stack. What must be zero is an equation in the pads. Neither
// is checked by itself. Claims, equations and the proof that products are products join in one functional on the
// tables, of which the part on the stack of pads follows from the tapes.
//
// The stack has the pads of every sub-transcript in order, then those of the proof of products, then all products,
// then four triples that are used nowhere, the dummies.
package pads
