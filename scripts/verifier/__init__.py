"""A verifier of prove-model proofs in the standard library alone, written from
docs/proof-format.md. From the bottom up:

field, circle, multilinear     arithmetic, the code's domain, multilinear extensions
poseidon2, transcript, merkle  hash, sponge and streams, openings of trees
protobuf, schema               canonical messages
key, frames                    the two files
graph, forced, circuit, cost   what a circuit must be; sizes and chunks; limits
wiring, reduce, lookups        the reduction of a fork to claims
layout, whir, soundness        where committed values lie, their opening, bits of security
verifier                       everything in its order
statement                      a proof against an input, a commitment, and the security asked for
"""
