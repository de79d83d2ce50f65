// Forwarding by the tables of an engine, which the option engine names: what the built-in firmware of
// deterministic engines does. A test compares the two.
#define WEFT_CANDIDATES 1
#include "weft.h"

enum { TABLE, NO_ENTRY, DEAD };

static const weft_text rules[] = {
	[TABLE] = WEFT_TEXT("table"),
	[NO_ENTRY] = WEFT_TEXT("table: no entry"),
	[DEAD] = WEFT_TEXT("table: the link is dead"),
};

static const weft_option options[] = {
	{WEFT_TEXT("engine"), WEFT_TEXT("the name of an engine, as updn"), WEFT_TEXT("which computes the tables")},
};

static weft_firmware firmware = {
	WEFT_HERE,
	.name = WEFT_TEXT("table-c"),
	.about = WEFT_TEXT("any topology: by the tables of an engine, in C"),
	.vcs = 1,
	.flags = WEFT_DESTINATION_BASED | WEFT_REQUEUES,
	.reads = WEFT_READS_FIELDS,
	.engine = WEFT_TEXT("updn"),
	WEFT_RULES(rules),
	WEFT_OPTIONS(options),
};

weft_firmware *weft_init(const char *text, uint32_t length) {
	weft_text engine = weft_option_of(text, length, "engine");
	if (engine.at)
		firmware.engine = engine;
	return &firmware;
}

void weft_route(void) {
	weft_ways w = weft_ways_to(weft_ask.table, weft_ask.dst, weft_ask.fields.path, weft_ask.port, weft_ask.vc);
	if (w.count == 0 || w.hops[0].port == WEFT_NO_PORT)
		weft_discard(NO_ENTRY);
	else if (!weft_port_up(w.hops[0].port))
		weft_discard(DEAD);
	else
		weft_to(w.hops[0].port, w.hops[0].vc == WEFT_SAME_VC ? weft_ask.vc : w.hops[0].vc, TABLE, WEFT_STRAIGHT);
}
