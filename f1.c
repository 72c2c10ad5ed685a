#include "flake.h"
int f1(char *t);
int f1(char *t) { return flake_uuid7(t); }
