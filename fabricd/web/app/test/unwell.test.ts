import { expect, it } from 'vitest'
import { unwell } from '../src/ui/unwell'

const sample = { at: 1, injected_per_second: 9, offered_per_second: 0, delivered_per_second: 3, in_flight: 99, lost: 0, discarded: 0, rerouted: 0, links_down: 0 }
const overload = 'more is offered than carried'

it('nothing is wrong while all is carried; the sentence is that of fabricd', () => {
  expect(unwell({ sample: null, deadlock: [] })).toBeNull()
  expect(unwell({ sample, deadlock: [] })).toBeNull()
  expect(unwell({ sample: { ...sample, overload }, deadlock: [] })).toEqual({ kind: 'overload', text: overload })
})

it('a packet that waits is told of unless there is more to tell', () => {
  const waiting = 'a packet from n1 to n2 has waited 2.0 s in s0 for room at s1'
  expect(unwell({ sample: { ...sample, waiting }, deadlock: [] })).toEqual({ kind: 'waiting', text: waiting })
  expect(unwell({ sample: { ...sample, waiting, overload }, deadlock: [] })?.kind).toBe('overload')
})

it('a deadlock is worse, and is told of pods that are closed too', () => {
  const wrong = unwell({ sample: { ...sample, overload }, deadlock: [{ link: 0, dir: 'ab', vc: 0 }] })
  expect(wrong).toEqual({ kind: 'deadlock', text: 'deadlock: 1 channels wait for one another' })
  expect(unwell({ sample: { ...sample, deadlock: 's0 -> s1 vc0' }, deadlock: [] })).toEqual({ kind: 'deadlock', text: 'deadlock: s0 -> s1 vc0' })
})
