// The compression function of BLAKE3 (package blake3), one message a thread.
#pragma once

#include "base.cuh"

// Flags of a compression (specification, table 3).
#define B3_CHUNK_START 1u
#define B3_CHUNK_END 2u
#define B3_PARENT 4u
#define B3_ROOT 8u
#define B3_KEYED 16u

#define B3_BLOCK_WORDS 16

// A key comes in four parameters of a kernel, two words each.
#define B3_KEY u64 key01, u64 key23, u64 key45, u64 key67
#define B3_KEY_ARGS key01, key23, key45, key67

// b3_start sets a chaining value to the beginning of a message.
DEVICE void b3_start(u32 *cv, B3_KEY)
{
    cv[0] = (u32)key01, cv[1] = (u32)(key01 >> 32), cv[2] = (u32)key23, cv[3] = (u32)(key23 >> 32);
    cv[4] = (u32)key45, cv[5] = (u32)(key45 >> 32), cv[6] = (u32)key67, cv[7] = (u32)(key67 >> 32);
}

// b3_g is the function G (section 2.2).
DEVICE void b3_g(u32 &a, u32 &b, u32 &c, u32 &d, u32 x, u32 y)
{
    a = a + b + x;
    d = __funnelshift_r(d ^ a, d ^ a, 16);
    c = c + d;
    b = __funnelshift_r(b ^ c, b ^ c, 12);
    a = a + b + y;
    d = __funnelshift_r(d ^ a, d ^ a, 8);
    c = c + d;
    b = __funnelshift_r(b ^ c, b ^ c, 7);
}

// b3_rounds sets v to what the seven rounds make of a chaining value and a block of 16 words. All indexes are known when it is
// compiled, so that state and message are in registers and permuting the message moves nothing.
DEVICE void b3_rounds(u32 (&v)[16], const u32 *cv, const u32 *block, u32 counter, u32 length, u32 flags)
{
    u32 m[16];
#pragma unroll
    for (int i = 0; i < 16; i++) m[i] = block[i];
#pragma unroll
    for (int i = 0; i < 8; i++) v[i] = cv[i];
    v[8] = 0x6a09e667u, v[9] = 0xbb67ae85u, v[10] = 0x3c6ef372u, v[11] = 0xa54ff53au;
    v[12] = counter, v[13] = 0, v[14] = length, v[15] = flags;
#pragma unroll
    for (int round = 0; round < 7; round++) {
        b3_g(v[0], v[4], v[8], v[12], m[0], m[1]);
        b3_g(v[1], v[5], v[9], v[13], m[2], m[3]);
        b3_g(v[2], v[6], v[10], v[14], m[4], m[5]);
        b3_g(v[3], v[7], v[11], v[15], m[6], m[7]);
        b3_g(v[0], v[5], v[10], v[15], m[8], m[9]);
        b3_g(v[1], v[6], v[11], v[12], m[10], m[11]);
        b3_g(v[2], v[7], v[8], v[13], m[12], m[13]);
        b3_g(v[3], v[4], v[9], v[14], m[14], m[15]);
        u32 next[16] = {m[2], m[6], m[3], m[10], m[7], m[0], m[4], m[13], m[1], m[11], m[12], m[5], m[9], m[14], m[15], m[8]};
#pragma unroll
        for (int i = 0; i < 16; i++) m[i] = next[i];
    }
}

// b3_compress replaces a chaining value by that after a block.
DEVICE void b3_compress(u32 *cv, const u32 *block, u32 counter, u32 length, u32 flags)
{
    u32 v[16];
    b3_rounds(v, cv, block, counter, length, flags);
#pragma unroll
    for (int i = 0; i < 8; i++) cv[i] = v[i] ^ v[i + 8];
}

// b3_output sets out to block `counter` of the extended output for a message of one block, in a key's chaining value.
DEVICE void b3_output(u32 (&out)[16], const u32 *cv, const u32 *block, u32 counter, u32 length)
{
    b3_rounds(out, cv, block, counter, length, B3_KEYED | B3_CHUNK_START | B3_CHUNK_END | B3_ROOT);
#pragma unroll
    for (int i = 0; i < 8; i++) out[i] ^= out[i + 8], out[i + 8] ^= cv[i];
}
