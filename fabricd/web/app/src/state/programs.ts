// What programs do that have NICs: asked of fabricd again and again. And the connection that is chosen: packets between its NICs are
// traced, and the links that they take are lit.

import { journeys, type Journey } from '../map/path'
import type { Client } from '../net/client'
import type { Hop, Programs, ProgramConnection, ProgramRate } from '../net/types'
import type { Store } from './store'
import type { Ui } from './ui'

const every = 1000 // ms, while there are programs, or somebody looks for them
const seldom = 5000 // ms
const traceEvery = 1500 // ms
const traced = 2 // packets each way, of each request
const recent = 6 // packets each way whose paths are lit

// Way is the path of traced packets from one NIC to another.
export interface Way {
  nodes: string[]
  packets: number
  end: string
}

const none: Programs = { at: 0, nics: [], connections: [], rates: [] }

export const connectionKey = (c: ProgramConnection) => `${c.a.address} ${c.b.address}`

export class ProgramWatch {
  now: Programs = none
  error = ''
  traceError = ''
  chosen: ProgramConnection | null = null
  lit: ReadonlySet<number> = new Set() // links
  private hops: Hop[] = [] // of the packets between the NICs that are chosen
  private timer = 0
  private tracing = 0

  constructor(private readonly client: Client, private readonly store: Store, private readonly ui: Ui, private readonly light: () => void) {
    store.subscribe((c) => {
      if (c.all) this.relight() // the links have other numbers
      else if (c.hops.length > 0 && this.chosen) this.take(c.hops)
    })
  }

  // follow asks from now on, while wanted says so.
  follow(wanted: () => boolean): void {
    clearTimeout(this.timer)
    void this.ask(wanted)
  }

  private async ask(wanted: () => boolean): Promise<void> {
    if (wanted()) {
      try {
        const now = await this.client.programs()
        const changed = this.any || now.nics.length + now.connections.length + now.rates.length > 0 || this.error !== ''
        this.now = now
        this.error = ''
        const { chosen } = this
        const found = chosen && now.connections.find((c) => connectionKey(c) === connectionKey(chosen))
        if (found) this.chosen = found
        else if (chosen) this.choose(null) // it is forgotten, or of another run
        if (this.chosen?.ended && this.hops.length > 0) { // its packets take no path any more
          this.hops = []
          this.relight()
        }
        if (changed) {
          this.light()
          this.ui.changed()
        }
      } catch (e) {
        this.error = (e as Error).message
      }
    }
    this.timer = window.setTimeout(() => void this.ask(wanted), this.any || this.ui.tab === 'programs' ? every : seldom)
  }

  // any says whether there are programs, or were lately.
  get any(): boolean {
    return this.now.nics.length + this.now.connections.length + this.now.rates.length > 0
  }

  nic(id: string) { return this.now.nics.find((n) => n.nic === id) }

  // choose lights the paths of a connection; null: of none.
  choose(c: ProgramConnection | null): void {
    clearInterval(this.tracing)
    this.chosen = c
    this.hops = []
    this.traceError = ''
    this.relight()
    if (c && this.client.mayAct) {
      this.tracing = window.setInterval(() => void this.trace(), traceEvery)
      void this.trace()
    }
    this.ui.changed()
  }

  // forget is for another fabric.
  forget(): void {
    this.now = none
    this.choose(null)
  }

  private async trace(): Promise<void> {
    const c = this.chosen
    if (!c || c.ended || document.hidden || !c.a.nic || !c.b.nic) return
    try {
      await Promise.all([this.client.trace(c.a.nic, c.b.nic, traced), this.client.trace(c.b.nic, c.a.nic, traced)])
      this.traceError = ''
    } catch (e) {
      this.traceError = (e as Error).message
    }
  }

  private take(hops: readonly Hop[]): void {
    const { a, b } = this.chosen!
    const ours = hops.filter((h) => (h.src === a.nic && h.dst === b.nic) || (h.src === b.nic && h.dst === a.nic))
    if (ours.length === 0) return
    this.hops = newest([...this.hops, ...ours])
    this.relight()
  }

  private relight(): void {
    this.lit = new Set(journeys(this.hops, this.store).flatMap((j) => j.legs.map((l) => l.link)))
    this.light()
  }

  // ways are the paths from a NIC to another that the latest packets took, the most taken first.
  ways(src: string, dst: string): Way[] {
    const by = new Map<string, Way>()
    for (const j of journeys(this.hops.filter((h) => h.src === src && h.dst === dst), this.store)) {
      const nodes = walk(j, this.store)
      const key = `${nodes.join()} ${j.end}`
      const w = by.get(key) ?? { nodes, packets: 0, end: j.end }
      w.packets++
      by.set(key, w)
    }
    return [...by.values()].sort((p, q) => q.packets - p.packets)
  }
}

// walk is the nodes that a packet came to, in order: from its NIC along the links that it took. By time alone they may be out of order,
// for hosts tell of hops by clocks of their own.
function walk(j: Journey, store: Store): string[] {
  const left = j.legs.map(({ link, forth }) => {
    const { a, b } = store.topology!.links[link]!
    return forth ? { from: a, to: b } : { from: b, to: a }
  })
  const nodes = [j.src]
  const nicLink = store.linksAt(j.src)[0]
  if (nicLink !== undefined && !left.some((l) => l.from === j.src)) {
    const { a, b } = store.topology!.links[nicLink]!
    left.push({ from: j.src, to: a === j.src ? b : a }) // the NIC has not told
  }
  for (;;) {
    const k = left.findIndex((l) => l.from === nodes.at(-1))
    if (k < 0) break
    nodes.push(...left.splice(k, 1).map((l) => l.to))
  }
  const told = new Set(j.hops.map((h) => h.node))
  return nodes.length < told.size ? [...told] : nodes // some are in pods that are drawn as one
}

// newest keeps the hops of the latest packets of each flow, oldest first.
function newest(hops: Hop[]): Hop[] {
  const left = new Map<string, Set<number>>()
  const kept = hops.toReversed().filter((h) => {
    const of = left.get(h.src) ?? new Set()
    left.set(h.src, of)
    if (of.has(h.seq)) return true
    if (of.size === recent) return false
    of.add(h.seq)
    return true
  })
  return kept.reverse()
}

// usual is the time that mostly passes between two points of a rate, in seconds of the machine's clock, which programs have too: that of
// the fabric may go slower.
function usual(points: ProgramRate['points']): number {
  const gaps = points.slice(1).map((p) => p.after_seconds).sort((p, q) => p - q)
  return Math.max(0.25, gaps[Math.floor(gaps.length / 2)] ?? 1)
}

// silence is for how long a program that goes on has said nothing, in seconds; 0: no longer than usual.
export function silence(r: ProgramRate): number {
  return !r.ended && r.silent_seconds > 2 * usual(r.points) ? r.silent_seconds : 0
}

// rateLine is a rate as it is drawn, by the clock of the fabric: at nought where the program said nothing for more than twice the usual
// time, for then it did nothing that it says. now is the time at which it was asked for.
export function rateLine(r: ProgramRate, now: number): [at: number[], values: number[]] {
  const at: number[] = []
  const values: number[] = []
  const step = usual(r.points)
  const add = (t: number, v: number) => {
    at.push(t)
    values.push(v)
  }
  const stood = (from: number, to: number, passed: number) => {
    if (passed <= 2 * step || to <= from) return
    add(from + ((to - from) * step) / passed, 0)
    add(to - (to - from) / 100, 0)
  }
  r.points.forEach((p, i) => {
    if (i > 0) stood(r.points[i - 1]!.at, p.at, p.after_seconds)
    add(p.at, p.value)
  })
  const last = r.points.at(-1)
  if (last && !r.ended) stood(last.at, now, r.silent_seconds)
  return [at, values]
}
