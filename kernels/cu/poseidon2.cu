// Permutations, leaf hashing, Merkle trees and proofs of work.
#include "digest.cuh"
#include "poseidon2.cuh"

// permute_many permutes n states of 16 words in place.
KERNEL __launch_bounds__(256) permute_many(u32 *states, u64 n)
{
    u64 i = thread_index();
    if (i >= n) return;
    u32 w[16];
    load8(w, states + 16 * i);
    load8(w + 8, states + 16 * i + 8);
    p2_permute(w);
    store8(states + 16 * i, w);
    store8(states + 16 * i + 8, w + 8);
}

// hash_columns absorbs the next `rows` rows of a matrix of `total` rows, of
// which `absorbed`, a multiple of 8, have been absorbed: column c of row r is
// words[r stride + c]. Between calls the states, word i of column c at
// state[i columns + c], are kept unless all rows come in one call. With the last
// row the digests are written. One thread a column; rows is a multiple of 8 or
// reaches the total, which is positive.
KERNEL __launch_bounds__(256) hash_columns(u32 *digests, u32 *state, const u32 *words, u64 stride, u64 columns, u64 rows,
                                                               u64 absorbed, u64 total)
{
    u64 c = thread_index();
    if (c >= columns) return;
    u32 w[16];
    if (absorbed == 0) {
#pragma unroll
        for (int i = 0; i < 16; i++) w[i] = 0;
        w[8] = (u32)total;
        w[9] = 0x6c656166u;  // "leaf"
    } else {
#pragma unroll
        for (int i = 0; i < 16; i++) w[i] = state[i * columns + c];
    }
    words += c;
    for (u64 r = 0; r < rows; r += 8) {
        if (rows - r >= 8) {
#pragma unroll
            for (int i = 0; i < 8; i++) w[i] = words[i * stride];
        } else {
#pragma unroll
            for (int i = 0; i < 8; i++)
                if (r + i < rows) w[i] = words[i * stride];
        }
        words += 8 * stride;
        p2_permute(w);
    }
    if (absorbed + rows == total) {
        store8(digests + 8 * c, w);
    } else {
#pragma unroll
        for (int i = 0; i < 16; i++) state[i * columns + c] = w[i];
    }
}

// absorb_digests absorbs the digests of the next group of rows, one a column, into
// the group sponge of each column, which is that of `groups` groups and has absorbed
// `absorbed`. Between calls the capacities are kept, word 8 + i of column c at
// state[i columns + c]: a digest overwrites all of the rate. With the
// last group the leaves are written; they may overwrite the digests. `salted` says that the first group are salts.
KERNEL __launch_bounds__(256) absorb_digests(u32 *leaves, u32 *state, const u32 *digests, u64 columns, u64 absorbed, u64 groups, u64 salted)
{
    u64 c = thread_index();
    if (c >= columns) return;
    u32 w[16];
    load8(w, digests + 8 * c);
    if (absorbed == 0) {
#pragma unroll
        for (int i = 8; i < 16; i++) w[i] = 0;
        w[8] = (u32)groups;
        w[9] = salted ? 0x73616c74u : 0x67727073u;  // "salt", "grps"
    } else {
#pragma unroll
        for (int i = 8; i < 16; i++) w[i] = state[(i - 8) * columns + c];
    }
    p2_permute(w);
    if (absorbed + 1 == groups) {
        store8(leaves + 8 * c, w);
    } else {
#pragma unroll
        for (int i = 8; i < 16; i++) state[(i - 8) * columns + c] = w[i];
    }
}

// merkle_layer compresses the n pairs of digests at src to digests at dst.
KERNEL __launch_bounds__(256) merkle_layer(u32 *dst, const u32 *src, u64 n)
{
    u64 i = thread_index();
    if (i >= n) return;
    u32 w[16];
    load8(w, src + 16 * i);
    load8(w + 8, src + 16 * i + 8);
    p2_permute(w);
    u32 left[8];  // read again rather than kept in registers
    load8(left, src + 16 * i);
#pragma unroll
    for (int k = 0; k < 8; k++) w[k] = m31_add(w[k], left[k]);
    store8(dst + 8 * i, w);
}

// gather_digests copies n digests from the given indexes.
KERNEL gather_digests(u32 *dst, const u32 *src, const u64 *indexes, u64 n)
{
    u64 i = thread_index();
    if (i >= n) return;
    u32 w[8];
    load8(w, src + 8 * indexes[i]);
    store8(dst + 8 * i, w);
}

// search_nonce lowers *best to the smallest of the n nonces from `first` on that,
// in lane 0 of the state, makes lane 0 of the permuted state zero under the mask.
KERNEL __launch_bounds__(256) search_nonce(u64 *best, const u32 *state, u64 first, u64 n, u64 mask)
{
    u64 nonce = first + thread_index();
    if (nonce >= first + n || nonce >= P) return;
    u32 w[16];
#pragma unroll
    for (int i = 0; i < 16; i++) w[i] = state[i];
    w[0] = (u32)nonce;
    p2_permute(w);
    if ((w[0] & (u32)mask) == 0) atomicMin(best, nonce);
}
