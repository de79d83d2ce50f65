// A large fabric is looked at by pods: each is drawn as one switch, and the links between two pods as one link, until it is opened. Pure.

import type { BundleView, LinkEnds, LinkView, PodView, SwitchNode, SwitchView, Topology } from '../net/types'

// Scene is what is drawn of a topology, and where in it what the stream tells of is; -1: nowhere.
export interface Scene {
  topology: Topology
  links: Int32Array // per link of the fabric
  switches: Int32Array
  pods: Int32Array
  bundles: Int32Array
  sums: Map<number, number[]> // links drawn as one that the stream tells of one by one, by where they are drawn
}

// podOf finds the pod of each switch.
export function podOf(t: Topology): Map<string, string> {
  return new Map((t.pods ?? []).flatMap((p) => p.switches.map((s) => [s, p.id] as const)))
}

// scene puts pods in the place of their switches, but for those that are open.
export function scene(full: Topology, open: ReadonlySet<string>): Scene {
  if (!full.pods) {
    const same = (list: unknown[]) => Int32Array.from(list, (_, i) => i)
    const none = new Int32Array(0)
    return { topology: full, links: same(full.links), switches: same(full.switches), pods: none, bundles: none, sums: new Map() }
  }
  const of = podOf(full)
  for (const n of full.nics) of.set(n.id, of.get(n.switch)!)
  const shift = shiftOf(full, open, of)
  const seen = (id: string) => open.has(of.get(id)!)
  const drawnAs = (id: string) => (seen(id) ? id : of.get(id)!)
  const t: Topology = { ...full, switches: [], nics: full.nics.filter((n) => seen(n.id)).map((n) => ({ ...n, ...shift(n.id, n) })), links: [] }
  const s: Scene = {
    topology: t, links: new Int32Array(full.links.length).fill(-1), switches: new Int32Array(full.switches.length).fill(-1),
    pods: new Int32Array(full.pods.length).fill(-1), bundles: new Int32Array(full.bundles?.length ?? 0).fill(-1), sums: new Map(),
  }
  const add = (n: SwitchNode) => t.switches.push(n) - 1
  const at = new Map(full.switches.map((w) => [w.id, w]))
  full.pods.forEach((p, i) => {
    if (open.has(p.id)) return
    const places = p.switches.map((id) => shift(id, at.get(id)!))
    s.pods[i] = add({ id: p.id, ports: 0, ...middle(places), pod: { switches: p.switches.length, nics: p.nics, links: p.links, index: i } })
  })
  full.switches.forEach((w, i) => {
    if (seen(w.id)) s.switches[i] = add({ ...w, ...shift(w.id, w) })
  })
  full.bundles?.forEach((b, i) => {
    if (!open.has(b.a) && !open.has(b.b)) s.bundles[i] = t.links.push({ id: b.id, a: b.a, b: b.b, a_port: -1, b_port: -1, links: b.links }) - 1
  })
  const together = new Map<string, number>()
  full.links.forEach((l, i) => {
    const a = drawnAs(l.a)
    const b = drawnAs(l.b)
    if (a === l.a && b === l.b) {
      s.links[i] = t.links.push(l) - 1
      return
    }
    if (a !== l.a && b !== l.b) return // of a bundle, or inside a pod
    const key = `${a}-${b}`
    let k = together.get(key)
    if (k === undefined) {
      k = t.links.push({ id: key, a, b, a_port: -1, b_port: -1, links: 0 }) - 1
      together.set(key, k)
      s.sums.set(k, [])
    }
    s.links[i] = k
    s.sums.get(k)!.push(i)
    t.links[k]!.links!++
  })
  for (const [k, list] of s.sums) if (list.length === 1) alone(s, full, k, list[0]!)
  return s
}

// alone draws a link that leads to a closed pod by itself under its own name.
function alone(s: Scene, full: Topology, k: number, i: number): void {
  const { a, b } = s.topology.links[k]!
  s.topology.links[k] = { ...full.links[i]!, a, b }
  s.sums.delete(k)
}

const middle = (list: { x: number; y: number }[]) => ({
  x: list.reduce((sum, p) => sum + p.x, 0) / Math.max(1, list.length), y: list.reduce((sum, p) => sum + p.y, 0) / Math.max(1, list.length),
})

type Place = { x?: number; y?: number }

// shiftOf moves what is in a tree so that open pods have the room: a closed one is as wide as a switch.
function shiftOf(t: Topology, open: ReadonlySet<string>, of: Map<string, string>): (id: string, p: Place) => { x: number; y: number } {
  if (t.layout?.kind !== 'tree') return (_, p) => ({ x: p.x ?? 0, y: p.y ?? 0 })
  interface Span { low: number; high: number; tiers: Map<number, number>; deepest: number; at: number; width: number }
  const spans = new Map<string, Span>(t.pods!.map((p) => [p.id, { low: Infinity, high: -Infinity, tiers: new Map(), deepest: 0, at: 0, width: 1 }]))
  for (const n of [...t.switches, ...t.nics]) {
    const s = spans.get(of.get(n.id)!)!
    s.low = Math.min(s.low, n.x ?? 0)
    s.high = Math.max(s.high, n.x ?? 0)
  }
  for (const w of t.switches) {
    const s = spans.get(of.get(w.id)!)!
    s.tiers.set(w.tier ?? 0, (s.tiers.get(w.tier ?? 0) ?? 0) + 1)
    s.deepest = Math.max(s.deepest, w.tier ?? 0)
  }
  // What is above the pods is a row of its own, as wide.
  const rows = new Map<number, Span[]>()
  for (const [id, s] of spans) {
    if (open.has(id)) s.width = 1.2 * Math.max(...s.tiers.values())
    rows.set(s.deepest, [...(rows.get(s.deepest) ?? []), s])
  }
  const wide = (row: Span[]) => row.reduce((sum, s) => sum + s.width, 0)
  const widest = Math.max(...[...rows.values()].map(wide))
  for (const row of rows.values()) {
    const more = widest / wide(row)
    let at = 0
    for (const s of row.sort((a, b) => a.low + a.high - b.low - b.high)) {
      s.width *= more
      s.at = at
      at += s.width
    }
  }
  const flat = t.layout.width > 0 ? widest / t.layout.width : 1 // tiers are as far apart as suits the width of all
  return (id, p) => {
    const s = spans.get(of.get(id)!)!
    const share = s.high > s.low ? ((p.x ?? 0) - s.low) / (s.high - s.low) : 0.5
    return { x: s.at + s.width * (0.1 + 0.8 * share), y: (p.y ?? 0) * flat }
  }
}

// inSum is the view of so many links drawn as one.
function inSum(i: number, total: number, up: number, faults: number, v: Partial<LinkView>): LinkView {
  const wrong = faults > 0 ? `${faults} of ${total} links not well` : ''
  return {
    ...v, i, state: up === 0 && total > 0 ? 'cut' : 'up', a_up: true, b_up: true, up, faults, total,
    ...(up === 0 && total > 0 ? { cut_ab: 'signalled' as const, cut_ba: 'signalled' as const } : wrong ? { suffers_ab: wrong, suffers_ba: wrong } : {}),
  }
}

export function bundleAsLink(i: number, l: LinkEnds, b: BundleView): LinkView {
  const { rate_ab = 0, rate_ba = 0, load_ab = 0, load_ba = 0, lost = 0 } = b
  return inSum(i, l.links ?? 0, b.links_up ?? 0, b.faults ?? 0, { rate_ab, rate_ba, load_ab, load_ba, lost })
}

function turned(l: LinkView): LinkView {
  const { rate_ab = 0, rate_ba = 0, load_ab = 0, load_ba = 0, queued_ab = 0, queued_ba = 0 } = l
  return { ...l, rate_ab: rate_ba, rate_ba: rate_ab, load_ab: load_ba, load_ba: load_ab, queued_ab: queued_ba, queued_ba: queued_ab }
}

// sumOf adds up links, each given with whether it leads the other way than what it is drawn as.
export function sumOf(i: number, links: [LinkView, boolean][], troubled: (l: LinkView) => boolean): LinkView {
  const list = links.map(([l, back]) => (back ? turned(l) : l))
  const all = (of: (l: LinkView) => number | undefined) => list.reduce((sum, l) => sum + (of(l) ?? 0), 0)
  return inSum(i, list.length, list.filter((l) => l.state === 'up').length, list.filter(troubled).length, {
    rate_ab: all((l) => l.rate_ab), rate_ba: all((l) => l.rate_ba), load_ab: all((l) => l.load_ab) / list.length, load_ba: all((l) => l.load_ba) / list.length,
    queued_ab: all((l) => l.queued_ab), queued_ba: all((l) => l.queued_ba), lost: all((l) => l.lost),
  })
}

export function podAsSwitch(i: number, switches: number, p: PodView): SwitchView {
  const { held = 0, blocked = 0, rerouted = 0, u_turns = 0 } = p
  return { i, state: p.down === switches ? 'down' : 'up', held, blocked, rerouted, u_turns }
}
