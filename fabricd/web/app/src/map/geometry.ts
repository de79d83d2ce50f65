// Where switches, NICs and links are on the map. fabricd says where nodes belong; here trees are stretched to the shape of
// the window, and links that would run over other switches or over one another are bent.

import type { Topology } from '../net/types'

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
    bends: bendsOf(t, nodes),
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
  const l = t.layout
  if (!l || l.kind !== 'tree' || l.width <= 0 || l.height <= 0) return 1
  return Math.min(40, Math.max(0.2, l.width / l.height / aspect))
}

function onCircle(i: number, n: number): Point {
  const angle = (2 * Math.PI * i) / n
  const r = n / (2 * Math.PI)
  return { x: r * Math.sin(angle), y: -r * Math.cos(angle) }
}

// aside is how far a bent link keeps from the switches it would run over, in distances of neighbours.
const aside = 0.36

function bendsOf(t: Topology, nodes: Map<string, Point>): number[] {
  const grid = new Grid(t.switches.map((s) => nodes.get(s.id)!))
  const together = new Map<string, number[]>()
  t.links.forEach((l, i) => {
    const key = l.a < l.b ? `${l.a} ${l.b}` : `${l.b} ${l.a}`
    const list = together.get(key)
    if (list) list.push(i)
    else together.set(key, [i])
  })
  const bends = t.links.map((l) => {
    const a = nodes.get(l.a)
    const b = nodes.get(l.b)
    if (!a || !b) return 0
    const length = Math.hypot(b.x - a.x, b.y - a.y)
    if (t.layout?.kind === 'tree' || length < 1.4 || !grid.crowded(a, b)) return 0
    // Upwards or to the left, so that links around a torus leave the grid at one side.
    const up = b.x - a.x === 0 ? (b.y > a.y ? 1 : -1) : b.x > a.x ? 1 : -1
    return (up * aside) / length
  })
  for (const list of together.values()) {
    list.forEach((i, k) => {
      if (list.length === 1) return
      const l = t.links[i]!
      const way = l.a < l.b ? 1 : -1 // the same side for all, whichever end comes first
      bends[i]! += (way * (k - (list.length - 1) / 2) * 0.5) / list.length
    })
  }
  return bends
}

// Grid finds points near a place.
class Grid {
  private readonly cells = new Map<string, Point[]>()

  constructor(points: Point[]) {
    for (const p of points) {
      const key = this.key(p.x, p.y)
      const list = this.cells.get(key)
      if (list) list.push(p)
      else this.cells.set(key, [p])
    }
  }

  // crowded says whether a straight line from a to b runs over another point.
  crowded(a: Point, b: Point): boolean {
    const length = Math.hypot(b.x - a.x, b.y - a.y)
    const steps = Math.ceil(length * 2)
    for (let s = 1; s < steps; s++) {
      const x = a.x + ((b.x - a.x) * s) / steps
      const y = a.y + ((b.y - a.y) * s) / steps
      for (const p of this.near(x, y)) {
        const isEnd = Math.hypot(p.x - a.x, p.y - a.y) < 0.01 || Math.hypot(p.x - b.x, p.y - b.y) < 0.01
        const off = Math.abs((b.x - a.x) * (a.y - p.y) - (a.x - p.x) * (b.y - a.y)) / length
        if (!isEnd && off < 0.12) return true
      }
    }
    return false
  }

  near(x: number, y: number): Point[] {
    const out: Point[] = []
    for (let i = -1; i <= 1; i++) for (let k = -1; k <= 1; k++) out.push(...(this.cells.get(this.key(x + i, y + k)) ?? []))
    return out
  }

  private key(x: number, y: number): string {
    return `${Math.round(x)} ${Math.round(y)}`
  }
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
