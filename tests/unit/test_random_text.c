/* SPDX-License-Identifier: MIT
 *
 * Random texts, fields, names and layouts: the fuzz target of conversions, with bytes from a seed in place of a
 * fuzzer's.
 * Runs on Windows: it needs neither fork nor POSIX.
 */
#define FUZZ_LIBFUZZER /* for driver.h: no main */
#include "../../fuzz/fuzz_text.c"
#include "../../fuzz/seeded.h"

static void convert(const uint8_t *bytes, size_t size) { (void)LLVMFuzzerTestOneInput(bytes, size); }

TEST(random_texts_are_what_naive_readers_say) {
    const seeded any = {0, 0, 0, 0};
    seeded_play(convert, 8000000, 200000, any);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
