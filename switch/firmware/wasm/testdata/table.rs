//! The guest examples/c/table.c in Rust: a test has it forward by the tables of engines.
#![no_std]

use weft::{text, Answer, Firmware, Request, Text, NO_PORT, SAME_VC, STRAIGHT};

static RULES: [Text; 3] = [text("table"), text("table: no entry"), text("table: the link is dead")];

fn start(_options: &str) -> Firmware {
    let mut f = Firmware::new("table-rust", "any topology: by the tables of an engine, in Rust", &RULES);
    f.flags = weft::DESTINATION_BASED | weft::REQUEUES;
    f.reads = weft::READS_FIELDS;
    f.engine = text("lash:layers=3");
    f
}

fn route(q: &Request, a: &mut Answer) {
    let ways = q.table().map_or(&[][..], |t| t.ways(q.dst, q.fields.path, q.port, q.vc));
    match ways.first().filter(|h| h.port != NO_PORT) {
        None => a.rule = 1,
        Some(h) if !weft::port_up(h.port) => a.rule = 2,
        Some(h) => a.to(h.port, if h.vc == SAME_VC { q.vc } else { h.vc as u8 }, 0, STRAIGHT),
    }
}

weft::firmware!(start, route);
