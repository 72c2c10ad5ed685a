/* SPDX-License-Identifier: MIT
 *
 * Kubernetes: the pods of a StatefulSet are numbered, and their host names end in that number. A pod
 * that starts again, perhaps on a host whose clock lags, has the same number: put a state file on its
 * volume (restarts.c). And a pod that was deleted by force may still run beside its successor.
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
    const char *pod = getenv("POD_NAME"); // NULL, if it is not set: this host's name
    if (flake_node_from_hostname(pod, &options.node, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    if (flake_init(&ids, &options, NULL) != FLAKE_OK) return 1;
    printf("node %u\n", (unsigned)options.node);
}
