// weft.h is what a switch's firmware in C includes, once: the interface of docs/reference/wasm.md,
// version 1, and the arithmetic of fat trees. Compile it with
//
//     clang --target=wasm32 -O2 -nostdlib -Wl,--no-entry -o fw.wasm fw.c
//
// A firmware defines weft_init and weft_route. It decides by weft_request and the two imports alone;
// what it keeps in variables is lost or seen by other switches, so it keeps registers instead.
#ifndef WEFT_H
#define WEFT_H

#include <stdbool.h>
#include <stdint.h>

#define WEFT_EXPORT(name) __attribute__((export_name(#name)))
#define WEFT_IMPORT(name) __attribute__((import_module("weft"), import_name(#name)))

typedef struct {
	const char *at;
	uint32_t length;
} weft_text;

#define WEFT_TEXT(s) {(s), sizeof(s) - 1}
#define WEFT_COUNT(list) (sizeof(list) / sizeof((list)[0]))

// What a port leads to.
enum { WEFT_NONE, WEFT_UP, WEFT_DOWN, WEFT_NIC, WEFT_PEER };

enum { WEFT_NO_PORT = 0xFFFF };

// A place in a tree, as weft.Tree of Go. The lists may be 0, as there.
typedef struct {
	uint32_t k, n, tier, down, ups, above, below, prefix;
	const uint32_t *w, *radix, *ports;
	const int32_t *numbers;
	const uint32_t *position;
	uint32_t positions;
} weft_tree;

typedef struct {
	uint32_t size, at, stride, wrap;
} weft_dim;

// A place in a mesh or torus, as weft.Grid of Go.
typedef struct {
	uint32_t nics, dims;
	weft_dim dim[];
} weft_grid;

typedef struct {
	uint32_t kind, index; // 1 a switch, 2 a NIC
} weft_node;

// Where a switch stands. Its address is the same in each call of an instance.
typedef struct {
	uint32_t number, ports;
	const uint8_t *roles;        // per port
	const weft_node *neighbours; // per port
	weft_text name;
	const weft_tree *tree; // or 0
	const weft_grid *grid; // or 0
} weft_place;

// The routing fields of a header.
typedef struct {
	int16_t port_field; // -1 none, -2 down, else a down port
	uint16_t path, layers;
	uint64_t misroute, route[2], sub[4];
} weft_fields;

// How a packet may leave. In VC WEFT_SAME_VC it stays in that which it came in; no port: it cannot.
typedef struct {
	uint16_t port, vc;
} weft_hop;

enum { WEFT_SAME_VC = 0xFF };

typedef struct {
	uint32_t count;
	const weft_hop *hops;
} weft_ways;

// The forwarding table of a switch, see weft_ways_to.
typedef struct {
	uint32_t vcs, per_layer, paths, nics, entries;
	const uint16_t *row; // of address path of a NIC: [(layer * nics + nic) * paths + path]; 0xFFFF: none
	const struct {
		uint32_t count; // 1, or one for each way to arrive
		const weft_ways *ways;
	} *rows;
} weft_table;

// What is asked. Parts that weft_firmware.reads does not name are zero.
typedef struct {
	const weft_place *place;
	uint32_t dst;
	uint16_t port; // that the packet came by
	uint8_t vc, from, vcs;
	weft_fields fields;
	uint32_t src, size;
	uint64_t seq;
	int64_t injected;
	uint16_t generation, hops, reroutes;
	uint8_t traced;
	uint64_t draw;
	int64_t now;
	const uint16_t *room, *occupancy, *credits; // of port p and VC v: [p * vcs + v]
	const weft_table *table;                    // with an engine
} weft_request;

// A way that the packet may take.
typedef struct {
	uint16_t port;
	uint8_t vc, class, need, zero;
	uint16_t fields; // 0: the packet keeps its own; n: weft_answer.fields[n - 1]
} weft_candidate;

enum { WEFT_STRAIGHT, WEFT_REROUTE, WEFT_UTURN };

#ifndef WEFT_CANDIDATES
#define WEFT_CANDIDATES 256 // that an answer has room for
#endif
#ifndef WEFT_FIELDS
#define WEFT_FIELDS 1
#endif

// What is answered; zero before each call up to the candidates. None: the packet is discarded.
typedef struct {
	uint16_t count, rule;
	uint8_t turn, notify, write;
	uint32_t reg;
	uint64_t value;
	weft_candidate candidates[WEFT_CANDIDATES];
	weft_fields fields[WEFT_FIELDS];
} weft_answer;

typedef struct {
	weft_text name, values, about;
} weft_option;

enum { WEFT_ANYTHING, WEFT_TREES, WEFT_GRIDS };
enum { WEFT_LINKS = 1, WEFT_SWITCHES = 2, WEFT_ONE_FAULT = 4 };
enum { WEFT_DESTINATION_BASED = 1, WEFT_SYMMETRIC = 2, WEFT_NOTIFIES = 4, WEFT_REQUEUES = 8 };
enum {
	WEFT_READS_FIELDS = 1,
	WEFT_READS_HEADER = 2,
	WEFT_READS_ROOM = 4,
	WEFT_READS_OCCUPANCY = 8,
	WEFT_READS_CREDITS = 16,
	WEFT_READS_DRAW = 32,
	WEFT_READS_NOW = 64,
};

// What weft_init returns the address of.
typedef struct {
	weft_request *request;
	weft_answer *answer;
	uint32_t candidates, fields;
	weft_text name, about, error;
	uint32_t on, vcs, tolerates, flags, reads, most_hops, least_room, work;
	const weft_text *rules;
	uint32_t rule_count;
	const weft_option *options;
	uint32_t option_count;
	weft_text engine; // that computes forwarding tables, as updn; none: it has no tables
} weft_firmware;

typedef struct {
	weft_text name;
	uint32_t width;
	int64_t expire; // in picoseconds; 0 never
} weft_register;

#define WEFT_MILLISECOND 1000000000LL

typedef struct {
	const weft_register *at;
	uint32_t count;
} weft_registers;

// What a firmware may ask while it decides.
WEFT_IMPORT(port_up) uint32_t weft_port_up(uint32_t p);
WEFT_IMPORT(ports_up) uint64_t weft_ports_up(uint32_t first, uint64_t which); // bit k is port first + k
WEFT_IMPORT(register) uint64_t weft_read_register(uint32_t i);
// And what it may print while weft_init runs.
WEFT_IMPORT(log) void weft_log(const char *at, uint32_t length);

static weft_request weft_ask;
static weft_answer weft_say;

// The first lines of what weft_init returns.
#define WEFT_HERE .request = &weft_ask, .answer = &weft_say, .candidates = WEFT_CANDIDATES, .fields = WEFT_FIELDS
#define WEFT_RULES(list) .rules = (list), .rule_count = WEFT_COUNT(list)
#define WEFT_OPTIONS(list) .options = (list), .option_count = WEFT_COUNT(list)

WEFT_EXPORT(weft_abi) uint32_t weft_abi(void) { return 1; }

// Memory that the host asks for and never gives back; 0 when there is none left.
WEFT_EXPORT(weft_alloc) uint32_t weft_alloc(uint32_t n) {
	extern char __heap_base;
	static uint32_t next;
	uint32_t at = next ? next : ((uint32_t)&__heap_base + 7) & ~7u;
	uint64_t end = (uint64_t)at + ((n + 7) & ~7u), size = (uint64_t)__builtin_wasm_memory_size(0) << 16;
	if (end > size && __builtin_wasm_memory_grow(0, (end - size + 0xFFFF) >> 16) == (unsigned long)-1)
		return 0;
	next = (uint32_t)end;
	return at;
}

WEFT_EXPORT(weft_init) weft_firmware *weft_init(const char *options, uint32_t length);
WEFT_EXPORT(weft_route) void weft_route(void);

// weft_option_of is the value of an option, of the texts "key=value,key=value"; none: at is 0.
static inline weft_text weft_option_of(const char *options, uint32_t length, const char *key) {
	for (uint32_t i = 0, j; i < length; i++) {
		for (j = 0; key[j] && i + j < length && options[i + j] == key[j]; j++)
			;
		if ((i == 0 || options[i - 1] == ',') && !key[j] && i + j < length && options[i + j] == '=') {
			weft_text value = {options + i + j + 1, 0};
			while (i + j + 1 + value.length < length && value.at[value.length] != ',')
				value.length++;
			return value;
		}
	}
	return (weft_text){0, 0};
}

// Answers: discard, one candidate, one more.
static inline void weft_discard(uint32_t rule) { weft_say.rule = rule; }

static inline void weft_offer(uint32_t p, uint32_t vc) {
	weft_say.candidates[weft_say.count++] = (weft_candidate){.port = p, .vc = vc};
}

static inline void weft_to(uint32_t p, uint32_t vc, uint32_t rule, uint32_t turn) {
	weft_offer(p, vc);
	weft_say.rule = rule;
	weft_say.turn = turn;
}

// The ways of the table for a packet to an address of a NIC that came by a port in a VC; in tables per
// layer WEFT_NO_PORT is the port of one that enters the layer here.
static inline weft_ways weft_ways_to(const weft_table *t, uint32_t dst, uint32_t path, uint32_t port, uint32_t vc) {
	uint32_t e = (t->per_layer ? vc * t->nics + dst : dst) * t->paths + path, way;
	if (dst >= t->nics || path >= t->paths || e >= t->entries || t->row[e] == 0xFFFF)
		return (weft_ways){0, 0};
	uint32_t row = t->row[e], count = t->rows[row].count;
	if (count == 1)
		way = 0;
	else if (t->per_layer)
		way = port == WEFT_NO_PORT ? count - 1 : port;
	else
		way = port * t->vcs + vc;
	return way < count ? t->rows[row].ways[way] : (weft_ways){0, 0};
}

// Trees: these are the methods of weft.Tree of Go.
static inline uint32_t weft_number(const weft_tree *t, uint32_t d) {
	if (!t->position)
		return d;
	return d < t->positions ? t->position[d] : UINT32_MAX;
}

static inline uint32_t weft_port(const weft_tree *t, uint32_t j) {
	if (!t->ports)
		return j & 0xFFFF;
	return j < t->down + t->ups ? t->ports[j] : WEFT_NO_PORT;
}

static inline int32_t weft_index(const weft_tree *t, const weft_place *place, uint32_t p) {
	if (!t->numbers)
		return (int32_t)p;
	return p < place->ports ? t->numbers[p] : -1;
}

static inline bool weft_has_down(const weft_tree *t, uint32_t d) {
	return (uint64_t)weft_number(t, d) - (uint64_t)t->prefix * t->above < t->above;
}

static inline uint32_t weft_down_port(const weft_tree *t, uint32_t d) {
	return weft_port(t, weft_number(t, d) % t->above / t->below);
}

static inline uint32_t weft_up(const weft_tree *t, uint32_t j) { return weft_port(t, t->down + j); }

// The live ones of the first 64 up ports but for those in skip, as bits. Where up ports have successive
// numbers it asks once.
static inline uint64_t weft_live_ups(const weft_tree *t, uint64_t skip) {
	uint64_t which = ~skip & (t->ups < 64 ? (1ull << t->ups) - 1 : UINT64_MAX), up = 0;
	if (!t->ports)
		return weft_ports_up(weft_up(t, 0), which);
	for (uint32_t j = 0; j < 64 && which >> j; j++)
		up |= (uint64_t)(which >> j & 1 && weft_port_up(weft_up(t, j))) << j;
	return up;
}

static inline uint32_t weft_default_up(const weft_tree *t, uint32_t d) {
	return weft_up(t, weft_number(t, d) / t->below % (t->ups ? t->ups : 1));
}

static inline int32_t weft_up_index(const weft_tree *t, const weft_place *place, uint32_t p) {
	int32_t j = weft_index(t, place, p) - (int32_t)t->down;
	return j < 0 || j >= (int32_t)t->ups ? -1 : j;
}

static inline int32_t weft_down_index(const weft_tree *t, const weft_place *place, uint32_t p) {
	int32_t j = weft_index(t, place, p);
	return j < (int32_t)t->down ? j : -1;
}

static inline bool weft_leaf(const weft_tree *t) { return t->tier + 1 == t->n; }

// The first live up port from index j on, but for one; WEFT_NO_PORT if there is none.
static inline uint32_t weft_live_up(const weft_tree *t, uint32_t j, uint32_t skip) {
	for (; j < t->ups; j++) {
		uint32_t p = weft_up(t, j);
		if (p != skip && weft_port_up(p))
			return p;
	}
	return WEFT_NO_PORT;
}

// The first live down port after p in cyclic order, but for p; WEFT_NO_PORT if there is none.
static inline uint32_t weft_other_down(const weft_tree *t, const weft_place *place, uint32_t p) {
	for (uint32_t i = 1; i <= t->down; i++) {
		uint32_t q = weft_port(t, (weft_down_index(t, place, p) + i) % t->down);
		if (q != p && weft_port_up(q))
			return q;
	}
	return WEFT_NO_PORT;
}

#endif
