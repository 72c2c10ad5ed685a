// SPDX-License-Identifier: MIT
//
// The other unit of early.c: in C++20 an atomic has a constructor, which must not run in what units share.
#include "flake.h"
#include "sno.h"
