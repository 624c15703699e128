// Package arena allocates the prover's large buffers. A proof makes and drops tables of hundreds of
// megabytes, one chunk after the other. The garbage collector would zero each of them, fault it in
// on small pages, and free it only at the next collection. An [Arena] keeps freed memory for the
// next table, on huge pages where the system has them, and the collector does not look at it. Parts
// of a proof that are made independently have a [Arena.Sub] each, so that one can use memory that
// another has freed.
//
// The contents of what [Make] returns are undefined. A buffer that [Free] was given must not be used
// any more, nor any buffer after the arena's Close. With [Poison], memory is
// overwritten when it is made and when it is freed, so that tests find violations.
package arena
