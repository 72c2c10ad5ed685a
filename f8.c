#include "flake.h"
int f8(char *t);
int f8(char *t) { return flake_uuid7(t); }
