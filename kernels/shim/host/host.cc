// The runtime of the host build: memory with guards, and a scheduler that runs
// the blocks of a launch one after another and the threads of a block as
// fibres. It obeys commands on standard input; device.go is the other side.
//
// What a GPU would let pass by chance stops the program here with a message:
// access outside of an allocation's pages, barriers and warp operations that
// not all threads reach, and, with the sanitiser, misaligned loads, shifts too
// far and signed overflow. Fresh memory is filled with a pattern.
#include "cuda_host.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

shim_launch shim_now;

namespace {

typedef uint64_t u64;

std::string kernel_name = "no kernel"; // being run

[[noreturn]] void die(const char *format, ...)
{
    fflush(stdout);
    fprintf(stderr, "%s, block (%u,%u), thread %u: ", kernel_name.c_str(), shim_now.block_index.x, shim_now.block_index.y, shim_now.thread.x);
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    _exit(3);
}

// ---- fibres

constexpr size_t STACK = 256 << 10, PAGE = 4096, WARP = 32;

// Leaving a stack for another one, and coming back. The compiler's own pair keeps three
// registers and has it spill the others; the library's, which serves elsewhere, costs as
// much as most of what a thread does between two barriers.
#if defined(__x86_64__) && __has_attribute(noipa)
typedef void *jump[5];
#define SET_JUMP(to) __builtin_setjmp(to)
// A function that has the one must not have the other, and whoever calls one that comes
// back here must not know which registers that one leaves alone: other threads do not.
#define COMES_BACK __attribute__((noipa))
[[noreturn]] COMES_BACK void go_to(jump &to) { __builtin_longjmp(to, 1); }
#else
typedef jmp_buf jump;
#define SET_JUMP(to) _setjmp(to)
#define COMES_BACK
[[noreturn]] void go_to(jump &to) { _longjmp(to, 1); }
#endif

// What begins a stack lies elsewhere: the fibres of a block fit a processor's cache.
struct alignas(64) Fibre {
    jump env;
    ucontext_t *begin; // until it has begun
};

// A warp of the block. A set of its lanes has a bit for each. A lane that exists and is neither ready,
// nor done, nor joining waits at a barrier.
struct Warp {
    unsigned exist;
    unsigned ready;           // to go on; the one that runs is too
    unsigned done;            // returned
    unsigned joining;         // wait in a warp operation for other lanes
    unsigned parity;          // have done an odd number of warp operations
    u64 operation[WARP];      // that a lane is in, or was in last: its mask, kind and size
    alignas(SHIM_LANE) unsigned char brought[2][WARP][SHIM_LANE];
};

constexpr size_t MAX_THREADS = 1024;

Fibre fibres[MAX_THREADS];     // by thread; made when first needed, then kept
size_t made;                   // of them
Warp warps[MAX_THREADS / WARP]; // of the block
size_t threads, done;          // of the block, and how many of them have returned
size_t running;
bool backwards;                // whether this pass over the threads is from the last to the first
jump block_done;

// The barrier to come, and the last one.
struct {
    size_t waiting;
    int kind, count; // of predicates that hold
} barrier, passed;

struct {
    void (*with)(); // calls fn with as many arguments as there are
    void *fn;
    const u64 *args;
} call;

template <size_t... I>
void call_with(std::index_sequence<I...>)
{
    // Every parameter has 8 bytes and none is a float: one calling convention.
    reinterpret_cast<void (*)(decltype((void)I, u64())...)>(call.fn)(call.args[I]...);
}

constexpr size_t MAX_ARGS = 64;

template <size_t... N>
auto caller(size_t count, std::index_sequence<N...>)
{
    static void (*const all[])() = {[] { call_with(std::make_index_sequence<N>()); }...};
    return all[count];
}

// Lets the threads that wait at the barrier go on, which all but those that have returned must.
void release_barrier()
{
    if (done + barrier.waiting < threads)
        die("deadlock: %zu threads returned, %zu wait at a barrier, %zu for lanes of their warp", done, barrier.waiting,
            threads - done - barrier.waiting);
    passed = barrier;
    barrier = {};
    for (size_t w = 0; w < threads; w += WARP)
        warps[w / WARP].ready = warps[w / WARP].exist & ~warps[w / WARP].done;
}

// The thread that runs after this one. Every other pass over the threads goes backwards, so that what
// depends on their order shows.
size_t next()
{
    size_t w = running / WARP, last = (threads - 1) / WARP;
    unsigned lane = running % WARP, ready = warps[w].ready & (backwards ? (1u << lane) - 1 : ~1u << lane);
    for (;;) {
        while (ready == 0 && w != (backwards ? 0 : last))
            ready = warps[backwards ? --w : ++w].ready;
        if (ready != 0)
            return w * WARP + (backwards ? 31 - __builtin_clz(ready) : __builtin_ctz(ready));
        backwards = !backwards;
        w = backwards ? last : 0;
        bool any = false;
        for (size_t i = 0; i <= last; i++)
            any |= warps[i].ready != 0;
        if (!any)
            release_barrier();
        ready = warps[w].ready;
    }
}

// Begins or goes on with a thread.
[[noreturn]] COMES_BACK void enter(size_t t)
{
    running = t;
    shim_now.thread.x = (unsigned)t;
    Fibre &f = fibres[t];
    if (f.begin == nullptr)
        go_to(f.env);
    ucontext_t *begin = f.begin;
    f.begin = nullptr;
    setcontext(begin);
    die("setcontext failed");
}

[[noreturn]] COMES_BACK void enter_next()
{
    if (done == threads)
        go_to(block_done);
    enter(next());
}

// Lets others run until this thread is ready.
COMES_BACK void leave()
{
    if (SET_JUMP(fibres[running].env) == 0)
        enter_next();
}

// Where a fibre begins. It is used again for every block and launch.
void fibre_main()
{
    for (;;) {
        call.with();
        done++;
        warps[running / WARP].ready &= ~(1u << running % WARP);
        warps[running / WARP].done |= 1u << running % WARP;
        leave();
    }
}

// Makes the next fibre. The stacks begin at different places of their pages: what all threads use of
// theirs would share a few lines of a processor's cache otherwise.
void make_fibre()
{
    auto *context = fibres[made].begin = new ucontext_t;
    auto *stack = (unsigned char *)mmap(nullptr, PAGE + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED || mprotect(stack, PAGE, PROT_NONE) != 0 || getcontext(context) != 0)
        die("no memory for threads");
    context->uc_stack.ss_sp = stack + PAGE;
    context->uc_stack.ss_size = STACK - made * 7 * 64 % PAGE;
    context->uc_link = nullptr;
    makecontext(context, fibre_main, 0);
    made++;
}

// Makes what blocks of n threads need.
void make_threads(size_t n)
{
    threads = n;
    while (made < n)
        make_fibre();
    for (size_t w = 0; w < n; w += WARP)
        warps[w / WARP].exist = n - w < WARP ? (1u << (n - w)) - 1 : ~0u;
    if (n % WARP != 0) // lanes beyond the end bring zeros
        memset(warps[n / WARP].brought, 0, sizeof warps[0].brought);
}

COMES_BACK void run_block()
{
    done = 0;
    backwards = false;
    barrier = {};
    for (size_t w = 0; w < threads; w += WARP) {
        warps[w / WARP].ready = warps[w / WARP].exist;
        warps[w / WARP].done = warps[w / WARP].joining = warps[w / WARP].parity = 0;
    }
    if (SET_JUMP(block_done) == 0)
        enter(0);
}

// ---- memory

constexpr unsigned char FRESH = 0xcd, SLACK = 0xa5;

struct Region {
    size_t bytes, pages; // asked for; mapped, with the guard page after them
};
std::map<u64, Region> regions; // by address

constexpr size_t ALIGN = 256;

u64 allocate(size_t bytes)
{
    size_t room = (bytes + ALIGN - 1) / ALIGN * ALIGN, pages = (room + PAGE - 1) / PAGE * PAGE;
    auto *base = (unsigned char *)mmap(nullptr, pages + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return 0;
    if (mprotect(base + pages, PAGE, PROT_NONE) != 0)
        die("mprotect: %s", strerror(errno));
    // As near to the guard page as the alignment allows.
    unsigned char *p = base + pages - room;
    memset(p, FRESH, bytes);
    memset(p + bytes, SLACK, room - bytes);
    memset(base, SLACK, p - base);
    regions[(u64)p] = {bytes, pages};
    return (u64)p;
}

// The allocation that has all of [p, p + n), or none.
const Region *holding(u64 p, u64 n)
{
    auto it = regions.upper_bound(p);
    if (it == regions.begin())
        return nullptr;
    --it;
    u64 offset = p - it->first;
    return offset <= it->second.bytes && n <= it->second.bytes - offset ? &it->second : nullptr;
}

// Whether [from, to), of less than a page, is as allocate left it.
bool is_slack(const unsigned char *from, const unsigned char *to)
{
    static unsigned char page[PAGE];
    if (page[0] != SLACK)
        memset(page, SLACK, PAGE);
    return memcmp(from, page, to - from) == 0;
}

void check_slack(u64 p, const Region &r)
{
    auto *begin = (const unsigned char *)p;
    const unsigned char *end = begin + r.bytes, *stop = begin + (r.bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (!is_slack(end, stop))
        die("wrote past the end of an allocation of %zu bytes", r.bytes);
    if (!is_slack(stop - r.pages, begin))
        die("wrote before the begin of an allocation of %zu bytes", r.bytes);
}

void on_fault(int, siginfo_t *info, void *)
{
    die("access to address %p, which is not allocated", info->si_addr);
}

void catch_faults()
{
    static unsigned char stack[64 << 10]; // a fibre's own may be what overflowed
    stack_t alternate = {};
    alternate.ss_sp = stack;
    alternate.ss_size = sizeof stack;
    sigaltstack(&alternate, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
}

// ---- commands

void read_all(void *p, size_t n)
{
    if (n > 0 && fread(p, 1, n, stdin) != n)
        _exit(0); // the other side is gone
}

u64 read_u64()
{
    u64 v;
    read_all(&v, sizeof v);
    return v;
}

std::string read_text()
{
    std::string s(read_u64(), '\0');
    read_all(&s[0], s.size());
    return s;
}

void write_u64(u64 v) { fwrite(&v, 1, sizeof v, stdout); }

// Answers: 0 and what the command returns, or the length of a message and it.
void ok() { write_u64(0); }
void fail(const std::string &why)
{
    write_u64(why.size());
    fwrite(why.data(), 1, why.size(), stdout);
}

void do_launch()
{
    u64 group = read_u64();
    std::string name = read_text();
    u64 grid_x = read_u64(), grid_y = read_u64(), block = read_u64(), shared = read_u64();
    std::vector<u64> args(read_u64());
    read_all(args.data(), 8 * args.size());
    void *fn = dlsym((void *)group, name.c_str());
    if (fn == nullptr)
        return fail("no kernel " + name);
    if (args.size() > MAX_ARGS || block < 1 || block > MAX_THREADS || grid_x < 1 || grid_y < 1 || grid_x >= 1u << 31 || grid_y > 65535 || shared > 227 << 10)
        return fail("launch of " + name + " out of range");
    kernel_name = name;
    make_threads(block);
    call = {caller(args.size(), std::make_index_sequence<MAX_ARGS + 1>()), fn, args.data()};
    std::vector<ulonglong2> dynamic(shared / 16 + 1);
    shim_now.grid = {(unsigned)grid_x, (unsigned)grid_y, 1};
    shim_now.block = {(unsigned)block, 1, 1};
    shim_now.dynamic_shared = (unsigned char *)dynamic.data();
    for (u64 y = 0; y < grid_y; y++)
        for (u64 x = 0; x < grid_x; x++) {
            memset((void *)dynamic.data(), FRESH, 16 * dynamic.size());
            shim_now.block_index = {(unsigned)x, (unsigned)y, 0};
            run_block();
            for (u64 i = shared; i < 16 * dynamic.size(); i++)
                if (shim_now.dynamic_shared[i] != FRESH)
                    die("wrote past the end of the dynamic shared memory");
        }
    for (auto &r : regions)
        check_slack(r.first, r.second);
    kernel_name = "no kernel";
    ok();
}

void command(char op)
{
    switch (op) {
    case 'a': {
        u64 p = allocate(read_u64());
        if (p == 0)
            return fail("out of memory");
        ok();
        return write_u64(p);
    }
    case 'f': {
        u64 p = read_u64();
        auto it = regions.find(p);
        if (it == regions.end())
            return fail("freed what is not allocated");
        size_t room = (it->second.bytes + ALIGN - 1) / ALIGN * ALIGN;
        munmap((void *)(p + room - it->second.pages), it->second.pages + PAGE);
        regions.erase(it);
        return ok();
    }
    case 'u': {
        u64 p = read_u64(), n = read_u64();
        if (holding(p, n) == nullptr) {
            std::string rest(n, '\0');
            read_all(&rest[0], n);
            return fail("upload outside of an allocation");
        }
        read_all((void *)p, n);
        return ok();
    }
    case 'd': {
        u64 p = read_u64(), n = read_u64();
        if (holding(p, n) == nullptr)
            return fail("download outside of an allocation");
        ok();
        fwrite((void *)p, 1, n, stdout);
        return;
    }
    case 'c': {
        u64 dst = read_u64(), src = read_u64(), n = read_u64();
        if (holding(dst, n) == nullptr || holding(src, n) == nullptr)
            return fail("copy outside of an allocation");
        if (dst < src + n && src < dst + n && n > 0)
            return fail("copy between ranges that overlap");
        memcpy((void *)dst, (void *)src, n);
        return ok();
    }
    case 'z': {
        u64 p = read_u64(), n = read_u64();
        if (holding(p, n) == nullptr)
            return fail("clear outside of an allocation");
        memset((void *)p, 0, n);
        return ok();
    }
    case 'g': {
        std::string path = read_text();
        void *group = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (group == nullptr)
            return fail(dlerror());
        ok();
        return write_u64((u64)group);
    }
    case 'l':
        return do_launch();
    }
    die("unknown command %d", op);
}

} // namespace

void shim_barrier(int kind) { shim_barrier_count(kind, 0); }

int shim_barrier_count(int kind, int predicate)
{
    if (barrier.waiting > 0 && barrier.kind != kind)
        die("threads wait at different barriers");
    barrier = {barrier.waiting + 1, kind, barrier.count + predicate};
    warps[running / WARP].ready &= ~(1u << running % WARP);
    leave();
    return passed.count;
}

// memcpy of what a lane brings, mostly one number.
static inline void copy(void *to, const void *from, size_t size)
{
    if (size == 4)
        memcpy(to, from, 4);
    else if (size == 8)
        memcpy(to, from, 8);
    else if (size > 0)
        memcpy(to, from, size);
}

const unsigned char *shim_exchange(int kind, unsigned mask, const void *mine, size_t size)
{
    Warp &w = warps[running / WARP];
    unsigned lane = running % WARP, bit = 1u << lane;
    if (!(mask & bit))
        die("a lane that is not in its own mask %08x", mask);
    // Two slots in turn: a lane can begin the next operation while others still
    // read this one's, but not the one after it.
    unsigned parity = w.parity >> lane & 1;
    w.parity ^= bit;
    copy(w.brought[parity][lane], mine, size);
    u64 operation = w.operation[lane] = (u64)mask << 32 | (unsigned)kind << 8 | size;
    // Lanes beyond the end of the block do not exist and are not waited
    // for, as on a device.
    mask &= w.exist;
    if (w.done & mask)
        die("waits for lane %d of its warp, which has returned", __builtin_ctz(w.done & mask));
    // One in another operation, with fewer lanes perhaps, may still come
    // to this one. If it cannot, that is a deadlock.
    bool last = (mask & ~w.joining) == bit;
    for (unsigned left = mask; last && left != 0; left &= left - 1)
        last = w.operation[__builtin_ctz(left)] == operation;
    if (last) {
        w.joining &= ~mask;
        w.ready |= mask;
    } else {
        w.joining |= bit;
        w.ready &= ~bit;
        leave();
    }
    return w.brought[parity][0];
}

int main()
{
    catch_faults();
    for (;;) {
        char op;
        fflush(stdout);
        read_all(&op, 1);
        command(op);
    }
}
