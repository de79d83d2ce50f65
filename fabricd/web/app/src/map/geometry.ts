// Where switches, NICs and links are on the map. fabricd says where they belong; here trees are stretched to the shape of the
// window.

import type { Topology } from '../net/types'

export interface Point {
  x: number
  y: number
}

// Bend is how a link leaves the straight way between its ends, in shares of its length.
export interface Bend {
  aside: number // how far its middle is to the left; 0 is straight
  ramp: number // where it has come so far
}

export interface Geometry {
  nodes: Map<string, Point> // map units; y grows upwards
  bends: Bend[] // per link
  spacing: number // typical distance of neighbouring switches
  nicSpacing: number // of neighbouring NICs
  nicReach: number // of a NIC to its switch
  nicsOf: Map<string, number> // how many a switch has
  below: Map<string, number> // of a tree: how far each node is above the next tier of switches
  nearest: Map<string, number> // distance of each node to the next of its kind
  box: { x: [number, number]; y: [number, number] } // what is seen at first
  half: number // half of a switch, at most: links run clear of others of this size
}

// NICs are shown when they are so many pixels apart, and so far from their switches.
const nicApart = 4
const nicReach = 9

// roomForNics says whether NICs can be told apart at so many pixels per map unit.
export function roomForNics(g: Geometry, scale: number): boolean {
  return g.nicSpacing * scale >= nicApart && g.nicReach * scale >= nicReach
}

// place lays topology out for a window of so many pixels.
export function place(t: Topology, width: number, height: number): Geometry {
  const flat = measure(t, spread(t, 1))
  // A tree so wide that its NICs have no room fills the window with its switches.
  const all = boxOf([...flat.nodes.values()])
  const nics = t.nics.length > 0 && roomForNics(flat, width / Math.max(1e-9, all.x[1] - all.x[0]))
  const ids = (nics ? [...t.switches, ...t.nics] : t.switches).map((n) => n.id)
  const box = boxOf([...ids.map((id) => flat.nodes.get(id)!), ...crests(t, flat)])
  const under = Math.min(nics ? 36 : 60, height / 4) // pixels, for the names below what is lowest, which may be upright
  const stretch = stretchOf(t, box, width / (height - under))
  if (stretch === 1) return { ...flat, box }
  const nodes = spread(t, stretch)
  const seen = boxOf(ids.map((id) => nodes.get(id)!))
  seen.y[0] -= (under / (height - under)) * (seen.y[1] - seen.y[0])
  return { ...measure(t, nodes), box: seen }
}

function spread(t: Topology, stretch: number): Map<string, Point> {
  const placed = t.switches.some((s) => s.x !== undefined || s.y !== undefined)
  const nodes = new Map<string, Point>()
  t.switches.forEach((s, i) => {
    const p = placed ? { x: s.x ?? 0, y: s.y ?? 0 } : onCircle(i, t.switches.length)
    nodes.set(s.id, { x: p.x, y: -p.y * stretch })
  })
  for (const n of t.nics) {
    const p = placed ? { x: n.x ?? 0, y: -(n.y ?? 0) * stretch } : nodes.get(n.switch)
    nodes.set(n.id, p ?? { x: 0, y: 0 })
  }
  return nodes
}

function measure(t: Topology, nodes: Map<string, Point>): Geometry {
  const switches = t.switches.map((s) => s.id)
  const nearest = new Map([...nearestOf(switches, nodes), ...nearestOf(t.nics.map((n) => n.id), nodes)])
  const distance = (a: Point | undefined, b: Point | undefined) => (a && b ? Math.hypot(a.x - b.x, a.y - b.y) : 0)
  const nicsOf = new Map<string, number>()
  for (const n of t.nics) nicsOf.set(n.switch, (nicsOf.get(n.switch) ?? 0) + 1)
  const spacing = median(switches.map((id) => nearest.get(id)!))
  return {
    nodes,
    bends: t.pods && t.layout.kind !== 'tree' ? bendsAround(t, nodes, spacing) : bendsOf(t),
    spacing,
    half: spacing * Math.min(0.22, t.layout.kind === 'tree' ? flattest(t, nodes) : 0.2),
    nicSpacing: median(t.nics.map((n) => nearest.get(n.id)!)),
    nicReach: median(t.nics.map((n) => distance(nodes.get(n.id), nodes.get(n.switch)))),
    nicsOf,
    below: t.layout.kind === 'tree' ? belowOf(switches, nodes) : new Map(),
    nearest,
    box: { x: [0, 1], y: [0, 1] },
  }
}

// along is the point of a link at share at of its way, from its first end to its second.
export function along(a: Point, b: Point, bend: Bend, at: number): Point {
  const aside = bend.aside * rise(Math.min(at, 1 - at) / bend.ramp)
  return { x: a.x + (b.x - a.x) * at - (b.y - a.y) * aside, y: a.y + (b.y - a.y) * at + (b.x - a.x) * aside }
}

function rise(share: number): number {
  return 1 - (1 - Math.min(1, share)) ** 2
}

// flattest is the share of their distance that half of a switch may be so that the flattest link of a tree runs above its neighbour.
function flattest(t: Topology, nodes: Map<string, Point>): number {
  const least = t.links.reduce((m, l) => {
    const a = nodes.get(l.a)!
    const b = nodes.get(l.b)!
    return a.y === b.y ? m : Math.min(m, Math.abs((a.y - b.y) / (a.x - b.x)))
  }, 1000)
  return (0.9 * least) / (1 + least)
}

// stretchOf makes a tree fill the window: its tiers mean nothing but above and below.
function stretchOf(t: Topology, box: Geometry['box'], aspect: number): number {
  const width = box.x[1] - box.x[0]
  const height = box.y[1] - box.y[0]
  return t.layout?.kind === 'tree' && width > 0 && height > 0 ? Math.min(60, Math.max(0.2, width / height / aspect)) : 1
}

// crests are the middles of the links that are bent, which may lie outside all nodes: around a torus.
function crests(t: Topology, g: Geometry): Point[] {
  return t.links.flatMap((l, i) => {
    const a = g.nodes.get(l.a)
    const b = g.nodes.get(l.b)
    return a && b && g.bends[i]?.aside ? [along(a, b, g.bends[i], 0.5)] : []
  })
}

function boxOf(points: Point[]): Geometry['box'] {
  const span = (of: (p: Point) => number): [number, number] => [
    points.reduce((m, p) => Math.min(m, of(p)), Infinity), points.reduce((m, p) => Math.max(m, of(p)), -Infinity),
  ]
  return { x: span((p) => p.x), y: span((p) => p.y) }
}

function onCircle(i: number, n: number): Point {
  const angle = (2 * Math.PI * i) / n
  const r = n / (2 * Math.PI)
  return { x: r * Math.sin(angle), y: -r * Math.cos(angle) }
}

// A bent link has come to its bend so far from its ends, in layout units.
const ramp = 0.6

// bendsOf makes shares of the length of what fabricd gives in layout units.
function bendsOf(t: Topology): Bend[] {
  const at = new Map<string, Point>([...t.switches, ...t.nics].map((n) => [n.id, { x: n.x ?? 0, y: n.y ?? 0 }]))
  return t.links.map((l) => {
    const a = at.get(l.a)
    const b = at.get(l.b)
    const length = a && b ? Math.hypot(b.x - a.x, b.y - a.y) : 0
    return l.bend && length > 0 ? { aside: l.bend / length, ramp: Math.min(0.5, ramp / length) } : { aside: 0, ramp: 0.5 }
  })
}

// bendsAround bends links around switches and pods that they do not touch, as fabricd does where all of a fabric is shown.
function bendsAround(t: Topology, nodes: Map<string, Point>, spacing: number): Bend[] {
  const switches = t.switches.map((s) => ({ id: s.id, p: nodes.get(s.id)! }))
  return t.links.map((l, i) => {
    const a = nodes.get(l.a)!
    const b = nodes.get(l.b)!
    const length = Math.max(1e-9, Math.hypot(b.x - a.x, b.y - a.y))
    const up = Math.min(0.5, (ramp * spacing) / length)
    const near = switches.flatMap(({ id, p }) => {
      const at = ((p.x - a.x) * (b.x - a.x) + (p.y - a.y) * (b.y - a.y)) / length ** 2
      const left = ((p.y - a.y) * (b.x - a.x) - (p.x - a.x) * (b.y - a.y)) / length
      return id === l.a || id === l.b || at <= 0 || at >= 1 ? [] : [{ left, rise: rise(Math.min(at, 1 - at) / up) }]
    })
    const clear = (bend: number) => near.every((n) => Math.abs(n.left - bend * n.rise) > 0.38 * spacing)
    const step = (0.2 + 0.012 * (i % 5)) * spacing // not the same for neighbours, which lead the same way
    const bends = Array.from({ length: 13 }, (_, k) => (k % 2 ? 1 : -1) * step * ((k + 1) >> 1))
    return { aside: (bends.find(clear) ?? 0) / length, ramp: up }
  })
}

function nearestOf(ids: string[], nodes: Map<string, Point>): Map<string, number> {
  // Sorted by x, the next one is not far along the list.
  const sorted = ids.map((id) => ({ id, p: nodes.get(id)! })).sort((m, n) => m.p.x - n.p.x)
  const out = new Map<string, number>()
  sorted.forEach(({ id, p }, i) => {
    let best = Infinity // squared
    for (const step of [-1, 1]) {
      for (let k = i + step; k >= 0 && k < sorted.length; k += step) {
        const dx = sorted[k]!.p.x - p.x
        if (dx * dx >= best) break
        const dy = sorted[k]!.p.y - p.y
        const d = dx * dx + dy * dy
        if (d > 0 && d < best) best = d
      }
    }
    best = Math.sqrt(best)
    out.set(id, Number.isFinite(best) ? best : 1)
  })
  return out
}

function belowOf(switches: string[], nodes: Map<string, Point>): Map<string, number> {
  const tiers = [...new Set(switches.map((id) => nodes.get(id)!.y))].sort((a, b) => a - b)
  const gap = new Map(tiers.map((y, i) => [y, i > 0 ? y - tiers[i - 1]! : Infinity]))
  return new Map([...nodes].map(([id, p]) => [id, gap.get(p.y) ?? Infinity]))
}

function median(values: number[]): number {
  if (values.length === 0) return 1
  return values.sort((a, b) => a - b)[values.length >> 1]!
}
