#include "flake.h"
int f7(char *t);
int f7(char *t) { return flake_uuid7(t); }
