import { expect, it } from 'vitest'
import { journeys } from '../src/map/path'
import type { Hop, Topology } from '../src/net/types'
import { Store } from '../src/state/store'
import { made } from './made'

const topology = made<Topology>({
  spec: 'x', kind: 'mesh',
  switches: [{ id: 's0', ports: 2 }, { id: 's1', ports: 2 }],
  nics: [{ id: 'n0', switch: 's0', switch_port: 1 }, { id: 'n1', switch: 's1', switch_port: 1 }],
  links: [
    { id: 's0-s1', a: 's0', a_port: 0, b: 's1', b_port: 0 },
    { id: 's0-n0', a: 's0', a_port: 1, b: 'n0', b_port: 0 },
    { id: 's1-n1', a: 's1', a_port: 1, b: 'n1', b_port: 0 },
  ],
})

function store(): Store {
  const s = new Store()
  s.setTopology(topology)
  return s
}

const hop = (node: string, at: number, rest: Partial<Hop> = {}): Hop => made<Hop>({ src: 'n0', dst: 'n1', seq: 7, node, at, ...rest })

it('finds the links that a packet crossed, with the NIC telling or not', () => {
  const told = [hop('n0', 1, { out: 0, left: true }), hop('s0', 2, { in: 1, out: 0 }), hop('s1', 3, { in: 0, out: 1 }), hop('n1', 4, { in: 0, end: 'delivered' })]
  for (const hops of [told, told.slice(1)]) {
    const [j] = journeys(hops, store())
    expect(j!.legs.map((l) => [l.link, l.forth])).toEqual([[1, false], [0, true], [2, true]])
    expect(j!.end).toBe('delivered')
  }
})

it('puts hops into order and keeps packets apart', () => {
  const got = journeys([hop('s1', 3, { in: 0, out: 1 }), hop('s0', 2, { in: 1, out: 0 }), { ...hop('s0', 2, { in: 1, out: 0 }), seq: 8 }], store())
  expect(got.map((j) => j.legs.length)).toEqual([3, 2])
})

it('does not go on after a switch that discards, nor count what leaves late twice', () => {
  const [j] = journeys([hop('s0', 1, { in: 1, out: 0 }), hop('s0', 2, { out: 0, left: true }), hop('s1', 3, { in: 0, out: 1, end: 'discarded' })], store())
  expect(j!.legs.map((l) => l.link)).toEqual([1, 0])
  expect(j!.end).toBe('discarded')
})
