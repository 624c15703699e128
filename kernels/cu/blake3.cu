// Leaf hashing, Merkle trees and proofs of work with BLAKE3. Every word is read once; a compression is 784 operations on words for
// 64 bytes.
#include "blake3.cuh"
#include "digest.cuh"

// blake3_columns absorbs the next `rows` rows of a matrix of `total` rows, 256 at most, of which `absorbed`, a multiple of 16,
// have been absorbed: column c of row r is words[r stride + c]. Between calls the chaining values are where the digests will be,
// which the last row makes of them. One thread a column; rows is a multiple of 16 or reaches the total, which is positive.
KERNEL __launch_bounds__(256) blake3_columns(u32 *digests, const u32 *words, u64 stride, u64 columns, u64 rows, u64 absorbed,
                                             u64 total, B3_KEY)
{
    u64 c = thread_index();
    if (c >= columns) return;
    u32 cv[8], block[B3_BLOCK_WORDS];
    if (absorbed == 0) {
        b3_start(cv, B3_KEY_ARGS);
    } else {
        load8(cv, digests + 8 * c);
    }
    words += c;
#pragma unroll 1
    for (u64 r = 0; r < rows; r += B3_BLOCK_WORDS) {
        u64 n = rows - r;
        if (n >= B3_BLOCK_WORDS) {
            n = B3_BLOCK_WORDS;
#pragma unroll
            for (int i = 0; i < B3_BLOCK_WORDS; i++) block[i] = words[i * stride];
        } else {
#pragma unroll
            for (int i = 0; i < B3_BLOCK_WORDS; i++) block[i] = (u64)i < n ? words[i * stride] : 0;
        }
        words += B3_BLOCK_WORDS * stride;
        u32 flags = B3_KEYED;
        if (absorbed + r == 0) flags |= B3_CHUNK_START;
        if (absorbed + r + n == total) flags |= B3_CHUNK_END | B3_ROOT;
        b3_compress(cv, block, 0, 4 * (u32)n, flags);
    }
    store8(digests + 8 * c, cv);
}

// blake3_digests absorbs the next digest of a list of `total` digests, one list a column, of which `absorbed` have been absorbed:
// the leaves of several groups of rows. 32 digests are a chunk, and two a block. Between calls the state is kept, word i of column
// c at state[i columns + c]: 8 words of a digest that waits for the other half of its block, 8 of the chunk's chaining value, and 8
// for each subtree of chunks that waits for what is to the right of it. With the last digest the leaves are written; they may
// overwrite the digests.
KERNEL __launch_bounds__(256) blake3_digests(u32 *leaves, u32 *state, const u32 *digests, u64 columns, u64 absorbed, u64 total, B3_KEY)
{
    u64 c = thread_index();
    if (c >= columns) return;
    state += c;
    const u64 per_chunk = 32;
    u32 block[B3_BLOCK_WORDS], cv[8];
    bool last = absorbed + 1 == total, second = absorbed & 1;
    load8(block + (second ? 8 : 0), digests + 8 * c);
    if (!second && !last) {
#pragma unroll
        for (int i = 0; i < 8; i++) state[i * columns] = block[i];
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        if (second)
            block[i] = state[i * columns];
        else
            block[8 + i] = 0;
    }
    u64 chunk = absorbed / per_chunk, in_chunk = absorbed % per_chunk;
    bool end = last || in_chunk == per_chunk - 1;
    u32 flags = B3_KEYED;
    if (in_chunk < 2) {
        flags |= B3_CHUNK_START;
        b3_start(cv, B3_KEY_ARGS);
    } else {
#pragma unroll
        for (int i = 0; i < 8; i++) cv[i] = state[(8 + i) * columns];
    }
    if (end) flags |= B3_CHUNK_END;
    if (end && total <= per_chunk) flags |= B3_ROOT;
    b3_compress(cv, block, (u32)chunk, second ? 64 : 32, flags);
    if (!end) {
#pragma unroll
        for (int i = 0; i < 8; i++) state[(8 + i) * columns] = cv[i];
        return;
    }
    // Before chunk c as many subtrees wait as c has bits; behind it those are merged that are as large as what is to the right.
    u64 height = 0;
    for (u64 n = chunk; n > 0; n >>= 1) height += n & 1;
    for (u64 n = chunk; last ? height > 0 : n & 1; n >>= 1) {
        height--;
#pragma unroll
        for (int i = 0; i < 8; i++) block[i] = state[(16 + 8 * height + i) * columns], block[8 + i] = cv[i];
        b3_start(cv, B3_KEY_ARGS);
        b3_compress(cv, block, 0, 64, B3_KEYED | B3_PARENT | (last && height == 0 ? B3_ROOT : 0));
    }
    if (last) {
        store8(leaves + 8 * c, cv);
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; i++) state[(16 + 8 * height + i) * columns] = cv[i];
}

// blake3_layer hashes the n pairs of digests at src to digests at dst.
KERNEL __launch_bounds__(256) blake3_layer(u32 *dst, const u32 *src, u64 n, B3_KEY)
{
    u64 i = thread_index();
    if (i >= n) return;
    u32 cv[8], block[B3_BLOCK_WORDS];
    load8(block, src + 16 * i);
    load8(block + 8, src + 16 * i + 8);
    b3_start(cv, B3_KEY_ARGS);
    b3_compress(cv, block, 0, 64, B3_KEYED | B3_CHUNK_START | B3_CHUNK_END | B3_ROOT);
    store8(dst + 8 * i, cv);
}

// blake3_nonce lowers *best to the smallest of the n nonces from `first` on whose hash, behind the 8 words of state, begins with
// so many zero bits, 31 at most. A byte's most significant bit comes first.
KERNEL __launch_bounds__(256) blake3_nonce(u64 *best, const u32 *state, u64 first, u64 n, u64 zeros, B3_KEY)
{
    u64 nonce = first + thread_index();
    if (nonce >= first + n) return;
    u32 cv[8], block[B3_BLOCK_WORDS];
#pragma unroll
    for (int i = 0; i < B3_BLOCK_WORDS; i++) block[i] = i < 8 ? state[i] : 0;
    block[8] = (u32)nonce, block[9] = (u32)(nonce >> 32);
    b3_start(cv, B3_KEY_ARGS);
    b3_compress(cv, block, 0, 40, B3_KEYED | B3_CHUNK_START | B3_CHUNK_END | B3_ROOT);
    if (__byte_perm(cv[0], 0, 0x0123) >> (32 - zeros) == 0) atomicMin(best, nonce);
}
