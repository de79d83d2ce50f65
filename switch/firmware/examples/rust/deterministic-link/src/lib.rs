//! R^link_deterministic of Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault Tolerance in Fat Trees,
//! as switch/firmware/deterministic_link.go has it: a test compares the two.
#![no_std]

use weft::{text, Answer, Firmware, Place, Request, Text, Tree, NO_PORT, REROUTE, STRAIGHT, UTURN};

// The virtual layers.
const NORMAL: u8 = 0;
const REROUTED: u8 = 1;

static RULES: [Text; 15] = [
    text("1: up"),
    text("1: up, the default port is dead"),
    text("1: no live up port"),
    text("2: down"),
    text("2: down, re-routing finished"),
    text("2a: another down port"),
    text("2: first bounce, back to the same lower switch"),
    text("2: first bounce, another down port"),
    text("2b: back to the same lower switch"),
    text("2b: another down port, the arrival port has just died"),
    text("3a: U-turn, first up port of D"),
    text("3b: U-turn, next up port of D"),
    text("4: every up port of D has been tried"),
    text("2: no other live down port"),
    text("deliver: the link to the NIC is dead"),
];

enum Rule {
    Up,
    UpOther,
    NoUp,
    Down,
    Finished,
    OtherDown,
    First,
    FirstOther,
    Back,
    BackDied,
    Turn,
    TurnNext,
    Tried,
    NoOtherDown,
    NodeDead,
}

fn start(_options: &str) -> Firmware {
    let mut f = Firmware::new("deterministic-link-rust", "fat trees: deterministic-link, in Rust", &RULES);
    f.vcs = 2;
    f.on = weft::TREES;
    f.tolerates = weft::LINKS;
    f.flags = weft::DESTINATION_BASED | weft::NOTIFIES | weft::REQUEUES;
    f
}

/// The decision for one port, or the discard by a rule when there is none.
fn one(a: &mut Answer, p: Option<u16>, vc: u8, rule: Rule, turn: u8, none: Rule) {
    match p {
        Some(p) => a.to(p, vc, rule as u16, turn),
        None => a.rule = none as u16,
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
    match (above, q.vc) {
        (false, _) => return up(t, q, a),
        (true, NORMAL) => one(a, t.live_up(0, q.port), REROUTED, Rule::Turn, UTURN, Rule::Tried),
        _ => {
            let next = t.up_index(q.port).map_or(0, |j| j + 1);
            one(a, t.live_up(next, NO_PORT), REROUTED, Rule::TurnNext, UTURN, Rule::Tried)
        }
    }
    a.notify = a.is_empty();
}

fn up(t: &Tree, q: &Request, a: &mut Answer) {
    let p = t.default_up(q.dst);
    if weft::port_up(p) {
        return a.to(p, NORMAL, Rule::Up as u16, STRAIGHT);
    }
    let next = t.up_index(p).map_or(0, |j| j + 1);
    let other = t.live_up(next, p).or_else(|| t.live_up(0, p));
    one(a, other, NORMAL, Rule::UpOther, REROUTE, Rule::NoUp)
}

fn down(t: &Tree, q: &Request, a: &mut Answer, above: bool) {
    let p = t.down_port(q.dst);
    if weft::port_up(p) {
        return match (q.vc, above) {
            (NORMAL, _) => a.to(p, NORMAL, Rule::Down as u16, STRAIGHT),
            (_, true) => a.to(p, NORMAL, Rule::Finished as u16, STRAIGHT),
            _ => a.to(p, REROUTED, Rule::Down as u16, STRAIGHT),
        };
    }
    if t.leaf() {
        a.rule = Rule::NodeDead as u16;
        return;
    }
    let (back, died) = if q.vc == NORMAL { (Rule::First, Rule::FirstOther) } else { (Rule::Back, Rule::BackDied) };
    if above {
        one(a, t.other_down(p), NORMAL, Rule::OtherDown, REROUTE, Rule::NoOtherDown)
    } else if weft::port_up(q.port) {
        a.to(q.port, q.vc, back as u16, REROUTE)
    } else {
        one(a, t.other_down(p), q.vc, died, REROUTE, Rule::NoOtherDown)
    }
}

/// Each hop is in a channel of a higher number: section VI.C of the paper.
fn channel_number(place: &Place, p: u16, vc: u8) -> i32 {
    let t = match place.tree() {
        Some(t) => t,
        None => return 0,
    };
    let (tier, digit, up) = match t.up_index(p) {
        Some(j) => (t.tier as i32 - 1, j, 1),
        None => (t.tier as i32, t.w(t.tier), 2),
    };
    let base = t.n as i32 - 1 + tier * (2 * t.k as i32 + 1);
    match (vc, up) {
        (NORMAL, 1) => t.n as i32 - 2 - tier,
        (NORMAL, _) => base,
        _ => base + 2 * digit as i32 + up,
    }
}

fn check(place: &Place, _vcs: u32) -> Option<&'static str> {
    let odd = place.tree().map_or(true, |t| t.k == 0);
    odd.then(|| "routes trees whose switches have as many up ports at each tier: take updown")
}

weft::firmware!(start, route, check = check, channel_number = channel_number);
