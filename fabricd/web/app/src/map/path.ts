// From the hops that switches tell to the way of a packet over the map. Pure.

import type { Hop } from '../net/types'
import type { Store } from '../state/store'

// Leg is one link that a packet crosses.
export interface Leg {
  link: number
  forth: boolean // from the link's first end to its second
  at: number // when the packet left, in seconds since the fabric started
  waitedMs: number // at the switch before
  hop: Hop | null // the decision that sent it here; null: the NIC's
}

export interface Journey {
  key: string
  src: string
  dst: string
  seq: number
  legs: Leg[]
  hops: Hop[]
  end: '' | 'delivered' | 'lost' | 'discarded'
}

export const journeyKey = (h: Hop) => `${h.src}>${h.dst}#${h.seq}`

// journeys gathers hops by packet, oldest first, and finds the links between them.
export function journeys(hops: readonly Hop[], store: Store): Journey[] {
  const by = new Map<string, Hop[]>()
  for (const h of hops) {
    const list = by.get(journeyKey(h))
    if (list) list.push(h)
    else by.set(journeyKey(h), [h])
  }
  return [...by].map(([key, list]) => journey(key, list.sort((a, b) => a.at - b.at), store))
}

function journey(key: string, hops: Hop[], store: Store): Journey {
  const first = hops[0]!
  const legs: Leg[] = []
  const add = (node: string, port: number, at: number, hop: Hop | null) => {
    const i = store.linkAt(node, port)
    if (i === undefined) return
    legs.push({ link: i, forth: store.topology!.links[i]!.a === node, at, waitedMs: (hop?.waited_us ?? 0) / 1000, hop })
  }
  // Not every source tells that its NIC has sent the packet.
  if (first.node !== first.src && first.in !== undefined && store.linkAt(first.node, first.in) === store.linkAt(first.src, 0)) {
    add(first.src, 0, first.at, null)
  }
  for (const h of hops) {
    const isSwitch = store.switchOf(h.node) !== undefined
    // What leaves a switch late has been decided before; the last hop of a packet sends it nowhere.
    if (h.out === undefined || h.out < 0 || (isSwitch && h.left) || h.end === 'discarded' || h.end === 'lost') continue
    if (!isSwitch && h.node !== h.src) continue
    add(h.node, h.out, h.at, h)
  }
  const end = hops.map((h) => h.end ?? '').find((e) => e !== '') ?? ''
  return { key, src: first.src, dst: first.dst, seq: first.seq, legs, hops, end }
}
