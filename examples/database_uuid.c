/* SPDX-License-Identifier: MIT
 *
 * When a sno is to be a key in a column of type uuid, or of 16 bytes. Both sort it as the IDs sort.
 */
#include "sno.h"
#include <stdio.h>

int main(void) {
    const sno_id id = sno_generate(1);
    char uuid[37];
    if (sno_is_zero(id)) return fprintf(stderr, "no ID: a clock outside 2010..2079?\n"), 1;
    sno_to_uuid(id, uuid);
    printf("INSERT INTO events (id) VALUES ('%s');\n", uuid);
    return 0;
}
