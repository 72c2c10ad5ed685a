#include "flake.h"
int f4(char *t);
int f4(char *t) { return flake_uuid7(t); }
