// The host's side of the shim: fibres, memory, and the loop that serves a Go
// process over standard input and output.
#include "shim.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

dim3 threadIdx, blockIdx, blockDim, gridDim;
unsigned char *shim_dynamic_shared;

typedef unsigned long long word;

#define MAX_ARGS 24
typedef void (*kernel)(word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word,
                       word, word, word, word, word, word, word, word);

// A group is the threads that meet at a barrier.
struct group {
    int live, waiting;
    unsigned generation;
};

struct fibre {
    void *sp;
    char *stack;
    bool done;
    unsigned exchanges;  // calls of shim_exchange
};

static const size_t stack_size = 64 << 10;
static fibre fibres[1024];
static group block, warps[32];
static word slots[32][2][32];  // by warp, parity of the exchange, lane
static int current, progress;
static void *scheduler_sp;
static kernel entry;
static word arg[MAX_ARGS];

#if defined(__x86_64__)
extern "C" void fibre_switch(void **from, void *to);
asm(".text\n"
    ".globl fibre_switch\n"
    "fibre_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp, (%rdi)\n"
    "movq %rsi, %rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\n"
    "ret\n");
#else
#error "the shim's fibres are written for x86-64"
#endif

static void yield() { fibre_switch(&fibres[current].sp, scheduler_sp); }

static void release_if_full(group &g) {
    if (g.waiting > 0 && g.waiting == g.live) {
        g.waiting = 0;
        g.generation++;
        progress = 1;
    }
}

static void wait(group &g) {
    unsigned generation = g.generation;
    g.waiting++;
    progress = 1;
    release_if_full(g);
    while (g.generation == generation) yield();
}

void shim_barrier() { wait(block); }
void shim_warp_barrier() { wait(warps[current / 32]); }
int shim_lane() { return current % 32; }
bool shim_live(int lane) {
    int t = current / 32 * 32 + lane;
    return t < (int)blockDim.x && !fibres[t].done;
}

const word *shim_exchange(word v) {
    // Two sets of slots in turn: a lane can be one exchange ahead of another.
    word *set = slots[current / 32][fibres[current].exchanges++ % 2];
    set[current % 32] = v;
    shim_warp_barrier();
    return set;
}

static void fibre_main() {
    entry(arg[0], arg[1], arg[2], arg[3], arg[4], arg[5], arg[6], arg[7], arg[8], arg[9], arg[10], arg[11], arg[12],
          arg[13], arg[14], arg[15], arg[16], arg[17], arg[18], arg[19], arg[20], arg[21], arg[22], arg[23]);
    fibres[current].done = true;
    progress = 1;
    block.live--;
    release_if_full(block);
    warps[current / 32].live--;
    release_if_full(warps[current / 32]);
    yield();
    abort();
}

static void run_block() {
    int n = blockDim.x;
    block = {n, 0, 0};
    for (int w = 0; w < 32; w++) {
        int live = n - 32 * w;
        warps[w] = {live < 0 ? 0 : live > 32 ? 32 : live, 0, 0};
    }
    for (int i = 0; i < n; i++) {
        fibre &f = fibres[i];
        if (!f.stack) f.stack = (char *)aligned_alloc(64, stack_size);
        void **sp = (void **)(f.stack + stack_size);
        *--sp = 0;  // so that fibre_main begins with the alignment of a call
        *--sp = (void *)fibre_main;
        sp -= 6;  // registers that the first switch pops
        f.sp = sp;
        f.done = false;
        f.exchanges = 0;
    }
    for (int left = n; left > 0;) {
        progress = 0;
        left = 0;
        for (int i = 0; i < n; i++) {
            if (fibres[i].done) continue;
            current = i;
            threadIdx.x = i;
            fibre_switch(&scheduler_sp, fibres[i].sp);
            left += !fibres[i].done;
        }
        if (left > 0 && !progress) {
            fprintf(stderr, "shim: %d threads wait at a barrier that the others do not reach\n", left);
            exit(3);
        }
    }
}

static void mma(int d[4], const unsigned a[4], const unsigned b[2], bool a_signed) {
    // Lane 4g+t has A rows g and g+8, columns 4t… and 16+4t…; B column g,
    // rows 4t… and 16+4t…; D rows g and g+8, columns 2t and 2t+1.
    word all_a[4][32], all_b[2][32];
    for (int i = 0; i < 4; i++) memcpy(all_a[i], shim_exchange(a[i]), sizeof all_a[i]);
    for (int i = 0; i < 2; i++) memcpy(all_b[i], shim_exchange(b[i]), sizeof all_b[i]);
    int g = shim_lane() / 4, t = shim_lane() % 4;
    for (int i = 0; i < 4; i++) {
        int high = i / 2, column = 2 * t + i % 2;
        for (int k = 0; k < 32; k++) {
            int half = k / 16, lane = k % 16 / 4, byte = k % 4;
            unsigned x = all_a[high + 2 * half][4 * g + lane] >> 8 * byte & 0xff;
            unsigned y = all_b[half][4 * column + lane] >> 8 * byte & 0xff;
            d[i] += (a_signed ? (int)(signed char)x : (int)x) * (int)(signed char)y;
        }
    }
}
void shim_mma_u8s8(int d[4], const unsigned a[4], const unsigned b[2]) { mma(d, a, b, false); }
void shim_mma_s8s8(int d[4], const unsigned a[4], const unsigned b[2]) { mma(d, a, b, true); }

// Memory: every allocation ends where an unmapped page begins, so that a
// kernel that goes too far dies on the spot.
static std::map<word, std::pair<void *, size_t>> allocations;

static word allocate(size_t n) {
    const size_t page = 4096;
    n = (n + 15) / 16 * 16;
    size_t mapped = (n + page - 1) / page * page;
    char *base = (char *)mmap(0, mapped + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return 0;
    mprotect(base + mapped, page, PROT_NONE);
    char *p = base + mapped - n;
    memset(p, 0xa5, n);
    allocations[(word)p] = {base, mapped + page};
    return (word)p;
}

static void release(word p) {
    auto it = allocations.find(p);
    if (it == allocations.end()) {
        fprintf(stderr, "shim: free of an address that is not allocated\n");
        exit(3);
    }
    munmap(it->second.first, it->second.second);
    allocations.erase(it);
}

static void get(void *p, size_t n) {
    if (n > 0 && fread(p, 1, n, stdin) != n) exit(0);
}
static word get() {
    word v;
    get(&v, sizeof v);
    return v;
}
static void put(const void *p, size_t n) { fwrite(p, 1, n, stdout); }
static void put(word v) { put(&v, sizeof v); }

// launch returns whether there is such a kernel.
static bool launch() {
    std::string name(get(), 0);
    get(&name[0], name.size());
    word x = get(), y = get(), threads = get(), shared = get(), n = get();
    for (word i = 0; i < n; i++) arg[i] = get();
    entry = (kernel)dlsym(RTLD_DEFAULT, name.c_str());
    if (!entry) return false;
    std::vector<unsigned char> dynamic(shared + 16);
    shim_dynamic_shared = (unsigned char *)(((uintptr_t)dynamic.data() + 15) / 16 * 16);
    blockDim = {(unsigned)threads, 1, 1};
    gridDim = {(unsigned)x, (unsigned)y, 1};
    for (unsigned j = 0; j < y; j++)
        for (unsigned i = 0; i < x; i++) {
            blockIdx = {i, j, 0};
            run_block();
        }
    return true;
}

int main() {
    for (;;) {
        unsigned char op;
        get(&op, 1);
        switch (op) {
        case 'a': put(allocate(get())); break;
        case 'f': release(get()); break;
        case 'u': {
            word dst = get(), n = get();
            get((void *)dst, n);
            break;
        }
        case 'd': {
            word src = get(), n = get();
            put((void *)src, n);
            break;
        }
        case 'c': {
            word dst = get(), src = get(), n = get();
            memcpy((void *)dst, (void *)src, n);
            break;
        }
        case 'z': {
            word dst = get(), n = get();
            memset((void *)dst, 0, n);
            break;
        }
        case 'l': put(launch()); break;
        default: exit(3);
        }
        if (op == 'a' || op == 'd' || op == 'l') fflush(stdout);
    }
}
