/* verify KEY PROOF: prints what a proof states, through include/prove_model.h; exit code 1 if it is not valid. */
#include "prove_model.h"

#include <stdio.h>
#include <stdlib.h>

static uint8_t *contents(const char *name, size_t *length)
{
    FILE *f = fopen(name, "rb");
    if (f == NULL || fseek(f, 0, SEEK_END) != 0)
        exit(2);
    *length = (size_t)ftell(f);
    rewind(f);
    uint8_t *bytes = malloc(*length + 1);
    if (bytes == NULL || fread(bytes, 1, *length, f) != *length)
        exit(2);
    fclose(f);
    return bytes;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    size_t key_length, proof_length, count;
    uint8_t *key = contents(argv[1], &key_length), *proof = contents(argv[2], &proof_length);
    prove_model_outcome *outcome = prove_model_verify(key, key_length, proof, proof_length, NULL, 100);
    const char *reason = prove_model_reason(outcome);
    int refused = reason[0] != 0;
    if (refused)
        printf("%s\n", reason);
    for (size_t i = 0; i < prove_model_tensors(outcome, true); i++) {
        const double *reals = prove_model_reals(outcome, true, i, &count);
        printf("%s: %zu numbers, the first is %g\n", prove_model_name(outcome, true, i), count, count > 0 ? reals[0] : 0);
    }
    prove_model_free(outcome);
    free(key);
    free(proof);
    return refused;
}
