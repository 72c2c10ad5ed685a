#include "flake.h"
int f2(char *t);
int f2(char *t) { return flake_uuid7(t); }
