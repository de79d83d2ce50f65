import { expect, it } from 'vitest'
import type { Client } from '../src/net/client'
import type { Status } from '../src/net/types'
import { pin } from '../src/state/module'
import { inWords, Rollout } from '../src/state/rollout'
import type { Ui } from '../src/state/ui'
import { made } from './made'

const status = (lost: number, max_us: number) => made<Status>({
  totals: { delivered: 1000 + 100 * lost, reordered: lost, rerouted: 2, latency: { max_us } }, ledger: { lost, discarded: 7 },
})

it('says what it cost as linkmon load does', () => {
  expect(inWords('x', 1, 1, false, 1.04, status(0, 500), status(3, 500))).toBe(
    '1 switch runs x after 1.0 s\nmeanwhile 300 delivered, 3 lost, 0 discarded, 3 reordered, 0 re-routed; worst latency not above the 500 µs before')
  expect(inWords('x', 2, 5, true, 9, status(0, 500), status(0, 700))).toMatch(
    /^stopped: 2 of 5 switches run x, the others what they ran, after 9.0 s\n.*; worst latency 700 µs, 500 µs before$/s)
})

it('sends a module as linkmon load does: its hash in the name, once, in base64', async () => {
  const asked: object[] = []
  const said: string[] = []
  const client = { status: () => Promise.resolve(status(0, 1)), post: (_: string, o: object) => (asked.push(o), Promise.resolve({ switches: ['a'], running: asked.length > 2 ? 0 : 1 })) }
  const r = new Rollout(client as unknown as Client, { say: (text: string) => said.push(text), changed: () => {} } as unknown as Ui)
  r.choose(new File([Uint8Array.of(0, 0x61, 0x73, 0x6d, 0xff)], 'fw:1.wasm'))
  expect(r.routing).toBe('wasm:fw_1.wasm')
  r.routing += ':step=3,dead=back'
  await r.start([], null)
  const routing = 'wasm:fw_1.wasm@3cc34474f2adb05a:step=3,dead=back'
  const check = { switches: [], routing, check: true }
  expect(asked).toEqual([{ ...check, file: 'AGFzbf8=' }, { switches: ['a'], routing }, check])
  expect(said).toEqual(['somebody else has loaded firmware meanwhile: load it again, one at a time'])
  expect(r.cost).toContain(`0 of 1 switches run ${routing} after`)
})

it('says which modules it cannot send', async () => {
  const file = new File(['x'], 'fw.wasm')
  for (const [routing, chosen, says] of [
    ['wasm:fw.wasm', null, 'choose it with the button File'],
    ['wasm:./fw.wasm', file, 'choose it with the button File'],
    ['wasm:fw.wasm', new File([], 'fw.wasm'), 'has 0 bytes'],
    ['wasm:fw.wasm', made<File>({ name: 'fw.wasm', size: 9e9 }), 'has 9000000000 bytes'],
    ['wasm:fw.wasm', made<File>({ name: 'fw.wasm', size: 9, arrayBuffer: () => Promise.reject(new Error('NotReadable')) }), 'has changed: choose it again'],
  ] as const) await expect(pin(routing, chosen)).rejects.toThrow(says)
  for (const routing of ['updn:layers=2', 'wasm:fw.wasm@0123456789abcdef:x=1']) expect(await pin(routing, file)).toEqual({ routing })
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
