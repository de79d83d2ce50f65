// Where switches, NICs and links are on the map. fabricd says where they belong; here trees are stretched to the shape of the
// window.

import type { Topology } from '../net/types'

export interface Point {
  x: number
  y: number
}

export interface Geometry {
  nodes: Map<string, Point> // map units; y grows upwards
  bends: number[] // per link: how far its middle is aside, as a share of its length; 0 is straight
  spacing: number // typical distance of neighbouring switches
  nicSpacing: number // of neighbouring NICs
  nicReach: number // of a NIC to its switch
  nearest: Map<string, number> // distance of each node to the next of its kind
  box: { x: [number, number]; y: [number, number] } // what is seen at first
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
  const stretch = stretchOf(t, box, width / height)
  if (stretch === 1) return { ...flat, box }
  const nodes = spread(t, stretch)
  return { ...measure(t, nodes), box: boxOf(ids.map((id) => nodes.get(id)!)) }
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
  return {
    nodes,
    bends: bendsOf(t),
    spacing: median(switches.map((id) => nearest.get(id)!)),
    nicSpacing: median(t.nics.map((n) => nearest.get(n.id)!)),
    nicReach: median(t.nics.map((n) => distance(nodes.get(n.id), nodes.get(n.switch)))),
    nearest,
    box: { x: [0, 1], y: [0, 1] },
  }
}

// along is the point of a link at share at of its way, from its first end to its second.
export function along(a: Point, b: Point, bend: number, at: number): Point {
  // The control point of the curve is twice as far aside as its middle.
  const cx = (a.x + b.x) / 2 - (b.y - a.y) * 2 * bend
  const cy = (a.y + b.y) / 2 + (b.x - a.x) * 2 * bend
  const u = 1 - at
  return { x: u * u * a.x + 2 * u * at * cx + at * at * b.x, y: u * u * a.y + 2 * u * at * cy + at * at * b.y }
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
    return a && b && g.bends[i] ? [along(a, b, g.bends[i], 0.5)] : []
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

// bendsOf makes shares of the length of what fabricd gives in layout units: how far a curve's control point is aside.
function bendsOf(t: Topology): number[] {
  const at = new Map<string, Point>([...t.switches, ...t.nics].map((n) => [n.id, { x: n.x ?? 0, y: n.y ?? 0 }]))
  return t.links.map((l) => {
    const a = at.get(l.a)
    const b = at.get(l.b)
    const length = a && b ? Math.hypot(b.x - a.x, b.y - a.y) : 0
    return l.bend && length > 0 ? l.bend / (2 * length) : 0
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

function median(values: number[]): number {
  if (values.length === 0) return 1
  return values.sort((a, b) => a - b)[values.length >> 1]!
}
