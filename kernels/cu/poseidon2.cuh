// The Poseidon2 permutation of package poseidon2, one state a thread: width 16,
// x^5, 8 external and 14 internal rounds. Words are at most p between steps,
// where p stands for 0, and canonical when the permutation returns.
#pragma once

#include "m31.cuh"

// Round constants, by round and word.
__constant__ u32 p2_external[8 * 16] = {
    1988864850u, 1893772157u, 1025928330u, 1839472709u, 1611656994u, 1104858731u, 1694088660u, 1564660990u,
    1991332205u, 1875486487u, 1890340790u, 1658614u, 582370530u, 528029397u, 1196956642u, 655401251u,
    1652877415u, 26032894u, 1576640243u, 1277052539u, 1450142396u, 697623591u, 1401580866u, 1568404175u,
    2145004971u, 265835716u, 1183985610u, 1031234465u, 436012490u, 172735299u, 352802897u, 1032863094u,
    757665783u, 1082171296u, 1507509996u, 309929890u, 1807683232u, 43258895u, 611592566u, 1854193793u,
    575164234u, 894217817u, 72613857u, 1061659596u, 8921166u, 1617355017u, 998001536u, 1800758877u,
    1002748055u, 1935405944u, 1351462722u, 411368491u, 1913975372u, 1956167178u, 442558016u, 855898408u,
    699687798u, 1553382248u, 1708169125u, 490049183u, 1251643415u, 1193594742u, 880473871u, 511174042u,
    1460209171u, 530850056u, 398192464u, 536338716u, 75179210u, 1309934197u, 1335920373u, 127611036u,
    291093831u, 1832379621u, 123571662u, 303176864u, 2137685056u, 1759609530u, 1418928155u, 71608334u,
    6616262u, 1684515814u, 1721194338u, 720801691u, 878392254u, 460379263u, 87930647u, 940673483u,
    1136203256u, 551499412u, 256220454u, 2007034235u, 796124985u, 410436345u, 1705042586u, 1286336446u,
    1522340456u, 1295296352u, 309794713u, 1772145068u, 956898901u, 2137070800u, 988829146u, 2059451359u,
    1846491684u, 1105442551u, 1236497773u, 1452000568u, 549485016u, 385992492u, 1987107948u, 1514377269u,
    2090065934u, 1444920141u, 293113979u, 41120774u, 855319793u, 1663284746u, 1789994008u, 1120509162u,
    358222743u, 1406256810u, 735183687u, 664485235u, 1331641456u, 38121324u, 595810771u, 1234594393u,
};

__constant__ u32 p2_internal[14] = {
    2139014335u, 69309039u, 1368974953u, 886780232u, 1130937085u, 1718115455u, 2027103386u, 1612216449u,
    1994053242u, 110146615u, 514413329u, 1088763546u, 955319292u, 488794657u,
};

// p2_add returns a + b, at most p, for a + b <= 2p.
DEVICE u32 p2_add(u32 a, u32 b)
{
    u32 s = a + b;
    return min(s, s - P);
}

// p2_mul_twice returns a b / 2 for b even: the doubling puts the product's upper
// part into the upper register.
DEVICE u32 p2_mul_twice(u32 a, u32 b)
{
    u64 v = (u64)a * b;
    return p2_add((u32)v >> 1, (u32)(v >> 32));
}

DEVICE u32 p2_pow5(u32 x)
{
    u32 twice = x + x;
    u32 x2 = p2_mul_twice(x, twice);
    u32 x4 = p2_mul_twice(x2, x2 + x2);
    return p2_mul_twice(x4, twice);
}

// p2_m4 multiplies by circ(2, 3, 1, 1).
DEVICE void p2_m4(u32 *x)
{
    u32 t01 = p2_add(x[0], x[1]), t23 = p2_add(x[2], x[3]);
    u32 sum = p2_add(t01, t23);
    u32 s1 = p2_add(sum, x[1]), s3 = p2_add(sum, x[3]);
    u32 d0 = p2_add(x[0], x[0]), d2 = p2_add(x[2], x[2]);
    x[0] = p2_add(s1, t01);
    x[1] = p2_add(s1, d2);
    x[2] = p2_add(s3, t23);
    x[3] = p2_add(s3, d0);
}

// p2_external_layer multiplies by circ(2 M4, M4, M4, M4).
DEVICE void p2_external_layer(u32 *w)
{
#pragma unroll
    for (int i = 0; i < 16; i += 4) p2_m4(w + i);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        u32 column = p2_add(p2_add(w[i], w[i + 4]), p2_add(w[i + 8], w[i + 12]));
        w[i] = p2_add(w[i], column);
        w[i + 4] = p2_add(w[i + 4], column);
        w[i + 8] = p2_add(w[i + 8], column);
        w[i + 12] = p2_add(w[i + 12], column);
    }
}

DEVICE void p2_external_rounds(u32 *w, int first)
{
#pragma unroll 1
    for (int r = first; r < first + 4; r++) {
#pragma unroll
        for (int i = 0; i < 16; i++) w[i] = p2_pow5(p2_add(w[i], p2_external[16 * r + i]));
        p2_external_layer(w);
    }
}

// p2_diagonal returns w 2^k + sum, given twice the sum, for k <= 16.
DEVICE u32 p2_diagonal(u32 w, int k, u64 twice_sum)
{
    u64 v = (u64)w * (2u << k) + twice_sum;
    return p2_add((u32)v >> 1, (u32)(v >> 32));  // the upper part is at most 2^17
}

// p2_permute applies the permutation to 16 words.
DEVICE void p2_permute(u32 *w)
{
    p2_external_layer(w);
    p2_external_rounds(w, 0);
#pragma unroll 1
    for (int r = 0; r < 14; r++) {
        u32 w0 = p2_pow5(p2_add(w[0], p2_internal[r]));
        u32 rest = w[1];
#pragma unroll
        for (int i = 2; i < 16; i++) rest = p2_add(rest, w[i]);
        u32 sum = p2_add(rest, w0);
        u64 twice = 2 * (u64)sum;
        w[0] = p2_add(rest, P - w0);  // -2 w0 + sum
        w[1] = p2_add(w[1], sum);
#pragma unroll
        for (int i = 2; i < 10; i++) w[i] = p2_diagonal(w[i], i - 1, twice);
        w[10] = p2_diagonal(w[10], 10, twice);
        w[11] = p2_diagonal(w[11], 12, twice);
        w[12] = p2_diagonal(w[12], 13, twice);
        w[13] = p2_diagonal(w[13], 14, twice);
        w[14] = p2_diagonal(w[14], 15, twice);
        w[15] = p2_diagonal(w[15], 16, twice);
    }
    p2_external_rounds(w, 4);
#pragma unroll
    for (int i = 0; i < 16; i++) w[i] = w[i] == P ? 0 : w[i];
}
