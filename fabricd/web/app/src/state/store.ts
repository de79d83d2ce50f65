// The one store of what the fabric is like: the stream's frames go in, everything that draws reads from it.

import type {
  Channel, FabricEvent, FaultReport, Frame, Hop, Ledger, LinkView, PodView, Sample, SwitchView, Topology, Totals,
} from '../net/types'
import { story } from '../map/look'
import { History } from './history'
import { bundleAsLink, podAsSwitch, podOf, scene, sumOf, type Scene } from './pods'

// What apply made of a frame. After a gap, or before the first snapshot, only a fresh snapshot helps.
export type Applied = 'snapshot' | 'delta' | 'gap' | 'old'

// What a change touched, so that the map redraws only that. All: everything may be different.
export interface Change {
  all: boolean
  state: boolean // more than figures: something is up or down, cut or well, that was not
  links: number[]
  switches: number[]
  hops: Hop[]
  events: FabricEvent[]
}

const keptEvents = 400
const keptFaults = 300

export class Store {
  full: Topology | null = null // all there is
  topology: Topology | null = null // what is drawn: of a large fabric pods, and what is in those that are open
  open: ReadonlySet<string> = new Set()
  pods: PodView[] = [] // open or not
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
  routings: string[] = [] // that switches run other than the fabric's
  readonly history = new History()

  private scene: Scene | null = null
  private turned = false // the state of a link or switch, by the latest frame
  private single = new Map<number, LinkView>() // links that are drawn as one with others, by their numbers in the fabric
  private podIndex = new Map<string, string>() // of switches
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
    this.full = t
    this.podIndex = podOf(t)
    this.setOpen([])
  }

  // setOpen draws these pods switch by switch, of which nothing is known until a snapshot comes.
  setOpen(pods: Iterable<string>): void {
    if (!this.full) return
    const known = new Set(this.full.pods?.map((p) => p.id))
    this.open = new Set([...pods].filter((p) => known.has(p)))
    this.scene = scene(this.full, this.open)
    const t = this.scene.topology
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
    this.emit({ all: true, state: true, links: [], switches: [], hops: [], events: [] })
  }

  // apply takes one frame of the stream.
  apply(f: Frame): Applied {
    if (f.kind !== 'snapshot') {
      if (f.run !== this.run || f.seq > this.seq + 1) return 'gap'
      if (f.seq <= this.seq) return 'old'
    }
    const snapshot = f.kind === 'snapshot'
    if (snapshot) {
      this.history.clear()
      this.reset()
    }
    this.run = f.run
    this.seq = f.seq
    this.at = f.at
    this.frames++
    this.turned = false
    const locked = this.deadlock.length > 0
    const [links, switches] = this.take(f)
    if (f.sample) this.sample = f.sample
    if (f.ledger) this.ledger = f.ledger
    if (f.totals) this.totals = f.totals
    this.traffic = f.traffic ?? ''
    this.routings = f.routings ?? []
    this.deadlock = (f.deadlock ?? []).map((c) => ({ ...c, link: this.scene?.links[c.link] ?? -1 })).filter((c) => c.link >= 0)
    const events = f.events ?? []
    this.events = this.events.concat(events).slice(-keptEvents)
    for (const r of f.faults ?? []) this.faults.set(r.id, r)
    for (const id of this.faults.keys()) {
      if (this.faults.size <= keptFaults) break
      this.faults.delete(id)
    }
    this.history.add(f.history ?? [])
    this.emit({
      all: snapshot,
      state: snapshot || this.turned || events.length > 0 || (f.faults ?? []).length > 0 || (this.deadlock.length > 0) !== locked,
      links,
      switches,
      hops: f.hops ?? [],
      events,
    })
    return snapshot ? 'snapshot' : 'delta'
  }

  // take puts what a frame tells of where it is drawn, and returns which links and switches of those drawn have changed.
  private take(f: Frame): [number[], number[]] {
    const at = this.scene
    const links = new Set<number>()
    const switches: number[] = []
    if (!at) return [[], []]
    const sums = new Set<number>()
    for (const l of f.links ?? []) {
      const k = at.links[l.i] ?? -1
      if (k < 0) continue
      links.add(k)
      if (at.sums.has(k)) {
        this.single.set(l.i, l)
        sums.add(k)
      } else {
        this.setLink(k, k === l.i ? l : { ...l, i: k })
      }
    }
    for (const k of sums) this.setLink(k, this.sum(k, at.sums.get(k)!))
    for (const b of f.bundles ?? []) {
      const k = at.bundles[b.i] ?? -1
      if (k < 0) continue
      this.setLink(k, bundleAsLink(k, at.topology.links[k]!, b))
      links.add(k)
    }
    for (const s of f.switches ?? []) {
      const k = at.switches[s.i] ?? -1
      if (k < 0) continue
      this.setSwitch(k, k === s.i ? s : { ...s, i: k })
      switches.push(k)
    }
    for (const p of f.pods ?? []) {
      this.pods[p.i] = p
      const k = at.pods[p.i] ?? -1
      if (k < 0) continue
      this.setSwitch(k, podAsSwitch(k, at.topology.switches[k]!.pod!.switches, p))
      switches.push(k)
    }
    return [[...links], switches]
  }

  private setLink(k: number, l: LinkView): void {
    if (story(this.links[k]!) !== story(l)) this.turned = true
    this.links[k] = l
  }

  private setSwitch(k: number, s: SwitchView): void {
    const was = this.switches[k]!
    if (was.state !== s.state || was.routing !== s.routing) this.turned = true
    this.switches[k] = s
  }

  private sum(k: number, of: number[]): LinkView {
    const { a } = this.topology!.links[k]!
    const views = of.map((i): [LinkView, boolean] => {
      const l = this.full!.links[i]!
      return [this.single.get(i) ?? { i, state: 'up', a_up: true, b_up: true }, l.a !== a && this.podIndex.get(l.a) !== a]
    })
    return sumOf(k, views, (l) => story(l) !== 'up')
  }

  // podsOf are the pods that are to be opened for a switch, NIC or link to be drawn.
  podsOf(id: string): string[] {
    const t = this.full
    if (!t?.pods) return []
    const ends = [id, t.nics.find((n) => n.id === id)?.switch]
    const l = t.links.find((e) => e.id === id)
    if (l) ends.push(l.a, l.b)
    return [...new Set(ends.flatMap((e) => (e && this.podIndex.has(e) ? [this.podIndex.get(e)!] : [])))].filter((p) => !this.open.has(p))
  }

  // pod is the view of a pod, undefined for what is none.
  pod(id: string): { links: number; switches: string[]; nics: number; view: PodView } | undefined {
    const i = this.full?.pods?.findIndex((p) => p.id === id) ?? -1
    return i < 0 ? undefined : { ...this.full!.pods![i]!, view: this.pods[i] ?? { i } }
  }

  // standsForMany says whether what is drawn by that name is a pod, or several links.
  standsForMany(id: string): boolean {
    const l = this.linkIndex.get(id)
    if (l !== undefined) return this.topology!.links[l]!.links !== undefined
    const s = this.switchIndex.get(id)
    return s === undefined ? this.pod(id) !== undefined : this.topology!.switches[s]!.pod !== undefined
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

  // firmwares says how many switches of the map run the fabric's, and each of routings; mixed: not all run the same.
  firmwares(): { runs: number[]; mixed: boolean } {
    const runs = ['', ...this.routings].map(() => 0)
    this.topology?.switches.forEach((s, i) => {
      if (!s.pod) runs[this.switches[i]!.routing ?? 0]!++
    })
    return { runs, mixed: runs.filter((n) => n > 0).length > 1 }
  }

  private reset(): void {
    const t = this.topology
    // All is well until a frame says otherwise.
    this.links = (t?.links ?? []).map((l, i) => ({ i, state: 'up', a_up: true, b_up: true, ...(l.links ? { total: l.links, up: l.links } : {}) }))
    this.single.clear()
    this.pods = []
    this.switches = (t?.switches ?? []).map((_, i) => ({ i, state: 'up' }))
    this.events = []
    this.faults = new Map()
    this.deadlock = []
  }

  private emit(c: Change): void {
    for (const f of this.listeners) f(c)
  }
}
