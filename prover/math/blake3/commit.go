package blake3

// The keys of a commitment's hashes.
var (
	// KeyColumn is that of the columns of a group of rows. With one group they are the leaves.
	KeyColumn = DeriveKey("prove-model blake3 v1: column", nil)
	// KeyGroups is that of leaves of several groups: of their columns' digests.
	KeyGroups = DeriveKey("prove-model blake3 v1: groups", nil)
	// KeyNode is that of the nodes of a tree above its leaves.
	KeyNode = DeriveKey("prove-model blake3 v1: node", nil)
	// KeyPublicColumn is that of the columns of a public tensor.
	KeyPublicColumn = DeriveKey("prove-model blake3 v1: public column", nil)
	// KeySaltedLeaf is that of leaves with a salt: of the salt and of their groups' digests, of which there may be one.
	KeySaltedLeaf = DeriveKey("prove-model blake3 v1: salted leaf", nil)
)
