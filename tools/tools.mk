# SPDX-License-Identifier: MIT
#
# The command-line tools and the man pages.

.PHONY: tools
tools: $(TOOLS:%=$(BUILD)/%)
$(TOOLS:%=$(BUILD)/%): $(BUILD)/%: tools/%.c tools/tool.h $(HEADERS) $(BUILD)/flags
	$(CC) $(FLAGS) -I. $< -o $@ $(LDLIBS)

# Man pages are made from the output of `flake help` and from the headers.
VERSION   = sed -n 's/^\#define [A-Z]*_VERSION_STRING "\(.*\)"/\1/p'
MAN       = awk -f tools/roff.awk -f tools/man.awk -v version="$$($(VERSION) $*.h)"
MAN_PAGES = $(TOOLS:%=$(BUILD)/%.1) $(TOOLS:%=$(BUILD)/%.h.3) $(BUILD)/flake_etcd.h.3 $(BUILD)/man3/flake_next.3

$(BUILD)/%.1: $(BUILD)/% tools/roff.awk tools/man.awk
	$(RUN_ENV) $< help | $(MAN) -v name=$* -v section=1 > $@

$(BUILD)/%.h.3: %.h tools/roff.awk tools/man.awk $(BUILD)/flags
	$(MAN) -v name=$*.h -v section=3 $< > $@

$(BUILD)/flake_etcd.h.3: extras/etcd/flake_etcd.h tools/roff.awk tools/man.awk $(BUILD)/flags
	awk -f tools/roff.awk -f tools/man.awk -v version="$$($(VERSION) flake.h)" -v name=flake_etcd.h -v section=3 $< > $@

# A page of each group of calls, and the reference of all of them.
CALLS     = $(HEADERS) extras/etcd/flake_etcd.h
$(BUILD)/man3/flake_next.3: $(CALLS) tools/roff.awk tools/calls.awk $(wildcard examples/*.c) $(BUILD)/flags
	@mkdir -p $(@D)
	awk -f tools/roff.awk -f tools/calls.awk -v form=man -v dir=$(@D) -v version="$$($(VERSION) flake.h)" $(CALLS) \
	  examples/numbers.c $(wildcard examples/*.c) tools/flake.c tools/sno.c examples/ids.py

docs/api.md: $(CALLS) tools/roff.awk tools/calls.awk
	awk -f tools/roff.awk -f tools/calls.awk -v form=page $(CALLS) > $@
