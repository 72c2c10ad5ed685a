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
typedef bool new_unit_draw(unsigned thread, void *out, size_t n);
new_unit_draw floor_leaping_cas, floor_leaping_store, floor_given_leaping_cas,
    floor_given_leaping_store, new_unit_flake_next, new_unit_flake_try_at,
    new_unit_flake_shard_next, new_unit_flake_shard_try_at, new_unit_flake_lanes_next,
    new_unit_sno_next, new_unit_sno_try_at, new_unit_sno_shard_next, new_unit_sno_shard_try_at,
    new_unit_sno_lanes_next;

#endif
