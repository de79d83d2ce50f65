// The figures of the charts over the time that this page has watched, in the form uPlot takes them.

import type { Sample, Totals } from '../net/types'

// 10 minutes at a frame every 250 ms. Chosen by us: more than fits the width of a chart.
const kept = 2400

export const columns = ['at', 'delivered', 'injected', 'p50', 'p99', 'lost', 'rerouted', 'inFlight', 'discarded'] as const
export type Column = (typeof columns)[number]

export class History {
  readonly data: Record<Column, number[]>
  private last: { at: number; lost: number; rerouted: number; discarded: number } | null = null

  constructor() {
    this.data = Object.fromEntries(columns.map((c) => [c, [] as number[]])) as Record<Column, number[]>
  }

  clear(): void {
    for (const c of columns) this.data[c].length = 0
    this.last = null
  }

  // add notes one frame. Counters become rates per second since the frame before.
  add(at: number, sample: Sample | null, totals: Totals | null): void {
    if (!sample) return
    const before = this.last
    if (before && at <= before.at) return
    // Frames that events bring early are only milliseconds apart: their rates would be noise.
    if (before && at - before.at < 0.1) return
    const lost = sample.lost ?? 0
    const rerouted = sample.rerouted ?? 0
    const discarded = sample.discarded ?? 0
    const per = (now: number, then: number) => (before ? Math.max(0, now - then) / (at - before.at) : 0)
    const latency = sample.latency ?? totals?.latency
    const d = this.data
    d.at.push(at)
    d.delivered.push(sample.delivered_per_second ?? 0)
    d.injected.push(sample.injected_per_second ?? 0)
    d.p50.push(latency?.p50_us ?? 0)
    d.p99.push(latency?.p99_us ?? 0)
    d.lost.push(per(lost, before?.lost ?? 0))
    d.rerouted.push(per(rerouted, before?.rerouted ?? 0))
    d.discarded.push(per(discarded, before?.discarded ?? 0))
    d.inFlight.push(sample.in_flight ?? 0)
    this.last = { at, lost, rerouted, discarded }
    const drop = d.at.length - kept
    if (drop > 0) for (const c of columns) d[c].splice(0, drop)
  }
}
