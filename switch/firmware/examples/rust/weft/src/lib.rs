//! Firmware of Weft's switches in Rust: the interface of docs/reference/wasm.md, version 1.
//!
//! A firmware is a crate of type cdylib with a function that starts it, one that decides, and
//! `weft::firmware!(start, route)`. It decides by the [Request] and by [port_up] and [register]
//! alone; what it keeps in statics is lost or seen by other switches.
#![no_std]

/// What a port leads to.
pub const UP: u8 = 1;
pub const DOWN: u8 = 2;
pub const NIC: u8 = 3;
pub const PEER: u8 = 4;

pub const NO_PORT: u16 = 0xFFFF;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text(*const u8, u32);

unsafe impl Sync for Text {} // it is never written to

/// A text that lasts.
pub const fn text(s: &'static str) -> Text {
    Text(s.as_ptr(), s.len() as u32)
}

/// A list that lasts.
#[repr(C)]
pub struct List<T: 'static>(*const T, u32);

pub const fn list<T>(l: &'static [T]) -> List<T> {
    List(l.as_ptr(), l.len() as u32)
}

/// A place in a tree, as weft.Tree of Go. Its functions are those there.
#[repr(C)]
pub struct Tree {
    pub k: u32,
    pub n: u32,
    pub tier: u32,
    pub down: u32,
    pub ups: u32,
    pub above: u32,
    pub below: u32,
    pub prefix: u32,
    w: *const u32,
    radix: *const u32,
    ports: *const u32,
    numbers: *const i32,
    position: *const u32,
    positions: u32,
}

#[repr(C)]
pub struct Dim {
    pub size: u32,
    pub at: u32,
    pub stride: u32,
    pub wrap: u32,
}

/// A place in a mesh or torus, as weft.Grid of Go.
#[repr(C)]
pub struct Grid {
    pub nics: u32,
    dims: u32,
}

#[repr(C)]
pub struct Node {
    /// 1 is a switch, 2 a NIC.
    pub kind: u32,
    pub index: u32,
}

/// Where a switch stands.
#[repr(C)]
pub struct Place {
    pub number: u32,
    pub ports: u32,
    roles: *const u8,
    neighbours: *const Node,
    name: Text,
    tree: *const Tree,
    grid: *const Grid,
}

/// The routing fields of a header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Fields {
    pub port_field: i16,
    pub path: u16,
    pub layers: u16,
    pub misroute: u64,
    pub route: [u64; 2],
    pub sub: [u64; 4],
}

/// How a packet may leave. In VC [SAME_VC] it stays in that which it came in; [NO_PORT]: it cannot.
#[repr(C)]
pub struct Hop {
    pub port: u16,
    pub vc: u16,
}

pub const SAME_VC: u16 = 0xFF;

#[repr(C)]
struct Counted<T>(u32, *const T);

impl<T> Counted<T> {
    fn all(&self) -> &[T] {
        unsafe { core::slice::from_raw_parts(self.1, self.0 as usize) }
    }
}

/// The forwarding table of a switch.
#[repr(C)]
pub struct Table {
    vcs: u32,
    per_layer: u32,
    paths: u32,
    nics: u32,
    entries: u32,
    row: *const u16,
    rows: *const Counted<Counted<Hop>>,
}

impl Table {
    /// The ways for a packet to an address of a NIC that came by a port in a VC; in tables per layer
    /// [NO_PORT] is the port of one that enters the layer here.
    pub fn ways(&self, dst: u32, path: u16, port: u16, vc: u8) -> &[Hop] {
        let (path, port, vc) = (path as u32, port as usize, vc as u32);
        let layer = if self.per_layer != 0 { vc } else { 0 };
        let e = (layer * self.nics + dst) * self.paths + path;
        if dst >= self.nics || path >= self.paths || e >= self.entries {
            return &[];
        }
        let row = unsafe { *self.row.add(e as usize) };
        if row == 0xFFFF {
            return &[];
        }
        let ways = unsafe { (*self.rows.add(row as usize)).all() };
        let way = match (ways.len(), self.per_layer != 0) {
            (1, _) => 0,
            (n, true) => if port == NO_PORT as usize { n - 1 } else { port },
            (_, false) => port * self.vcs as usize + vc as usize,
        };
        ways.get(way).map_or(&[], |w| w.all())
    }
}

/// What is asked. Parts that [Firmware].reads does not name are zero.
#[repr(C)]
pub struct Request {
    place: *const Place,
    pub dst: u32,
    /// By which port the packet came.
    pub port: u16,
    pub vc: u8,
    pub from: u8,
    pub vcs: u8,
    pub fields: Fields,
    pub src: u32,
    pub size: u32,
    pub seq: u64,
    pub injected: i64,
    pub generation: u16,
    pub hops: u16,
    pub reroutes: u16,
    pub traced: u8,
    pub draw: u64,
    pub now: i64,
    room: *const u16,
    occupancy: *const u16,
    credits: *const u16,
    table: *const Table,
}

/// A way that the packet may take.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Candidate {
    pub port: u16,
    pub vc: u8,
    pub class: u8,
    pub need: u8,
    zero: u8,
    /// 0: the packet keeps its own; n: the n-th of [Answer].fields, from 1.
    pub fields: u16,
}

pub const CANDIDATES: usize = 256;
pub const FIELDS: usize = 4;

/// Kinds of step.
pub const STRAIGHT: u8 = 0;
pub const REROUTE: u8 = 1;
pub const UTURN: u8 = 2;

/// What is answered; zero before each call up to the candidates. None: the packet is discarded.
#[repr(C)]
pub struct Answer {
    count: u16,
    pub rule: u16,
    pub turn: u8,
    pub notify: bool,
    write: bool,
    register: u32,
    value: u64,
    candidates: [Candidate; CANDIDATES],
    pub fields: [Fields; FIELDS],
}

/// An option: its name, the values that it takes, what it does.
#[repr(C)]
pub struct Choice(pub Text, pub Text, pub Text);

pub const ANYTHING: u32 = 0;
pub const TREES: u32 = 1;
pub const GRIDS: u32 = 2;
pub const LINKS: u32 = 1;
pub const SWITCHES: u32 = 2;
pub const ONE_FAULT: u32 = 4;
pub const DESTINATION_BASED: u32 = 1;
pub const SYMMETRIC: u32 = 2;
pub const NOTIFIES: u32 = 4;
pub const REQUEUES: u32 = 8;
pub const READS_FIELDS: u32 = 1;
pub const READS_HEADER: u32 = 2;
pub const READS_ROOM: u32 = 4;
pub const READS_OCCUPANCY: u32 = 8;
pub const READS_CREDITS: u32 = 16;
pub const READS_DRAW: u32 = 32;
pub const READS_NOW: u32 = 64;

/// What a firmware declares that it is. [Firmware::new] has what is usual.
#[repr(C)]
pub struct Firmware {
    request: *const Request,
    answer: *mut Answer,
    candidates: u32,
    fields: u32,
    pub name: Text,
    pub about: Text,
    /// What is wrong with the options; empty: nothing.
    pub error: Text,
    pub on: u32,
    pub vcs: u32,
    pub tolerates: u32,
    pub flags: u32,
    pub reads: u32,
    pub most_hops: u32,
    pub least_room: u32,
    /// Instructions that a call may take; 0: as many as usual.
    pub work: u32,
    pub rules: List<Text>,
    pub options: List<Choice>,
    /// The engine that computes forwarding tables, as updn; empty: there are none.
    pub engine: Text,
}

impl Firmware {
    pub fn new(name: &'static str, about: &'static str, rules: &'static [Text]) -> Firmware {
        Firmware {
            request: unsafe { core::ptr::addr_of!(REQUEST) },
            answer: unsafe { core::ptr::addr_of_mut!(ANSWER) },
            candidates: CANDIDATES as u32,
            fields: FIELDS as u32,
            name: text(name),
            about: text(about),
            error: text(""),
            on: ANYTHING,
            vcs: 1,
            tolerates: 0,
            flags: 0,
            reads: 0,
            most_hops: 0,
            least_room: 0,
            work: 0,
            rules: list(rules),
            options: list(&[]),
            engine: text(""),
        }
    }
}

/// A register of a switch: name, bits, and picoseconds until it expires, 0 for never.
#[repr(C)]
pub struct Register {
    pub name: Text,
    pub width: u32,
    pub expire: i64,
}

mod host {
    #[link(wasm_import_module = "weft")]
    extern "C" {
        pub fn port_up(p: u32) -> u32;
        pub fn ports_up(first: u32, which: u64) -> u64;
        pub fn register(i: u32) -> u64;
        pub fn log(at: *const u8, length: u32);
    }
}

/// Whether the link at a port is up.
pub fn port_up(p: u16) -> bool {
    unsafe { host::port_up(p as u32) != 0 }
}

/// Which of the ports first + k, for each bit k of which, have a link that is up.
pub fn ports_up(first: u16, which: u64) -> u64 {
    unsafe { host::ports_up(first as u32, which) }
}

/// The value of a register of this switch.
pub fn register(i: u32) -> u64 {
    unsafe { host::register(i) }
}

/// Prints, while the firmware starts.
pub fn log(s: &str) {
    unsafe { host::log(s.as_ptr(), s.len() as u32) }
}

const NO_FIELDS: Fields = Fields { port_field: 0, path: 0, layers: 0, misroute: 0, route: [0; 2], sub: [0; 4] };

#[doc(hidden)]
pub static mut REQUEST: Request = Request {
    place: core::ptr::null(),
    dst: 0,
    port: 0,
    vc: 0,
    from: 0,
    vcs: 0,
    fields: NO_FIELDS,
    src: 0,
    size: 0,
    seq: 0,
    injected: 0,
    generation: 0,
    hops: 0,
    reroutes: 0,
    traced: 0,
    draw: 0,
    now: 0,
    room: core::ptr::null(),
    occupancy: core::ptr::null(),
    credits: core::ptr::null(),
    table: core::ptr::null(),
};

#[doc(hidden)]
pub static mut ANSWER: Answer = Answer {
    count: 0,
    rule: 0,
    turn: 0,
    notify: false,
    write: false,
    register: 0,
    value: 0,
    candidates: [Candidate { port: 0, vc: 0, class: 0, need: 0, zero: 0, fields: 0 }; CANDIDATES],
    fields: [NO_FIELDS; FIELDS],
};

impl Request {
    pub fn place(&self) -> &Place {
        unsafe { &*self.place }
    }
    /// How many packets the output queue of a port and VC can take.
    pub fn room(&self, p: u16, vc: u8) -> u16 {
        self.queue(self.room, p, vc)
    }
    pub fn occupancy(&self, p: u16, vc: u8) -> u16 {
        self.queue(self.occupancy, p, vc)
    }
    pub fn credits(&self, p: u16, vc: u8) -> u16 {
        self.queue(self.credits, p, vc)
    }
    /// The forwarding table of this switch, with an engine.
    pub fn table(&self) -> Option<&Table> {
        unsafe { self.table.as_ref() }
    }
    fn queue(&self, table: *const u16, p: u16, vc: u8) -> u16 {
        if table.is_null() || p as u32 >= self.place().ports || vc >= self.vcs {
            return 0;
        }
        unsafe { *table.add(p as usize * self.vcs as usize + vc as usize) }
    }
}

impl Answer {
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
    /// Offers one more way.
    pub fn offer(&mut self, p: u16, vc: u8) -> &mut Candidate {
        let c = &mut self.candidates[self.count as usize];
        self.count += 1;
        *c = Candidate { port: p, vc, class: 0, need: 0, zero: 0, fields: 0 };
        c
    }
    /// Has the packet go one way.
    pub fn to(&mut self, p: u16, vc: u8, rule: u16, turn: u8) {
        self.offer(p, vc);
        self.rule = rule;
        self.turn = turn;
    }
    /// Has a register written when the decision is taken.
    pub fn write(&mut self, register: u32, value: u64) {
        (self.write, self.register, self.value) = (true, register, value);
    }
}

impl Place {
    pub fn roles(&self) -> &[u8] {
        unsafe { core::slice::from_raw_parts(self.roles, self.ports as usize) }
    }
    pub fn neighbours(&self) -> &[Node] {
        unsafe { core::slice::from_raw_parts(self.neighbours, self.ports as usize) }
    }
    pub fn name(&self) -> &str {
        unsafe { core::str::from_utf8_unchecked(core::slice::from_raw_parts(self.name.0, self.name.1 as usize)) }
    }
    pub fn tree(&self) -> Option<&Tree> {
        unsafe { self.tree.as_ref() }
    }
    pub fn grid(&self) -> Option<&Grid> {
        unsafe { self.grid.as_ref() }
    }
}

impl Grid {
    pub fn dims(&self) -> &[Dim] {
        unsafe { core::slice::from_raw_parts((self as *const Grid).add(1) as *const Dim, self.dims as usize) }
    }
}

fn at<T: Copy>(list: *const T, i: u32) -> T {
    unsafe { *list.add(i as usize) }
}

impl Tree {
    /// Digit i of the switch.
    pub fn w(&self, i: u32) -> u32 {
        at(self.w, i)
    }
    pub fn radix(&self, tier: u32) -> u32 {
        at(self.radix, tier)
    }
    pub fn number(&self, d: u32) -> u32 {
        match () {
            _ if self.position.is_null() => d,
            _ if d < self.positions => at(self.position, d),
            _ => u32::MAX,
        }
    }
    pub fn has_down(&self, d: u32) -> bool {
        (self.number(d) as u64).wrapping_sub(self.prefix as u64 * self.above as u64) < self.above as u64
    }
    fn port(&self, j: u32) -> u16 {
        match () {
            _ if self.ports.is_null() => j as u16,
            _ if j < self.down + self.ups => at(self.ports, j) as u16,
            _ => NO_PORT,
        }
    }
    /// Which down port and then up port a port is, from 0; that of a port there is not is none.
    fn index(&self, p: u16) -> i32 {
        match () {
            _ if self.numbers.is_null() => p as i32,
            _ if (p as u32) < self.down + self.ups => at(self.numbers, p as u32),
            _ => -1,
        }
    }
    pub fn down_at(&self, j: u32) -> u16 {
        self.port(j)
    }
    pub fn up(&self, j: u32) -> u16 {
        self.port(self.down + j)
    }
    pub fn down_port(&self, d: u32) -> u16 {
        self.port(self.number(d) % self.above / self.below)
    }
    pub fn default_up(&self, d: u32) -> u16 {
        self.up(self.number(d) / self.below % self.ups.max(1))
    }
    pub fn up_index(&self, p: u16) -> Option<u32> {
        let j = self.index(p) - self.down as i32;
        (j >= 0 && j < self.ups as i32).then(|| j as u32)
    }
    pub fn down_index(&self, p: u16) -> Option<u32> {
        let j = self.index(p);
        (j >= 0 && j < self.down as i32).then(|| j as u32)
    }
    pub fn leaf(&self) -> bool {
        self.tier + 1 == self.n
    }
    /// The live ones of the first 64 up ports but for those in skip, as bits. Where up ports have
    /// successive numbers it asks once.
    pub fn live_ups(&self, skip: u64) -> u64 {
        let which = !skip & u64::MAX.checked_shr(64 - self.ups.min(64)).unwrap_or(0);
        if self.ports.is_null() {
            return ports_up(self.up(0), which);
        }
        (0..64).filter(|&j| which >> j & 1 != 0 && port_up(self.up(j))).fold(0, |up, j| up | 1 << j)
    }
    /// The first live up port from index j on, but for one.
    pub fn live_up(&self, j: u32, skip: u16) -> Option<u16> {
        (j..self.ups).map(|j| self.up(j)).find(|&p| p != skip && port_up(p))
    }
    /// The first live down port after p in cyclic order, but for p.
    pub fn other_down(&self, p: u16) -> Option<u16> {
        let j = self.down_index(p).unwrap_or(0);
        (1..=self.down).map(|i| self.down_at((j + i) % self.down)).find(|&q| q != p && port_up(q))
    }
}

/// Whether one of the options is this text, as in "notify=true".
pub fn option_is(options: &str, text: &str) -> bool {
    options.split(',').any(|o| o == text)
}

#[doc(hidden)]
pub fn alloc(n: u32) -> u32 {
    static mut NEXT: u64 = 0;
    extern "C" {
        static __heap_base: u8;
    }
    unsafe {
        let base = core::ptr::addr_of!(__heap_base) as u64;
        let at = (NEXT.max(base) + 7) & !7;
        let end = at + n as u64;
        let size = (core::arch::wasm32::memory_size(0) as u64) << 16;
        if end > size && core::arch::wasm32::memory_grow(0, ((end - size + 0xFFFF) >> 16) as usize) == usize::MAX {
            return 0;
        }
        NEXT = end;
        at as u32
    }
}

/// Exports a firmware: `start: fn(options: &str) -> Firmware`, `route: fn(&Request, &mut Answer)`.
/// After them may come `registers: fn(&Place) -> List<Register>`, `check: fn(&Place, u32) ->
/// Option<&'static str>` and `channel_number: fn(&Place, u16, u8) -> i32`, by these names.
#[macro_export]
macro_rules! firmware {
    ($start:path, $route:path $(, $more:ident = $f:path)*) => {
        #[no_mangle]
        extern "C" fn weft_abi() -> u32 {
            1
        }
        #[no_mangle]
        extern "C" fn weft_alloc(n: u32) -> u32 {
            $crate::alloc(n)
        }
        #[no_mangle]
        unsafe extern "C" fn weft_init(at: *const u8, length: u32) -> *const $crate::Firmware {
            static mut DECLARED: Option<$crate::Firmware> = None;
            let options = core::slice::from_raw_parts(at, length as usize);
            DECLARED = Some($start(core::str::from_utf8(options).unwrap_or("")));
            match &*core::ptr::addr_of!(DECLARED) {
                Some(f) => f,
                None => core::ptr::null(),
            }
        }
        #[no_mangle]
        unsafe extern "C" fn weft_route() {
            $route(&*core::ptr::addr_of!($crate::REQUEST), &mut *core::ptr::addr_of_mut!($crate::ANSWER))
        }
        $($crate::export!($more, $f);)*
        #[panic_handler]
        fn panic(_: &core::panic::PanicInfo) -> ! {
            core::arch::wasm32::unreachable()
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! export {
    (registers, $f:path) => {
        #[no_mangle]
        unsafe extern "C" fn weft_registers(place: *const $crate::Place) -> *const $crate::List<$crate::Register> {
            static mut LIST: Option<$crate::List<$crate::Register>> = None;
            LIST = Some($f(&*place));
            match &*core::ptr::addr_of!(LIST) {
                Some(l) => l,
                None => core::ptr::null(),
            }
        }
    };
    (check, $f:path) => {
        #[no_mangle]
        unsafe extern "C" fn weft_check(place: *const $crate::Place, vcs: u32) -> *const $crate::Text {
            static mut WHY: $crate::Text = $crate::text("");
            match $f(&*place, vcs) {
                Some(s) => {
                    WHY = $crate::text(s);
                    core::ptr::addr_of!(WHY)
                }
                None => core::ptr::null(),
            }
        }
    };
    (channel_number, $f:path) => {
        #[no_mangle]
        unsafe extern "C" fn weft_channel_number(place: *const $crate::Place, port: u32, vc: u32) -> i32 {
            $f(&*place, port as u16, vc as u8)
        }
    };
}
