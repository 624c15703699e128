//! The verifier as a program for a machine whose runs can be proved. It verifies a proof against a key and commits to the
//! SHA-256 of the key's digest and the statement (`Verdict::digest`), so that a proof of its run says: the model with this
//! commitment maps these inputs to these outputs. A proof that does not hold ends the run without a commitment.
//!
//! The machine's interface is as small as can be, so that it can be had from any: the input is in memory, and there are two
//! calls to the machine, to commit and to end.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("guest: build it with --target riscv32im-unknown-none-elf");
    std::process::exit(2);
}

#[cfg(target_os = "none")]
mod bare {
    use core::alloc::{GlobalAlloc, Layout};
    use core::arch::{asm, global_asm};
    use core::panic::PanicInfo;
    use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use prove_model_verifier::{Policy, verify};

    /// Where the key and then the proof are, each behind its length, 4 bytes, little-endian.
    const INPUT: usize = 0x4000_0000;
    /// The least security of what is accepted, in bits.
    const MIN_BITS: u32 = 100;

    const COMMIT: usize = 1;
    const END: usize = 93;

    global_asm!(".section .text.start", ".globl _start", "_start:", "la sp, _stack", "call start");

    unsafe extern "C" {
        static _heap: u8;
    }

    fn call(number: usize, argument: usize) {
        // SAFETY: the machine reads what the argument points to, and changes nothing.
        unsafe { asm!("ecall", in("a7") number, in("a0") argument) }
    }

    fn end(code: usize) -> ! {
        loop {
            call(END, code);
        }
    }

    /// The bytes behind a length, and where they end.
    fn file(at: usize) -> (&'static [u8], usize) {
        // SAFETY: the machine has put a length here, and that many bytes, which nobody changes.
        let bytes = unsafe {
            let length = (at as *const [u8; 4]).read();
            core::slice::from_raw_parts((at + 4) as *const u8, u32::from_le_bytes(length) as usize)
        };
        (bytes, at + 4 + bytes.len())
    }

    #[unsafe(no_mangle)]
    extern "C" fn start() -> ! {
        let (key, next) = file(INPUT);
        let (proof, _) = file(next);
        match verify(key, proof, &Policy { min_bits: MIN_BITS, skip_checksum: true, ..Policy::default() }) {
            Ok(verdict) => {
                let digest = verdict.digest();
                call(COMMIT, digest.as_ptr() as usize);
                end(0)
            }
            Err(_) => end(1),
        }
    }

    /// Takes memory and gives none back, but for what was taken last: a run is short, and its memory is new.
    struct Heap(AtomicUsize);

    #[global_allocator]
    static HEAP: Heap = Heap(AtomicUsize::new(0));

    // SAFETY: there is one thread, and what is handed out never overlaps.
    unsafe impl GlobalAlloc for Heap {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            let mut at = self.0.load(Relaxed);
            if at == 0 {
                at = &raw const _heap as usize;
            }
            let from = (at + layout.align() - 1) & !(layout.align() - 1); // which is a power of two
            self.0.store(from + layout.size(), Relaxed);
            from as *mut u8
        }

        unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
            if pointer as usize + layout.size() == self.0.load(Relaxed) {
                self.0.store(pointer as usize, Relaxed);
            }
        }

        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            // SAFETY: as of alloc. Memory that was given back may have been written to.
            unsafe {
                let pointer = self.alloc(layout);
                pointer.write_bytes(0, layout.size());
                pointer
            }
        }

        unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            if pointer as usize + layout.size() == self.0.load(Relaxed) {
                self.0.store(pointer as usize + size, Relaxed);
                return pointer;
            }
            // SAFETY: as of alloc; the new place does not overlap the old one.
            unsafe {
                let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                new.copy_from_nonoverlapping(pointer, layout.size().min(size));
                new
            }
        }
    }

    #[panic_handler]
    fn panic(_: &PanicInfo) -> ! {
        end(2)
    }
}
