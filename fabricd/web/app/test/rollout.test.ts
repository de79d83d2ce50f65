import { expect, it } from 'vitest'
import type { Client } from '../src/net/client'
import type { Status } from '../src/net/types'
import { inWords, Rollout } from '../src/state/rollout'
import type { Ui } from '../src/state/ui'
import { made } from './made'

const status = (lost: number, max_us: number) => made<Status>({
  totals: { delivered: 1000 + 100 * lost, reordered: lost, rerouted: 2, latency: { max_us } }, ledger: { lost, discarded: 7 },
})

it('says what it cost as linkmon load does', () => {
  expect(inWords('x', 1, 1, 1.04, status(0, 500), status(3, 500))).toBe(
    '1 switch runs x after 1.0 s\nmeanwhile 300 delivered, 3 lost, 0 discarded, 3 reordered, 0 re-routed; worst latency not above the 500 µs before')
  expect(inWords('x', 2, 5, 9, status(0, 500), status(0, 700))).toMatch(
    /^stopped: 2 of 5 switches run x, the others what they ran, after 9.0 s\n.*; worst latency 700 µs, 500 µs before$/s)
})

it('ends with the first switch that is refused, and says how many run it', async () => {
  const asked: unknown[] = []
  const said: string[] = []
  const client = {
    status: () => Promise.resolve(status(0, 1)),
    post: (_: string, o: { switches: string[]; check?: boolean }) => {
      asked.push(o)
      if (o.check) return Promise.resolve({ switches: ['a', 'b', 'c'] })
      return o.switches[0] === 'b' ? Promise.reject(new Error('no')) : Promise.resolve(o)
    },
  }
  const r = new Rollout(client as unknown as Client, { say: (text: string) => said.push(text), changed: () => {} } as unknown as Ui)
  r.routing = ' x '
  await r.start([], 0)
  expect(asked).toEqual([{ switches: [], routing: 'x', check: true }, { switches: ['a'], routing: 'x' }, { switches: ['b'], routing: 'x' }])
  expect(said).toEqual(['load x: 1 of 3 switches run it: no'])
  expect([r.on, r.cost]).toEqual([false, ''])
})
