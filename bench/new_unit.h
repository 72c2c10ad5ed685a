/* SPDX-License-Identifier: MIT
 *
 * Draws each in a new unit, as when ids are few and far between. Their clock is a variable. They are on
 * their own since a compiler puts a function that is called in one place only into its caller: another
 * call beside those of the other rows would make these slower.
 */
#ifndef BENCH_NEW_UNIT_H
#define BENCH_NEW_UNIT_H

#include <stdbool.h>
#include <stddef.h>

/* What bench_row calls begin and draw. One thread alone may call them. */
bool begin_new_units(unsigned threads);
bool floor_leaping_cas(unsigned thread, void *out, size_t n);
bool floor_leaping_store(unsigned thread, void *out, size_t n);
bool floor_given_leaping_cas(unsigned thread, void *out, size_t n);
bool floor_given_leaping_store(unsigned thread, void *out, size_t n);
bool new_unit_flake_next(unsigned thread, void *out, size_t n);
bool new_unit_flake_try_at(unsigned thread, void *out, size_t n);
bool new_unit_flake_shard_next(unsigned thread, void *out, size_t n);
bool new_unit_flake_shard_try_at(unsigned thread, void *out, size_t n);
bool new_unit_flake_lanes_next(unsigned thread, void *out, size_t n);
bool new_unit_sno_next(unsigned thread, void *out, size_t n);
bool new_unit_sno_try_at(unsigned thread, void *out, size_t n);
bool new_unit_sno_shard_next(unsigned thread, void *out, size_t n);
bool new_unit_sno_shard_try_at(unsigned thread, void *out, size_t n);
bool new_unit_sno_lanes_next(unsigned thread, void *out, size_t n);

#endif
