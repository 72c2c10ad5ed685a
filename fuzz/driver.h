/* SPDX-License-Identifier: MIT
 *
 * Included at the end of a fuzz target: without libFuzzer, a main() that replays files. With FUZZ_TRACE=1 in the
 * environment it prints each call.
 */
#ifndef DRIVER_H
#define DRIVER_H

#ifndef FUZZ_LIBFUZZER
static uint8_t driver_bytes[1 << 20];

int main(int argc, char **argv) {
    fuzz_traced = getenv("FUZZ_TRACE") != NULL;
#ifdef FUZZ_INITIALIZE
    (void)LLVMFuzzerInitialize(&argc, &argv);
#endif
    for (int i = 1; i < argc; i++) {
        if (!strncmp(argv[i], "--", 2)) continue; /* the campaign's */
        FILE *in = fopen(argv[i], "rb");
        if (!in) {
            perror(argv[i]);
            return 2;
        }
        const size_t size = fread(driver_bytes, 1, sizeof driver_bytes, in);
        (void)fclose(in);
        uint8_t *const copy = (uint8_t *)exactly(size);
        memcpy(copy, driver_bytes, size);
        (void)LLVMFuzzerTestOneInput(copy, size);
        free(copy);
    }
    printf("%" PRIu64 " inputs, %" PRIu64 " IDs, nothing found\n", fuzz_inputs, fuzz_ids);
    return fuzz_inputs ? 0 : 2;
}
#endif

#endif
