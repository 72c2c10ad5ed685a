# SPDX-License-Identifier: MIT
#
# Shared libraries, the single file, and installation.

.PHONY: lib single install install-headers uninstall

# Shared libraries for other languages; they export the public names only. Before 1.0 a minor version may change calls
# and sizes, so the libraries' names contain it. For Apple's linker set SONAME=.
SO      = .so.$(shell sed -n 's/^\#define FLAKE_VERSION_STRING "\([0-9]*\.[0-9]*\).*/\1/p' flake.h)
SONAME ?= -Wl,-soname,$(@F:.so=$(SO))
lib: $(TOOLS:%=$(BUILD)/lib%.so) ## shared libraries, for languages that call C

$(TOOLS:%=$(BUILD)/lib%.so): $(BUILD)/lib%.so: $(HEADERS) $(BUILD)/flags
	echo '#include "$*.h"' | $(CC) $(FLAGS) -I. -x c -shared -fPIC -fvisibility=hidden -fno-semantic-interposition \
	  -DFLAKE_SHARED -DFLAKE_IMPLEMENTATION -D'FLAKE_API=__attribute__((visibility("default")))' $(SONAME) - -o $(@:.so=$(SO)) $(LDLIBS)
	ln -sf $(@F:.so=$(SO)) $@

single: $(BUILD)/single/sno.h ## sno.h with flake.h in it: one file to copy
$(BUILD)/single/sno.h: $(HEADERS)
	@mkdir -p $(@D)
	awk '$$0 == "#include \"flake.h\"" { while ((getline line < "flake.h") > 0) print line; next } 1' sno.h > $@

PREFIX  ?= /usr/local
DESTDIR ?=
LIBDIR  ?= $(PREFIX)/lib
INSTALL  = BUILD="$(BUILD)" PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" LIBDIR="$(LIBDIR)" extras/packaging/install.sh

install: lib $(TOOLS:%=$(BUILD)/%) $(MAN_PAGES) ## headers, tools, libraries, man pages (PREFIX=/usr/local DESTDIR= LIBDIR=)
	$(INSTALL) headers all

install-headers: ## headers, pkg-config files, CMake packages; needs no compiler
	$(INSTALL) headers

uninstall: ## removes what install has installed
	$(INSTALL) uninstall
