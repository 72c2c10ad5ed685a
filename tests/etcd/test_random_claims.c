/* SPDX-License-Identifier: MIT
 *
 * Random answers of etcd: the fuzz target of what a claim reads (JSON, base64, horizons), each
 * compared with a naive reader, with bytes from a seed in place of a fuzzer's.
 */
#define FUZZ_LIBFUZZER /* for driver.h: no main */
#include "../../fuzz/fuzz_claims.c"
#include "../../fuzz/seeded.h"

static void read_answer(const uint8_t *bytes, size_t size) {
    fuzz_ids++;
    (void)LLVMFuzzerTestOneInput(bytes, size);
}

TEST(random_answers_are_what_a_naive_reader_says) {
    const seeded any = {0, 0, 0, 0};
    seeded_play(read_answer, 9000000, 2000000, any);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
