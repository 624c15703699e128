//go:build cuda && linux && (amd64 || arm64)

// A function for each entry point of the driver, which jumps to wherever the
// entry's slot points: until libcuda_open has filled the slots, to a function
// that returns an error. Arguments stay where the caller put them.
//
// The slots, with the names to look up, form an array between libcuda_slots and
// libcuda_slots_end: struct slot in libcuda.c.

#define CU(name) entry name ;

.macro entry name
	.section .rodata.libcuda, "a", %progbits
name_\name:
	.asciz "\name"

	.section .data.libcuda, "aw", %progbits
	.quad name_\name
slot_\name:
	.quad libcuda_unavailable

	.text
	.p2align 4
	.globl \name
	.type \name, %function
\name:
#if defined(__x86_64__)
	endbr64
	jmp *slot_\name(%rip)
#elif defined(__aarch64__)
	hint #34
	adrp x16, slot_\name
	ldr x16, [x16, :lo12:slot_\name]
	br x16
#endif
	.size \name, . - \name
.endm

	.section .data.libcuda, "aw", %progbits
	.p2align 3
	.globl libcuda_slots
libcuda_slots:

#include "symbols.h"

	.section .data.libcuda, "aw", %progbits
	.globl libcuda_slots_end
libcuda_slots_end:

	.section .note.GNU-stack, "", %progbits
