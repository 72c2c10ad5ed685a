/* SPDX-License-Identifier: MIT */
#include "sno.h"
#include <stdio.h>

int main(void) {
    char uuid[37];
    const flake_status status = flake_uuid7(uuid);
    if (status != FLAKE_OK) return fprintf(stderr, "%s\n", flake_status_str(status)), 1;
    puts(uuid);
    return sno_is_zero(sno_generate(0));
}
