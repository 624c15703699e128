/* Verifies proofs of prove-model. Link with libprove_model.a or libprove_model.so, which `cargo build --release --package
 * prove-model-ffi` makes in rust/target/release. No function keeps what its pointers point to, and all of them may be called
 * from several threads, but for one outcome at a time where it is freed. */
#ifndef PROVE_MODEL_H
#define PROVE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What came of a verification. */
typedef struct prove_model_outcome prove_model_outcome;

/* Verifies the proof in a file against the key in another, both as their bytes. commitment has the 32 bytes that the key's
 * digest must be, or is NULL if the key is known to be the model's. min_bits is the least security that is accepted, in bits,
 * such as 100. The outcome must be freed. */
prove_model_outcome *prove_model_verify(const uint8_t *key, size_t key_length, const uint8_t *proof, size_t proof_length,
                                        const uint8_t *commitment, uint32_t min_bits);
void prove_model_free(prove_model_outcome *outcome);

/* Why the proof is not valid; the empty string if it is. What follows is about valid proofs, and empty or zero for others.
 * Pointers are good until the outcome is freed. */
const char *prove_model_reason(const prove_model_outcome *outcome);

/* The commitment to the model, 32 bytes. */
void prove_model_commitment(const prove_model_outcome *outcome, uint8_t *out);

/* The SHA-256 of commitment and statement, 32 bytes: of the inputs and then of the outputs their number, and of each the
 * number of its axes, their lengths, and its integers. Numbers and integers have 4 bytes, lengths 8, all little-endian. */
void prove_model_digest(const prove_model_outcome *outcome, uint8_t *out);

/* The bits of security of the weakest challenge, proofs of work included. */
double prove_model_bits(const prove_model_outcome *outcome);

/* The inputs (outputs false) or the outputs: how many there are, and of one its name, its shape, and its entries, row-major,
 * as integers and as the numbers that these stand for. count is set to the length of the list. */
size_t prove_model_tensors(const prove_model_outcome *outcome, bool outputs);
const char *prove_model_name(const prove_model_outcome *outcome, bool outputs, size_t i);
const uint64_t *prove_model_shape(const prove_model_outcome *outcome, bool outputs, size_t i, size_t *count);
const int32_t *prove_model_integers(const prove_model_outcome *outcome, bool outputs, size_t i, size_t *count);
const double *prove_model_reals(const prove_model_outcome *outcome, bool outputs, size_t i, size_t *count);

/* The tokens that the model wrote after a prompt of so many, and whether the last one ends the text; NULL if the key is not
 * one for that. */
const uint32_t *prove_model_written(const prove_model_outcome *outcome, size_t *prompt, size_t *count, bool *ended);

/* In WebAssembly, where the same functions are exported: room in the module's memory for a key, a proof or a number, and the
 * way to give it back. */
uint64_t *prove_model_room(size_t length);
void prove_model_give_back(uint64_t *room, size_t length);

#ifdef __cplusplus
}
#endif

#endif
