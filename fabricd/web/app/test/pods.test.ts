import { describe, expect, it } from 'vitest'
import type { Frame, Topology } from '../src/net/types'
import { scene } from '../src/state/pods'
import { Store } from '../src/state/store'
import { made } from './made'

// Two pods of two switches and a NIC each, below a pod of two: every lower switch has a link to each of the upper ones.
const topology: Topology = {
  spec: 'tree', kind: 'file', layout: { kind: 'tree', width: 4, height: 3 },
  switches: [
    { id: 't0', ports: 4, tier: 0, x: 1, y: 0 }, { id: 't1', ports: 4, tier: 0, x: 2, y: 0 },
    { id: 'a0', ports: 4, tier: 1, x: 0, y: 1 }, { id: 'a1', ports: 4, tier: 1, x: 1, y: 1 },
    { id: 'b0', ports: 4, tier: 1, x: 2, y: 1 }, { id: 'b1', ports: 4, tier: 1, x: 3, y: 1 },
  ],
  nics: [{ id: 'n0', switch: 'a0', switch_port: 3, x: 0, y: 2 }, { id: 'n1', switch: 'b1', switch_port: 3, x: 3, y: 2 }],
  links: [
    ...['a0', 'a1', 'b0', 'b1'].flatMap((b) => ['t0', 't1'].map((a) => ({ id: `${a}-${b}`, a, a_port: 0, b, b_port: 0 }))),
    { id: 'a0-a1', a: 'a0', a_port: 2, b: 'a1', b_port: 2 },
    { id: 'a0-n0', a: 'a0', a_port: 3, b: 'n0', b_port: 0 },
    { id: 'b1-n1', a: 'b1', a_port: 3, b: 'n1', b_port: 0 },
  ],
  pods: [
    { id: 'pod0', switches: ['a0', 'a1'], nics: 1, links: 2 }, { id: 'pod1', switches: ['b0', 'b1'], nics: 1, links: 1 },
    { id: 'top0', switches: ['t0', 't1'], nics: 0, links: 0 },
  ],
  bundles: [{ id: 'pod0-top0', a: 'pod0', b: 'top0', links: 4 }, { id: 'pod1-top0', a: 'pod1', b: 'top0', links: 4 }],
}

const names = (list: { id: string }[]) => list.map((n) => n.id)

function snapshot(rest: Partial<Frame> = {}): Frame {
  return made<Frame>({
    seq: 1, kind: 'snapshot', run: 'r', at: 1,
    pods: [{ i: 0, links_up: 2 }, { i: 1, links_up: 1, faults: 2, down: 1 }, { i: 2, held: 7 }],
    bundles: [{ i: 0, links_up: 3, faults: 1, rate_ab: 5, load_ba: 0.5 }, { i: 1, faults: 4 }], ...rest,
  })
}

describe('a fabric with pods', () => {
  it('is drawn as its pods and the links between them', () => {
    const t = scene(topology, new Set()).topology
    expect(names(t.switches)).toEqual(['pod0', 'pod1', 'top0'])
    expect(names(t.links)).toEqual(['pod0-top0', 'pod1-top0'])
    expect(t.nics).toEqual([])
    expect(t.switches[0]!.x!).toBeLessThan(t.switches[1]!.x!)
  })

  it('shows what is in an open pod, its links to each closed one as one', () => {
    const t = scene(topology, new Set(['pod0'])).topology
    expect(names(t.switches)).toEqual(['pod1', 'top0', 'a0', 'a1'])
    expect(names(t.nics)).toEqual(['n0'])
    expect(names(t.links)).toEqual(['pod1-top0', 'top0-a0', 'top0-a1', 'a0-a1', 'a0-n0'])
    expect(t.links[1]!.links).toBe(2)
  })

  it('is drawn as ever when all is open, and when it has no pods', () => {
    const t = scene(topology, new Set(['pod0', 'pod1', 'top0'])).topology
    expect(names(t.links)).toEqual(names(topology.links))
    expect(names(t.switches)).toEqual(names(topology.switches))
    const { pods: _, bundles: __, ...plain } = topology
    expect(scene(plain, new Set()).topology).toBe(plain)
  })

  it('gives an open pod the room', () => {
    const wide = (open: string[]) => {
      const t = scene(topology, new Set(open)).topology
      const at = (id: string) => t.switches.find((s) => s.id === id)!.x!
      return [at('a0') < at('a1'), at('a1') < at('pod1')]
    }
    expect(wide(['pod0'])).toEqual([true, true])
  })

  it('takes what it is told in sum', () => {
    const s = new Store()
    s.setTopology(topology)
    s.apply(snapshot())
    expect(s.switches[1]!.state).toBe('up') // one of two is down
    expect(s.switches[2]!.held).toBe(7)
    expect(s.links[0]).toMatchObject({ state: 'up', up: 3, total: 4, faults: 1, rate_ab: 5, load_ba: 0.5, suffers_ab: '1 of 4 links not well' })
    expect(s.links[1]).toMatchObject({ state: 'cut', cut_ab: 'signalled' })
    expect(s.pod('pod1')!.view.faults).toBe(2)
    expect([s.standsForMany('pod0'), s.standsForMany('pod0-top0')]).toEqual([true, true])
    expect(s.podsOf('a0')).toEqual(['pod0'])
    expect(s.podsOf('n1')).toEqual(['pod1'])
    expect(s.podsOf('t1-b0')).toEqual(['top0', 'pod1'])
  })

  it('adds up the links from an open switch to a closed pod', () => {
    const s = new Store()
    s.setTopology(topology)
    s.setOpen(['pod0', 'nowhere'])
    expect([...s.open]).toEqual(['pod0'])
    s.apply(snapshot({
      links: [
        { i: 0, state: 'up', a_up: true, b_up: true, rate_ab: 10, load_ab: 0.2 }, { i: 1, state: 'cut', cut_ab: 'signalled', cut_ba: 'signalled', rate_ba: 3 },
        { i: 8, state: 'down' },
      ],
      switches: [{ i: 2, state: 'down' }],
    }))
    const at = (id: string) => s.links[s.link(id)!]!
    expect(at('top0-a0')).toMatchObject({ total: 2, up: 1, faults: 1, rate_ab: 10, rate_ba: 3, load_ab: 0.1 })
    expect(at('a0-a1').state).toBe('down')
    expect(s.switches[s.switchOf('a0')!]!.state).toBe('down')
    expect(s.apply(made<Frame>({ seq: 2, kind: 'delta', run: 'r', at: 2, links: [{ i: 1, state: 'up', a_up: true, b_up: true }], deadlock: [{ link: 8, dir: 'ab' }, { link: 7, dir: 'ab' }] }))).toBe('delta')
    expect(at('top0-a0')).toMatchObject({ up: 2, faults: 0 })
    expect(s.deadlock).toEqual([{ link: s.link('a0-a1'), dir: 'ab' }])
    expect(s.podsOf('a0')).toEqual([])
    expect([s.standsForMany('top0-a0'), s.standsForMany('a0-a1'), s.standsForMany('a0')]).toEqual([true, false, false])
  })
})
