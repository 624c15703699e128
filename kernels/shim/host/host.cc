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

enum State { READY, AT_BARRIER, AT_WARP, DONE };

constexpr size_t STACK = 256 << 10, PAGE = 4096, EXCHANGE = 64;

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

// What the scheduler and the other threads look at comes first, and what begins a stack
// lies elsewhere: the fibres of a block fit a processor's cache.
struct Fibre {
    State state;
    int kind;           // of the operation it waits in
    unsigned mask;      // of the warp operation it waits in
    unsigned size;      // brought to it
    unsigned parity;    // of the number of warp operations done
    int predicate;      // brought to a barrier
    bool started = false;
    uint3 thread;
    jump env;
    ucontext_t *context = new ucontext_t;
    unsigned char brought[2][EXCHANGE];
};

std::vector<Fibre *> fibres; // by thread; made when first needed, then kept
size_t threads;              // of the block
size_t running;
jump scheduler;
int barrier_count;           // of predicates at the last barrier

struct {
    void *fn;
    const u64 *args;
    size_t count;
} call;

template <size_t... I>
void call_with(std::index_sequence<I...>)
{
    // Every parameter has 8 bytes and none is a float: one calling convention.
    reinterpret_cast<void (*)(decltype((void)I, u64())...)>(call.fn)(call.args[I]...);
}

constexpr size_t MAX_ARGS = 64;

template <size_t N>
void call_if()
{
    if (call.count == N)
        return call_with(std::make_index_sequence<N>());
    if constexpr (N < MAX_ARGS)
        call_if<N + 1>();
}

COMES_BACK void leave()
{
    if (SET_JUMP(fibres[running]->env) == 0)
        go_to(scheduler);
}

// Where a fibre begins. It is used again for every block and launch.
void fibre_main()
{
    for (;;) {
        call_if<0>();
        fibres[running]->state = DONE;
        leave();
    }
}

COMES_BACK void enter(size_t t)
{
    Fibre &f = *fibres[t];
    running = t;
    shim_now.thread = f.thread;
    if (SET_JUMP(scheduler) != 0)
        return;
    if (f.started)
        go_to(f.env);
    f.started = true;
    setcontext(f.context);
    die("setcontext failed");
}

Fibre *make_fibre(Fibre *f)
{
    auto *stack = (unsigned char *)mmap(nullptr, PAGE + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED || mprotect(stack, PAGE, PROT_NONE) != 0 || getcontext(f->context) != 0)
        die("no memory for threads");
    f->context->uc_stack.ss_sp = stack + PAGE;
    f->context->uc_stack.ss_size = STACK;
    f->context->uc_link = nullptr;
    makecontext(f->context, fibre_main, 0);
    return f;
}

void make_fibres(size_t n)
{
    while (fibres.size() < n)
        fibres.push_back(make_fibre(new Fibre));
}

void release_barrier()
{
    int kind = -1;
    barrier_count = 0;
    for (size_t t = 0; t < threads; t++) {
        Fibre &f = *fibres[t];
        if (f.state == DONE)
            continue;
        if (kind >= 0 && f.kind != kind)
            die("threads wait at different barriers");
        kind = f.kind;
        barrier_count += f.predicate;
        f.state = READY;
    }
}

void run_block()
{
    for (size_t t = 0; t < threads; t++) {
        fibres[t]->state = READY;
        fibres[t]->parity = 0;
    }
    // Every other pass goes backwards, so that what depends on the order of
    // threads shows.
    for (bool backwards = false;; backwards = !backwards) {
        size_t ran = 0, done = 0, waiting = 0;
        for (size_t i = 0; i < threads; i++) {
            size_t t = backwards ? threads - 1 - i : i;
            if (fibres[t]->state != READY)
                continue;
            ran++;
            enter(t);
        }
        for (size_t t = 0; t < threads; t++) {
            done += fibres[t]->state == DONE;
            waiting += fibres[t]->state == AT_BARRIER;
        }
        if (done == threads)
            return;
        if (ran == 0) {
            if (done + waiting < threads)
                die("deadlock: %zu threads returned, %zu wait at a barrier, %zu for lanes of their warp", done, waiting, threads - done - waiting);
            release_barrier();
        }
    }
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
    if (args.size() > MAX_ARGS || block < 1 || block > 1024 || grid_x < 1 || grid_y < 1 || grid_x >= 1u << 31 || grid_y > 65535 || shared > 227 << 10)
        return fail("launch of " + name + " out of range");
    kernel_name = name;
    threads = block;
    make_fibres(threads);
    call = {fn, args.data(), args.size()};
    std::vector<ulonglong2> dynamic(shared / 16 + 1);
    shim_now.grid = {(unsigned)grid_x, (unsigned)grid_y, 1};
    shim_now.block = {(unsigned)block, 1, 1};
    shim_now.dynamic_shared = (unsigned char *)dynamic.data();
    for (size_t t = 0; t < threads; t++)
        fibres[t]->thread = {(unsigned)t, 0, 0};
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
    Fibre &f = *fibres[running];
    f.kind = kind;
    f.predicate = predicate;
    f.state = AT_BARRIER;
    leave();
    return barrier_count;
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

void shim_exchange(int kind, unsigned mask, const void *mine, size_t size, unsigned from, void *all)
{
    size_t t = running, warp = t / 32 * 32;
    unsigned lane = t % 32;
    Fibre &f = *fibres[t];
    if (!(mask >> lane & 1))
        die("a lane that is not in its own mask %08x", mask);
    // Two slots in turn: a lane can begin the next operation while others still
    // read this one's, but not the one after it.
    unsigned parity = f.parity;
    f.parity ^= 1;
    copy(f.brought[parity], mine, size);
    f.kind = kind, f.mask = mask, f.size = (unsigned)size, f.state = AT_WARP;
    bool last = true;
    // Neighbours first: as lanes run one after the other, either way, it is soon seen
    // that one has not come.
    for (unsigned k = 0; k < 32 && last; k++) {
        unsigned i = lane ^ k;
        if (!(mask >> i & 1))
            continue;
        // Lanes beyond the end of the block do not exist and are not waited
        // for, as on a device.
        if (warp + i >= threads)
            continue;
        const Fibre &g = *fibres[warp + i];
        if (g.state == DONE)
            die("waits for lane %u of its warp, which has returned", i);
        // One in another operation, with fewer lanes perhaps, may still come
        // to this one. If it cannot, that is a deadlock.
        if (g.state != AT_WARP || g.mask != mask || g.kind != kind || g.size != size)
            last = false;
    }
    if (last) {
        for (unsigned i = 0; i < 32; i++)
            if (mask >> i & 1 && warp + i < threads)
                fibres[warp + i]->state = READY;
    } else {
        leave();
    }
    for (unsigned left = from & mask; left != 0; left &= left - 1) {
        unsigned i = __builtin_ctz(left);
        if (warp + i < threads)
            copy((unsigned char *)all + i * size, fibres[warp + i]->brought[parity], size);
    }
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
