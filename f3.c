#include "flake.h"
int f3(char *t);
int f3(char *t) { return flake_uuid7(t); }
