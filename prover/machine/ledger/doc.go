// Package ledger keeps the secret of a key that hides weights, in a file beside the key, and counts at how many positions
// proofs have opened the key's committed rows. A key has a budget of such positions; every position beyond it says something of
// the weights (docs/hiding.md). So a prover counts the positions of a proof before it opens any of them.
//
// The file is text, readable by its owner alone. The first lines are the secret, and say of which key it is. Every line after them
// is an entry of the ledger; entries are only added:
//
//	at <machine> <boot> <file> <share>    where the ledger is counted from here on, and which share of the budget it is, 2/4
//	                                      for number 2 of 4; the first that is not 1/1 divides the rest
//	used <identifier> <positions>         positions that were reserved for a proof
//
// Every line ends with a checksum of the file up to it. A last line without a line break was being written when the program was
// ended; nothing was opened for it, and it is dropped. A line is on disk (fsync) before its proof goes on. It is written under a
// lock that all processes take. A proof is identified by its transcript, so that a proof that is made again is not counted twice.
//
// The count would be wrong if the file were replaced by an older copy of itself, which the file alone does not show. So a ledger
// belongs to one machine, one start of that machine, and one file there. It is refused anywhere else, unless the user names its
// share and so says that the copy is meant (Ledger.Claim). Besides, the user's configuration folder, if there is one, remembers the
// length and a digest of the ledger of each share, and a ledger that does not begin with that content is refused.
package ledger
