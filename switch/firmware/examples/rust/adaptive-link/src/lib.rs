//! R^link_adaptive of Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault Tolerance in Fat Trees, as
//! switch/firmware/adaptive_link.go has it: a test compares the two.
#![no_std]

use weft::{list, text, Answer, Firmware, List, Place, Register, Request, Text, Tree, REROUTE, STRAIGHT, UTURN};

static RULES: [Text; 10] = [
    text("1: any live up port"),
    text("1: no live up port"),
    text("2: down"),
    text("deliver: the link to the NIC is dead"),
    text("2b: back to the same lower switch"),
    text("2a: another down port"),
    text("2b: another down port, the arrival port has just died"),
    text("2: no other live down port"),
    text("4: U-turn, an up port not in the re-route vector"),
    text("5: every up port is dead or in the re-route vector"),
];

enum Rule {
    Up,
    NoUp,
    Down,
    NodeDead,
    Back,
    OtherDown,
    BackDied,
    NoOtherDown,
    Turn,
    Tried,
}

fn start(_options: &str) -> Firmware {
    let mut f = Firmware::new("adaptive-link-rust", "fat trees: adaptive-link, in Rust", &RULES);
    f.on = weft::TREES;
    f.tolerates = weft::LINKS;
    f.flags = weft::DESTINATION_BASED | weft::SYMMETRIC | weft::NOTIFIES | weft::REQUEUES;
    f
}

/// One re-route vector in each switch: a bit per up port by which packets have come back.
fn registers(place: &Place) -> List<Register> {
    static mut VECTOR: [Register; 1] = [Register { name: text("reroute-vector"), width: 1, expire: 500_000_000_000 }];
    unsafe {
        VECTOR[0].width = place.tree().map_or(1, |t| t.k.max(1));
        list(&*core::ptr::addr_of!(VECTOR))
    }
}

fn check(place: &Place, _vcs: u32) -> Option<&'static str> {
    match place.tree().map_or(0, |t| t.k) {
        0 => Some("routes trees whose switches have as many up ports at each tier: take updown"),
        1..=64 => None,
        _ => Some("keeps one bit per up port in 64: there are too many up ports"),
    }
}

/// The decision for all that was offered, or the discard by a rule when that is nothing.
fn any(a: &mut Answer, rule: Rule, turn: u8, none: Rule) {
    if a.is_empty() {
        a.rule = none as u16;
    } else {
        (a.rule, a.turn) = (rule as u16, turn);
    }
}

fn ups(t: &Tree, tried: u64, q: &Request, a: &mut Answer) {
    let mut up = t.live_ups(tried);
    while up != 0 {
        a.offer(t.up(up.trailing_zeros()), q.vc);
        up &= up - 1;
    }
}

fn route(q: &Request, a: &mut Answer) {
    let t = match q.place().tree() {
        Some(t) => t,
        None => return,
    };
    let above = q.from == weft::UP;
    if t.has_down(q.dst) {
        return down(t, q, a, above);
    }
    if !above {
        ups(t, 0, q, a);
        return any(a, Rule::Up, STRAIGHT, Rule::NoUp);
    }
    let came = t.up_index(q.port).map_or(0, |j| 1u64.checked_shl(j).unwrap_or(0));
    let tried = came | weft::register(0);
    ups(t, tried, q, a);
    any(a, Rule::Turn, UTURN, Rule::Tried);
    a.notify = a.is_empty();
    a.write(0, tried);
}

fn down(t: &Tree, q: &Request, a: &mut Answer, above: bool) {
    let p = t.down_port(q.dst);
    if weft::port_up(p) {
        return a.to(p, q.vc, Rule::Down as u16, STRAIGHT);
    }
    if t.leaf() {
        a.rule = Rule::NodeDead as u16;
        return;
    }
    if !above && weft::port_up(q.port) {
        return a.to(q.port, q.vc, Rule::Back as u16, REROUTE);
    }
    for i in 0..t.down {
        if t.down_at(i) != p && weft::port_up(t.down_at(i)) {
            a.offer(t.down_at(i), q.vc);
        }
    }
    any(a, if above { Rule::OtherDown } else { Rule::BackDied }, REROUTE, Rule::NoOtherDown)
}

weft::firmware!(start, route, registers = registers, check = check);
