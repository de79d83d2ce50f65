// The history of the fabric, as fabricd keeps it, in the form uPlot takes it.

import type { Point } from '../net/types'

// As many as fabricd keeps: ten minutes.
const kept = 600

export const columns = {
  at: 'at', injected: 'injected_per_second', delivered: 'delivered_per_second', refused: 'refused_per_second', lost: 'lost_per_second',
  discarded: 'discarded_per_second', rerouted: 'rerouted_per_second', inFlight: 'in_flight', p50: 'p50_us', p99: 'p99_us',
} as const satisfies Record<string, keyof Point>
export type Column = keyof typeof columns

export class History {
  readonly data = Object.fromEntries(Object.keys(columns).map((c) => [c, [] as number[]])) as Record<Column, number[]>

  clear(): void {
    for (const list of Object.values(this.data)) list.length = 0
  }

  add(points: readonly Point[]): void {
    for (const [c, list] of Object.entries(this.data)) {
      list.push(...points.map((p) => p[columns[c as Column]] ?? 0))
      list.splice(0, list.length - kept)
    }
  }
}
