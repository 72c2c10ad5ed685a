// SPDX-License-Identifier: MIT
// The other unit: see units_a.c. Compiles as C++ and as C.
#include "flake.h"

#ifdef __cplusplus
extern "C" {
#endif
void *units_b_process(void);
uint64_t units_b_next(flake_gen *gen);
size_t units_b_size(void);

void *units_b_process(void) { return (void *)&flake_i_process; }

uint64_t units_b_next(flake_gen *gen) {
    uint64_t id = 0;
    return flake_next(gen, &id) == FLAKE_OK ? id : 0;
}

size_t units_b_size(void) { return sizeof(flake_gen); }
#ifdef __cplusplus
}
#endif
