/* SPDX-License-Identifier: MIT
 *
 * When a Kubernetes StatefulSet numbers the pods: their host names end in the number. A pod that starts
 * again, perhaps on a host whose clock is behind, has the same number: put a state file on its volume
 * (restarts.c). A pod that was deleted by force may still run next to its successor.
 *
 * Environment: POD_NAME=web-3
 */
#include "flake.h"
#include <stdio.h>
#include <stdlib.h>

static flake_gen ids;
static flake_options options;

int main(void) {
    flake_why why;
    const char *pod = getenv("POD_NAME"); // NULL if it is not set: this host's name
    if (flake_node_from_hostname(pod, &options.node, &why) != FLAKE_OK ||
        flake_init(&ids, &options, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    printf("node %llu\n", (unsigned long long)options.node);
    return 0;
}
