// Package ledger keeps the secret of a key that hides weights, in a file beside the key, and counts at how many positions
// proofs have opened the rows under it. Beyond a number of these, the key's budget, every further position says something of
// the weights (docs/hiding.md). So whoever proves counts, and counts before anything is opened.
//
// The file is text, readable by its owner alone. A first part says what the secret is and of which key. Behind it every line
// is an entry of the ledger, which only grows:
//
//	at <machine> <boot> <file> <share>    where the ledger is counted from here on, and which share of the budget it is, 2/4
//	                                      for number 2 of 4; the first that is not 1/1 divides the rest
//	used <identifier> <positions>         positions that were reserved for a proof
//
// Every line ends with a checksum of all that is before it. A last line that is not whole was being written when the program
// was ended: nothing was opened for it, and it is dropped. A line is on disk before a proof goes on (fsync), under a lock that
// all processes take, and a proof is identified by its transcript, so that one that is made again is not counted twice.
//
// What a counter cannot see is that its file is an older copy of itself. So a ledger belongs to a machine, to one start of it,
// and to one file there, and is refused anywhere else, unless whoever asks says that it is meant (a share). Besides, the user's
// configuration folder, where there is one, remembers how long the ledger of a share was and what was in it, and refuses one
// that does not go on from there.
package ledger
