# SPDX-License-Identifier: MIT
#
# The command-line tools and the man pages.

.PHONY: tools
tools: $(TOOLS:%=$(BUILD)/%)
$(TOOLS:%=$(BUILD)/%): $(BUILD)/%: tools/%.c tools/tool.h $(HEADERS) $(BUILD)/flags
	$(CC) $(FLAGS) -I. $< -o $@ $(LDLIBS)

# Man pages are made from the output of `flake help` and from the headers.
VERSION   = sed -n 's/^\#define [A-Z]*_VERSION_STRING "\(.*\)"/\1/p'
MAN       = awk -f tools/man.awk -v version="$$($(VERSION) $*.h)"
MAN_PAGES = $(TOOLS:%=$(BUILD)/%.1) $(TOOLS:%=$(BUILD)/%.h.3) $(BUILD)/flake_etcd.h.3

$(BUILD)/%.1: $(BUILD)/% tools/man.awk
	$(RUN_ENV) $< help | $(MAN) -v name=$* -v section=1 > $@

$(BUILD)/%.h.3: %.h tools/man.awk $(BUILD)/flags
	$(MAN) -v name=$*.h -v section=3 $< > $@

$(BUILD)/flake_etcd.h.3: extras/etcd/flake_etcd.h tools/man.awk $(BUILD)/flags
	awk -f tools/man.awk -v version="$$($(VERSION) flake.h)" -v name=flake_etcd.h -v section=3 $< > $@
