// Package arena gives the prover its large buffers. A proof makes and drops tables of
// hundreds of megabytes, one chunk after the other. From the garbage collector each
// would be fresh: zeroed, put on small pages one fault at a time, and let go of a
// collection later. An [Arena] keeps what has been freed for the next table, on huge
// pages where the system has them, and takes no part in collections. Parts of a proof that
// are made apart have a [Arena.Sub] each, so that one gets what another has left.
//
// What [Make] returns holds anything, what [Free] has been given must not be used
// any more, and nothing outlives the arena's Close. Under [Poison] memory is
// overwritten at both ends of its life, so that a test sees who does not keep to this.
package arena
