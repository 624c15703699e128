package receipt

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
)

// Coin is what a receipt says of an answer that was to be proved with a chance: by whether the toss of the coin was less than the share.
type Coin struct {
	Commitment string `json:"commitment"` // CommitSeed of the coin's seed, which is told when its day is over
	Share      string `json:"share"`      // of answers that are proved, from 0 to 1
}

// CommitSeed is the commitment to the seed of a coin, in hexadecimal.
func CommitSeed(seed []byte) string {
	d := sha256.Sum256(append([]byte("prove-model coin\n"), seed...))
	return hex.EncodeToString(d[:])
}

// Toss is what a coin says of a request with a SHA-256: a number from 0 to less than 1, a multiple of 2^−53.
func Toss(seed []byte, request string) float64 {
	d := sha256.Sum256(append(append([]byte("prove-model toss\n"), seed...), request...))
	return float64(binary.LittleEndian.Uint64(d[:])>>11) / (1 << 53)
}

// Due says whether the answer of a receipt was to be proved, by its coin's seed in hexadecimal.
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
