// The one store of what the fabric is like: the stream's frames go in, everything that draws reads from it.

import type {
  Channel, FabricEvent, FaultReport, Frame, Hop, Ledger, LinkView, Sample, SwitchView, Topology, Totals,
} from '../net/types'
import { History } from './history'

// What apply made of a frame. After a gap, or before the first snapshot, only a fresh snapshot helps.
export type Applied = 'snapshot' | 'delta' | 'gap' | 'old'

// What a change touched, so that the map redraws only that. All: everything may be different.
export interface Change {
  all: boolean
  links: number[]
  switches: number[]
  hops: Hop[]
  events: FabricEvent[]
}

const keptEvents = 400
const keptFaults = 300

export class Store {
  topology: Topology | null = null
  run = ''
  seq = 0
  frames = 0
  at = 0
  links: LinkView[] = []
  switches: SwitchView[] = []
  sample: Sample | null = null
  ledger: Ledger | null = null
  totals: Totals | null = null
  events: FabricEvent[] = []
  faults = new Map<number, FaultReport>()
  deadlock: Channel[] = []
  traffic = ''
  readonly history = new History()

  private linkIndex = new Map<string, number>()
  private switchIndex = new Map<string, number>()
  private nicIndex = new Map<string, number>()
  private linksOf = new Map<string, number[]>()
  private listeners = new Set<(c: Change) => void>()

  subscribe(f: (c: Change) => void): () => void {
    this.listeners.add(f)
    return () => this.listeners.delete(f)
  }

  // setTopology starts anew with a fabric of which nothing is known but its shape.
  setTopology(t: Topology): void {
    this.topology = t
    this.linkIndex = new Map(t.links.map((l, i) => [l.id, i]))
    this.switchIndex = new Map(t.switches.map((s, i) => [s.id, i]))
    this.nicIndex = new Map(t.nics.map((n, i) => [n.id, i]))
    this.linksOf = new Map()
    t.links.forEach((l, i) => {
      for (const end of [l.a, l.b]) {
        const list = this.linksOf.get(end)
        if (list) list.push(i)
        else this.linksOf.set(end, [i])
      }
    })
    this.run = ''
    this.seq = 0
    this.reset()
    this.emit({ all: true, links: [], switches: [], hops: [], events: [] })
  }

  // apply takes one frame of the stream.
  apply(f: Frame): Applied {
    if (f.kind !== 'snapshot') {
      if (f.run !== this.run || f.seq > this.seq + 1) return 'gap'
      if (f.seq <= this.seq) return 'old'
    }
    const snapshot = f.kind === 'snapshot'
    if (snapshot) {
      if (f.run !== this.run) this.history.clear()
      this.reset()
    }
    this.run = f.run
    this.seq = f.seq
    this.at = f.at
    this.frames++
    for (const l of f.links ?? []) if (l.i < this.links.length) this.links[l.i] = l
    for (const s of f.switches ?? []) if (s.i < this.switches.length) this.switches[s.i] = s
    if (f.sample) this.sample = f.sample
    if (f.ledger) this.ledger = f.ledger
    if (f.totals) this.totals = f.totals
    this.traffic = f.traffic ?? ''
    this.deadlock = f.deadlock ?? []
    const events = f.events ?? []
    this.events = this.events.concat(events).slice(-keptEvents)
    for (const r of f.faults ?? []) this.faults.set(r.id, r)
    for (const id of this.faults.keys()) {
      if (this.faults.size <= keptFaults) break
      this.faults.delete(id)
    }
    this.history.add(f.at, this.sample, this.totals)
    this.emit({
      all: snapshot,
      links: (f.links ?? []).map((l) => l.i),
      switches: (f.switches ?? []).map((s) => s.i),
      hops: f.hops ?? [],
      events,
    })
    return snapshot ? 'snapshot' : 'delta'
  }

  link(id: string): number | undefined { return this.linkIndex.get(id) }
  switchOf(id: string): number | undefined { return this.switchIndex.get(id) }
  nic(id: string): number | undefined { return this.nicIndex.get(id) }
  linksAt(node: string): readonly number[] { return this.linksOf.get(node) ?? [] }

  // linkAt is the link at one port of a node.
  linkAt(node: string, port: number): number | undefined {
    return this.linksAt(node).find((i) => {
      const l = this.topology!.links[i]!
      return (l.a === node && l.a_port === port) || (l.b === node && l.b_port === port)
    })
  }

  // faultsInForce are the reports of faults that nobody has repaired, by what they are of.
  faultsInForce(target: string): FaultReport[] {
    return [...this.faults.values()].filter((r) => r.target === target && !r.restored_at)
  }

  private reset(): void {
    const t = this.topology
    // All is well until a frame says otherwise.
    this.links = (t?.links ?? []).map((_, i) => ({ i, state: 'up', a_up: true, b_up: true }))
    this.switches = (t?.switches ?? []).map((_, i) => ({ i, state: 'up' }))
    this.events = []
    this.faults = new Map()
    this.deadlock = []
  }

  private emit(c: Change): void {
    for (const f of this.listeners) f(c)
  }
}
