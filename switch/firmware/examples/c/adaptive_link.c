// R^link_adaptive of Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault Tolerance in Fat Trees, as
// switch/firmware/adaptive_link.go has it: a test compares the two.
#include "weft.h"

enum rule { UP, NO_UP, DOWN, NODE_DEAD, BACK, OTHER_DOWN, BACK_DIED, NO_OTHER_DOWN, TURN, TRIED };

static const weft_text rules[] = {
	[UP] = WEFT_TEXT("1: any live up port"),
	[NO_UP] = WEFT_TEXT("1: no live up port"),
	[DOWN] = WEFT_TEXT("2: down"),
	[NODE_DEAD] = WEFT_TEXT("deliver: the link to the NIC is dead"),
	[BACK] = WEFT_TEXT("2b: back to the same lower switch"),
	[OTHER_DOWN] = WEFT_TEXT("2a: another down port"),
	[BACK_DIED] = WEFT_TEXT("2b: another down port, the arrival port has just died"),
	[NO_OTHER_DOWN] = WEFT_TEXT("2: no other live down port"),
	[TURN] = WEFT_TEXT("4: U-turn, an up port not in the re-route vector"),
	[TRIED] = WEFT_TEXT("5: every up port is dead or in the re-route vector"),
};

static const weft_option options[] = {
	{WEFT_TEXT("expire"), WEFT_TEXT("milliseconds from 1 to 60000"), WEFT_TEXT("when the re-route vector is zeroed after the last U-turn")},
};

static weft_firmware firmware = {
	WEFT_HERE,
	.name = WEFT_TEXT("adaptive-link-c"),
	.about = WEFT_TEXT("fat trees: adaptive-link, in C"),
	.on = WEFT_TREES,
	.tolerates = WEFT_LINKS,
	.flags = WEFT_DESTINATION_BASED | WEFT_SYMMETRIC | WEFT_NOTIFIES | WEFT_REQUEUES,
	WEFT_RULES(rules),
	WEFT_OPTIONS(options),
};

// One re-route vector in each switch: a bit per up port by which packets have come back.
static weft_register vector = {WEFT_TEXT("reroute-vector"), .expire = 500 * WEFT_MILLISECOND};

weft_firmware *weft_init(const char *text, uint32_t length) {
	weft_text value = weft_option_of(text, length, "expire");
	if (!value.at)
		return &firmware;
	int64_t ms = 0;
	for (uint32_t i = 0; i < value.length && ms <= 60000; i++)
		ms = value.at[i] >= '0' && value.at[i] <= '9' ? 10 * ms + value.at[i] - '0' : 60001;
	if (ms < 1 || ms > 60000)
		firmware.error = (weft_text)WEFT_TEXT("expire: expected milliseconds from 1 to 60000");
	vector.expire = ms * WEFT_MILLISECOND;
	return &firmware;
}

WEFT_EXPORT(weft_registers) const weft_registers *weft_registers_at(const weft_place *place) {
	static const weft_registers all = {&vector, 1};
	vector.width = place->tree->k ? place->tree->k : 1;
	return &all;
}

WEFT_EXPORT(weft_check) const weft_text *weft_check(const weft_place *place, uint32_t vcs) {
	static const weft_text odd = WEFT_TEXT("routes trees whose switches have as many up ports at each tier: take updown");
	static const weft_text wide = WEFT_TEXT("keeps one bit per up port in 64: there are too many up ports");
	return place->tree->k == 0 ? &odd : place->tree->k > 64 ? &wide : 0;
}

// The decision for all that was offered, or the discard by a rule when that is nothing.
static void any(enum rule rule, uint32_t turn, enum rule none) {
	weft_say.rule = weft_say.count ? rule : none;
	weft_say.turn = weft_say.count ? turn : WEFT_STRAIGHT;
}

static void ups(const weft_tree *t, uint64_t tried) {
	for (uint64_t up = weft_live_ups(t, tried); up; up &= up - 1)
		weft_offer(weft_up(t, __builtin_ctzll(up)), weft_ask.vc);
}

static void down(const weft_tree *t, bool above) {
	uint32_t p = weft_down_port(t, weft_ask.dst), vc = weft_ask.vc;
	if (weft_port_up(p))
		return weft_to(p, vc, DOWN, WEFT_STRAIGHT);
	if (weft_leaf(t))
		return weft_discard(NODE_DEAD);
	if (!above && weft_port_up(weft_ask.port))
		return weft_to(weft_ask.port, vc, BACK, WEFT_REROUTE);
	for (uint32_t i = 0; i < t->down; i++)
		if (weft_port(t, i) != p && weft_port_up(weft_port(t, i)))
			weft_offer(weft_port(t, i), vc);
	any(above ? OTHER_DOWN : BACK_DIED, WEFT_REROUTE, NO_OTHER_DOWN);
}

void weft_route(void) {
	const weft_tree *t = weft_ask.place->tree;
	bool above = weft_ask.from == WEFT_UP;
	if (weft_has_down(t, weft_ask.dst))
		return down(t, above);
	if (!above) {
		ups(t, 0);
		return any(UP, WEFT_STRAIGHT, NO_UP);
	}
	uint64_t tried = 1ull << weft_up_index(t, weft_ask.place, weft_ask.port) | weft_read_register(0);
	ups(t, tried);
	any(TURN, WEFT_UTURN, TRIED);
	weft_say.notify = weft_say.count == 0;
	weft_say.write = 1;
	weft_say.reg = 0;
	weft_say.value = tried;
}
