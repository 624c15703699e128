package blake3

// The keys of a commitment's hashes.
var (
	// KeyColumn is for the columns of a group of rows. With one group their digests are the leaves.
	KeyColumn = DeriveKey("prove-model blake3 v1: column", nil)
	// KeyGroups is for leaves of several groups: hashes of the digests of the groups' columns.
	KeyGroups = DeriveKey("prove-model blake3 v1: groups", nil)
	// KeyNode is for the nodes of a tree above its leaves.
	KeyNode = DeriveKey("prove-model blake3 v1: node", nil)
	// KeyPublicColumn is for the columns of a public tensor.
	KeyPublicColumn = DeriveKey("prove-model blake3 v1: public column", nil)
	// KeySaltedLeaf is for leaves with a salt: hashes of the salt and of the digests of one or more groups.
	KeySaltedLeaf = DeriveKey("prove-model blake3 v1: salted leaf", nil)
)
