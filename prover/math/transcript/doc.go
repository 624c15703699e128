// Package transcript turns an interactive proof into a byte stream: the
// prover's messages go into the transcript of a hash suite, and the challenges
// come out of it (docs/protocol.md, "Hash and transcript").
//
// A [Sponge] absorbs field elements and yields challenges. A [Writer] is the
// prover's side: what it sends is absorbed and appended to the proof. A
// [Reader] is the verifier's: what it receives is parsed from the proof,
// checked to be canonical, and absorbed. Hints — openings whose correctness a
// digest that was sent before already fixes — are written and read without
// being absorbed.
//
// Independent parts of a proof fork the transcript with their index and are
// joined again in index order, so that they may be computed in any order and
// still give the same bytes.
package transcript
