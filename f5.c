#include "flake.h"
int f5(char *t);
int f5(char *t) { return flake_uuid7(t); }
