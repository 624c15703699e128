// Package transcript turns an interactive proof into a byte stream: the
// prover's messages go into the transcript of a hash suite, and the challenges
// come out of it (docs/protocol.md, "Hash and transcript").
//
// A [Sponge] absorbs field elements and yields challenges. A [Writer] is the
// prover's side: what it sends is absorbed and appended to the proof. A
// [Reader] is the verifier's side: what it receives is parsed from the proof,
// checked to be canonical, and absorbed. So every challenge depends on
// everything that was sent before it, and a prover cannot change a message after
// it has seen the challenge. Only hints are written and read without being
// absorbed: leaves and Merkle paths, which a root that was absorbed before binds.
//
// Independent parts of a proof fork the transcript with their index and are
// joined again in index order, so that they may be computed in any order and
// still give the same bytes.
package transcript
