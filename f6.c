#include "flake.h"
int f6(char *t);
int f6(char *t) { return flake_uuid7(t); }
