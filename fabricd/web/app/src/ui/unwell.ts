// What is wrong with the fabric as a whole, though its links and switches may be up. The page is nowhere green meanwhile.

import type { Channel, Sample } from '../net/types'

export function unwell(store: {
  readonly sample: Sample | null | undefined
  readonly deadlock: readonly Channel[]
}): { kind: 'deadlock' | 'overload' | 'waiting'; text: string } | null {
  const { overload, waiting, deadlock } = store.sample ?? {}
  if (store.deadlock.length > 0) return { kind: 'deadlock', text: `deadlock: ${store.deadlock.length} channels wait for one another` }
  if (deadlock) return { kind: 'deadlock', text: `deadlock: ${deadlock}` } // in pods that are closed, perhaps
  if (overload) return { kind: 'overload', text: overload }
  return waiting ? { kind: 'waiting', text: waiting } : null
}
