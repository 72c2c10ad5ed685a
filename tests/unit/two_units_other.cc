// SPDX-License-Identifier: MIT
//
// The other unit of two_units_main.c, which describes the test. Compiles as C++ and as C.
#if defined(FLAKE_SHARED) && defined(REVERSED)
#define FLAKE_IMPLEMENTATION
#endif
#if defined(REVERSED)
#include "flake.h"
#include "sno.h"
#else
#include "sno.h"
#include "flake.h"
#endif
#include "two_units.h"

const unit other_unit = {flake_next,        sno_next,        sno_generate, flake_uuid7_bytes,
                         sizeof(flake_gen), sizeof(sno_gen), OBJECTS};
