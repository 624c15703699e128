package receipt

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
)

// Coin is what a receipt says about an answer for which chance decided whether it is proved at once: it is if the toss
// (Toss) is less than the share.
type Coin struct {
	Commitment string `json:"commitment"` // CommitSeed of the coin's seed, which is published after its day
	Share      string `json:"share"`      // share of answers that are proved at once, from 0 to 1
}

// CommitSeed returns the commitment to the seed of a coin, in hexadecimal.
func CommitSeed(seed []byte) string {
	d := sha256.Sum256(append([]byte("prove-model coin\n"), seed...))
	return hex.EncodeToString(d[:])
}

// Toss tosses a coin for a request, given by its SHA-256 in hexadecimal. The result is a multiple of 2^−53 in [0, 1).
func Toss(seed []byte, request string) float64 {
	d := sha256.Sum256(append(append([]byte("prove-model toss\n"), seed...), request...))
	return float64(binary.LittleEndian.Uint64(d[:])>>11) / (1 << 53)
}

// Due says whether the answer of a receipt had to be proved at once. seed is the seed of the receipt's coin, in
// hexadecimal.
func (r *Receipt) Due(seed string) (bool, error) {
	if r.Coin == nil {
		return false, fmt.Errorf("the receipt of %s has no coin", r.Answer)
	}
	s, err := hex.DecodeString(seed)
	if err != nil || CommitSeed(s) != r.Coin.Commitment {
		return false, fmt.Errorf("the seed is not that of the coin that the receipt of %s names", r.Answer)
	}
	share, err := strconv.ParseFloat(r.Coin.Share, 64)
	return Toss(s, r.Request) < share, err
}
