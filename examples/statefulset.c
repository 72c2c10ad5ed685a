/* SPDX-License-Identifier: MIT
 *
 * When a Kubernetes StatefulSet numbers the pods: their names end in the number. It is unique in one StatefulSet:
 * give each set a range of its own, since web-0 and api-0 have the same number. Here web has 0 to 511, and api could
 * have 512 to 1023; web-512 is refused. A pod that starts again, perhaps on a host whose clock is behind, has the
 * same number, so its volume is the directory. A pod that was deleted by force may still run next to its
 * successor: ReadWriteOncePod keeps the volume, and with it the number, from the second one. In the StatefulSet's
 * spec:
 *
 *     template: {spec: {containers: [{name: app, image: app, workingDir: /ids,
 *       env: [{name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}],
 *       volumeMounts: [{name: ids, mountPath: /ids}]}]}}
 *     volumeClaimTemplates: [{metadata: {name: ids}, spec: {accessModes: [ReadWriteOncePod],
 *       resources: {requests: {storage: 1Mi}}}}]
 *
 * must_exist refuses a start without the number's file, as when a disk is not mounted. Kubernetes starts no pod
 * without its volume, so it is not needed here. If you set it anyway, an init container of the same user makes the
 * file of a number's first start, since all starts have one template. N is the number, first + ordinal. Nothing
 * notices a pod that was started with the range of another set:
 *
 *     mountpoint -q /ids && { [ -e /ids/$N.slot ] || flake generate --node=$N --dir=/ids; }
 *
 * Environment: POD_NAME=web-3
 */
#include "flake.h"
#include <stdio.h>
#include <stdlib.h>

static flake_gen ids;

int main(void) {
    flake_why why;
    uint64_t number;
    const char *pod = getenv("POD_NAME"); // NULL if it is not set: this host's name
    if (flake_node_from_hostname(pod, 0, 511, &number, &why) != FLAKE_OK ||
        flake_init(&ids, flake_node_fixed(".", number), NULL, &why) != FLAKE_OK)
        return fprintf(stderr, "%s\n", why.text), 1;
    printf("node %llu\n", (unsigned long long)number);
    if (flake_close(&ids, &why) != FLAKE_OK) // the next run need not wait
        return fprintf(stderr, "%s\n", why.text), 1;
    return 0;
}
