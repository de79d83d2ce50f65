// Where switches, NICs and links are on the map. fabricd says where they belong; here trees are stretched to the shape of the
// window.

import type { Placed, Topology } from '../net/types'

export interface Point {
  x: number
  y: number
}

export interface Geometry {
  nodes: Map<string, Point> // map units; y grows upwards
  bends: number[] // per link: how far its middle is aside, as a share of its length; 0 is straight
  spacing: number // typical distance of neighbouring switches
  nicSpacing: number
  nearest: Map<string, number> // distance of each node to the next of its kind
}

// place lays topology out for a window of the given aspect, width over height.
export function place(t: Topology, aspect: number): Geometry {
  const nodes = new Map<string, Point>()
  const stretch = stretchOf(t, aspect)
  const placed = t.switches.length > 0 && t.switches.some((s) => s.x !== undefined || s.y !== undefined)
  t.switches.forEach((s, i) => {
    const p = placed ? { x: s.x ?? 0, y: s.y ?? 0 } : onCircle(i, t.switches.length)
    nodes.set(s.id, { x: p.x, y: -p.y * stretch })
  })
  t.nics.forEach((n) => {
    if (placed) nodes.set(n.id, { x: n.x ?? 0, y: -(n.y ?? 0) * stretch })
    else nodes.set(n.id, nodes.get(n.switch) ?? { x: 0, y: 0 })
  })
  const switches = t.switches.map((s) => s.id)
  const nearest = new Map([...nearestOf(switches, nodes), ...nearestOf(t.nics.map((n) => n.id), nodes)])
  return {
    nodes,
    bends: bendsOf(t),
    spacing: median(switches.map((id) => nearest.get(id)!)),
    nicSpacing: median(t.nics.map((n) => nearest.get(n.id)!)),
    nearest,
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
function stretchOf(t: Topology, aspect: number): number {
  if (t.layout?.kind !== 'tree') return 1
  const all = [...t.switches, ...t.nics]
  const span = (of: (p: Placed) => number) => all.reduce((m, p) => Math.max(m, of(p)), -Infinity) - all.reduce((m, p) => Math.min(m, of(p)), Infinity)
  const width = span((p) => p.x ?? 0)
  const height = span((p) => p.y ?? 0)
  return width > 0 && height > 0 ? Math.min(40, Math.max(0.2, width / height / aspect)) : 1
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
    let best = Infinity
    for (const step of [-1, 1]) {
      for (let k = i + step; k >= 0 && k < sorted.length; k += step) {
        const q = sorted[k]!.p
        if (Math.abs(q.x - p.x) >= best) break
        const d = Math.hypot(q.x - p.x, q.y - p.y)
        if (d > 0) best = Math.min(best, d)
      }
    }
    out.set(id, Number.isFinite(best) ? best : 1)
  })
  return out
}

function median(values: number[]): number {
  if (values.length === 0) return 1
  return values.sort((a, b) => a - b)[values.length >> 1]!
}
