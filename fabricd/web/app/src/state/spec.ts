// Orders as fabricd/fault.Spec has them, and how to take one back. Pure.

import type { LinkEnds, LinkView } from '../net/types'

export type Direction = '' | 'to' | 'from' // to: from the link's first end to its second

export interface Impair {
  loss?: string // as 10%
  delay?: string // as 5ms
  jitter?: string
  rate?: string // as 100kB/s
}

export interface Flap {
  period: string
  duty?: string
  jitter?: string
  count?: number
}

export interface Spec {
  do: 'cut' | 'flap' | 'impair' | 'crash' | 'restore' | 'restart' | 'heal'
  a?: string
  direction?: Direction
  silent?: boolean
  for?: string
  flap?: Flap
  impair?: Impair
}

// impairOf reads what a link suffers, as fabricd writes it: "loss 10%, delay 5ms ± 1ms, rate 100 kB/s".
export function impairOf(suffers: string | undefined): Impair | null {
  if (!suffers) return null
  const out: Impair = {}
  for (const part of suffers.split(', ')) {
    const [what, ...rest] = part.split(' ')
    const value = rest.join('')
    if (what === 'loss' || what === 'rate' || what === 'jitter') out[what] = value
    if (what === 'delay') {
      const [delay, jitter] = value.split('±')
      out.delay = delay!
      if (jitter) out.jitter = jitter
    }
  }
  return Object.keys(out).length > 0 ? out : null
}

// asBefore are the orders that bring a link back to what it was in view, whatever was done to it since. A flap is known
// only to who ordered it.
export function asBefore(link: LinkEnds, view: LinkView, flap: Spec | null): Spec[] {
  const specs: Spec[] = [{ do: 'restore', a: link.id }]
  if (view.flapping) {
    if (flap) specs.push(flap)
    return specs
  }
  const ab = impairOf(view.suffers_ab)
  const ba = impairOf(view.suffers_ba)
  if (ab && view.suffers_ab === view.suffers_ba) {
    specs.push({ do: 'impair', a: link.id, impair: ab })
  } else {
    if (ab) specs.push({ do: 'impair', a: link.id, direction: 'to', impair: ab })
    if (ba) specs.push({ do: 'impair', a: link.id, direction: 'from', impair: ba })
  }
  const cut = (kind: string, direction: Direction): Spec => ({
    do: 'cut', a: link.id, ...(direction ? { direction } : {}), ...(kind === 'silent' ? { silent: true } : {}),
  })
  if (view.cut_ab && view.cut_ab === view.cut_ba) {
    specs.push(cut(view.cut_ab, ''))
  } else {
    if (view.cut_ab) specs.push(cut(view.cut_ab, 'to'))
    if (view.cut_ba) specs.push(cut(view.cut_ba, 'from'))
  }
  return specs
}
