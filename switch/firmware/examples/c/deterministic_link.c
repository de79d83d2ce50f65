// R^link_deterministic of Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault Tolerance in Fat Trees,
// as switch/firmware/deterministic_link.go has it: a test compares the two.
#include "weft.h"

enum { NORMAL, REROUTE }; // the virtual layers

enum rule {
	UP, UP_OTHER, NO_UP, DOWN, REROUTED, OTHER_DOWN, FIRST, FIRST_OTHER, BACK, BACK_DIED, TURN, TURN_NEXT, TRIED,
	NO_OTHER_DOWN, NODE_DEAD,
};

static const weft_text rules[] = {
	[UP] = WEFT_TEXT("1: up"),
	[UP_OTHER] = WEFT_TEXT("1: up, the default port is dead"),
	[NO_UP] = WEFT_TEXT("1: no live up port"),
	[DOWN] = WEFT_TEXT("2: down"),
	[REROUTED] = WEFT_TEXT("2: down, re-routing finished"),
	[OTHER_DOWN] = WEFT_TEXT("2a: another down port"),
	[FIRST] = WEFT_TEXT("2: first bounce, back to the same lower switch"),
	[FIRST_OTHER] = WEFT_TEXT("2: first bounce, another down port"),
	[BACK] = WEFT_TEXT("2b: back to the same lower switch"),
	[BACK_DIED] = WEFT_TEXT("2b: another down port, the arrival port has just died"),
	[TURN] = WEFT_TEXT("3a: U-turn, first up port of D"),
	[TURN_NEXT] = WEFT_TEXT("3b: U-turn, next up port of D"),
	[TRIED] = WEFT_TEXT("4: every up port of D has been tried"),
	[NO_OTHER_DOWN] = WEFT_TEXT("2: no other live down port"),
	[NODE_DEAD] = WEFT_TEXT("deliver: the link to the NIC is dead"),
};

static weft_firmware firmware = {
	WEFT_HERE,
	.name = WEFT_TEXT("deterministic-link-c"),
	.about = WEFT_TEXT("fat trees: deterministic-link, in C"),
	.on = WEFT_TREES,
	.vcs = 2,
	.tolerates = WEFT_LINKS,
	.flags = WEFT_DESTINATION_BASED | WEFT_NOTIFIES | WEFT_REQUEUES,
	WEFT_RULES(rules),
};

weft_firmware *weft_init(const char *options, uint32_t length) { return &firmware; }

// The decision for one port, or the discard by a rule when there is none.
static void one(uint32_t p, uint32_t vc, enum rule rule, uint32_t turn, enum rule none) {
	if (p == WEFT_NO_PORT)
		weft_discard(none);
	else
		weft_to(p, vc, rule, turn);
}

static void up(const weft_tree *t, uint32_t dst) {
	uint32_t p = weft_default_up(t, dst), q;
	if (weft_port_up(p)) {
		weft_to(p, NORMAL, UP, WEFT_STRAIGHT);
		return;
	}
	q = weft_live_up(t, weft_index(t, weft_ask.place, p) - t->down + 1, p);
	if (q == WEFT_NO_PORT)
		q = weft_live_up(t, 0, p);
	one(q, NORMAL, UP_OTHER, WEFT_REROUTE, NO_UP);
}

static void around(const weft_tree *t, uint32_t dead, bool above) {
	uint32_t in = weft_ask.port, vc = weft_ask.vc;
	if (weft_leaf(t))
		return weft_discard(NODE_DEAD);
	if (above)
		one(weft_other_down(t, weft_ask.place, dead), NORMAL, OTHER_DOWN, WEFT_REROUTE, NO_OTHER_DOWN);
	else if (weft_port_up(in))
		weft_to(in, vc, vc == NORMAL ? FIRST : BACK, WEFT_REROUTE);
	else
		one(weft_other_down(t, weft_ask.place, dead), vc, vc == NORMAL ? FIRST_OTHER : BACK_DIED, WEFT_REROUTE, NO_OTHER_DOWN);
}

void weft_route(void) {
	const weft_tree *t = weft_ask.place->tree;
	uint32_t dst = weft_ask.dst, vc = weft_ask.vc, in = weft_ask.port;
	bool above = weft_ask.from == WEFT_UP;
	if (weft_has_down(t, dst)) {
		uint32_t p = weft_down_port(t, dst);
		if (!weft_port_up(p))
			around(t, p, above);
		else if (vc == NORMAL || !above)
			weft_to(p, vc == NORMAL ? NORMAL : REROUTE, DOWN, WEFT_STRAIGHT);
		else
			weft_to(p, NORMAL, REROUTED, WEFT_STRAIGHT);
		return;
	}
	if (!above)
		return up(t, dst);
	if (vc == NORMAL)
		one(weft_live_up(t, 0, in), REROUTE, TURN, WEFT_UTURN, TRIED);
	else
		one(weft_live_up(t, weft_up_index(t, weft_ask.place, in) + 1, WEFT_NO_PORT), REROUTE, TURN_NEXT, WEFT_UTURN, TRIED);
	weft_say.notify = weft_say.count == 0;
}

// Each hop is in a channel of a higher number: section VI.C of the paper.
WEFT_EXPORT(weft_channel_number) int32_t weft_channel_number(const weft_place *place, uint32_t p, uint32_t vc) {
	const weft_tree *t = place->tree;
	int32_t j = weft_up_index(t, place, p), n = t->n;
	bool up = j >= 0;
	int32_t tier = (int32_t)t->tier - up, digit = up ? j : (int32_t)t->w[t->tier];
	if (vc == NORMAL && up)
		return n - 2 - tier;
	int32_t base = n - 1 + tier * (2 * (int32_t)t->k + 1);
	return vc == NORMAL ? base : base + 2 * digit + (up ? 1 : 2);
}

// The numbering and D need as many up ports at each tier.
WEFT_EXPORT(weft_check) const weft_text *weft_check(const weft_place *place, uint32_t vcs) {
	static const weft_text why = WEFT_TEXT("routes trees whose switches have as many up ports at each tier: take updown");
	return place->tree->k == 0 ? &why : 0;
}
