/* SPDX-License-Identifier: MIT
 *
 * A sno as a UUID: PostgreSQL's type uuid, and any column of 16 bytes, sort it as the ids sort.
 */
#include "sno.h"
#include <stdio.h>

int main(void) {
    char uuid[37];
    sno_to_uuid(sno_generate(1), uuid);
    printf("INSERT INTO events (id) VALUES ('%s');\n", uuid);
}
