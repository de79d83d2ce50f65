// A firmware for rings that fails, in the way that its option says, where the link on is dead and a
// packet has been there before.
#include "weft.h"

static const weft_text rules[] = {WEFT_TEXT("on"), WEFT_TEXT("deliver")};
static const weft_option options[] = {{WEFT_TEXT("does"), WEFT_TEXT("trap, loop, grow, write or port"), WEFT_TEXT("what it does")}};
static weft_firmware firmware = {WEFT_HERE, .name = WEFT_TEXT("fails"), .on = WEFT_GRIDS, WEFT_RULES(rules), WEFT_OPTIONS(options)};
static char does;

weft_firmware *weft_init(const char *text, uint32_t length) {
	weft_text value = weft_option_of(text, length, "does");
	does = value.length ? *value.at : 0;
	return &firmware;
}

WEFT_EXPORT(weft_registers) const weft_registers *registers_of(const weft_place *place) {
	static const weft_register seen = {WEFT_TEXT("seen"), 4};
	static const weft_registers all = {&seen, 1};
	return &all;
}

void weft_route(void) {
	static volatile uint32_t passes;
	weft_say.write = weft_say.value = 1;
	if (weft_ask.dst == weft_ask.place->number)
		return weft_to(2, 0, 1, WEFT_STRAIGHT);
	if (weft_port_up(1) || weft_read_register(0) != 1)
		return weft_to(1, 0, 0, WEFT_STRAIGHT);
	if (does == 't')
		__builtin_trap();
	while (does == 'l' || (does == 'g' && __builtin_wasm_memory_grow(0, 1)))
		passes++;
	if (does == 'w')
		*(volatile uint32_t *)0xFFFFFFF0 = 1;
	weft_to(9, 0, 0, WEFT_STRAIGHT);
}
