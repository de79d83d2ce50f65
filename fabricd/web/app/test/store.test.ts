import { describe, expect, it } from 'vitest'
import type { FaultReport, Frame, Topology } from '../src/net/types'
import { Store, type Change } from '../src/state/store'
import { made } from './made'

const topology = made<Topology>({
  spec: 'ring:3', kind: 'ring',
  switches: [{ id: 's0', ports: 3 }, { id: 's1', ports: 3 }, { id: 's2', ports: 3 }],
  nics: [{ id: 'n0', switch: 's0', switch_port: 2 }],
  links: [
    { id: 's0-s1', a: 's0', a_port: 1, b: 's1', b_port: 0 },
    { id: 's1-s2', a: 's1', a_port: 1, b: 's2', b_port: 0 },
    { id: 's0-s2', a: 's0', a_port: 0, b: 's2', b_port: 1 },
    { id: 's0-n0', a: 's0', a_port: 2, b: 'n0', b_port: 0 },
  ],
})

function frame(seq: number, rest: Partial<Frame> = {}): Frame {
  return made<Frame>({ seq, kind: 'delta', run: 'r1', at: seq / 4, ...rest })
}

function started(): Store {
  const s = new Store()
  s.setTopology(topology)
  s.apply(frame(5, { kind: 'snapshot', links: [{ i: 1, state: 'cut', cut_ab: 'silent', cut_ba: 'silent', a_up: true, b_up: true }] }))
  return s
}

describe('the store', () => {
  it('takes what a snapshot does not name for well', () => {
    const s = started()
    expect(s.links.map((l) => l.state)).toEqual(['up', 'cut', 'up', 'up'])
    expect(s.links[1]!.cut_ab).toBe('silent')
    expect(s.switches.every((x) => x.state === 'up')).toBe(true)
  })

  it('replaces a link that a delta names and leaves the others', () => {
    const s = started()
    expect(s.apply(frame(6, { links: [{ i: 0, state: 'up', a_up: true, b_up: true, rate_ab: 10 }] }))).toBe('delta')
    expect(s.apply(frame(7, { links: [{ i: 1, state: 'up', a_up: true, b_up: true }] }))).toBe('delta')
    expect(s.links[0]!.rate_ab).toBe(10)
    expect(s.links[1]).toEqual({ i: 1, state: 'up', a_up: true, b_up: true }) // members left out are zero, not as before
    expect(s.seq).toBe(7)
  })

  it('refuses a delta after a gap, and all deltas until a snapshot comes', () => {
    const s = started()
    expect(s.apply(frame(7, { links: [{ i: 0, state: 'down' }] }))).toBe('gap')
    expect(s.links[0]!.state).toBe('up')
    expect(s.seq).toBe(5)
    expect(s.apply(frame(9, { kind: 'snapshot' }))).toBe('snapshot')
    expect(s.links[1]!.state).toBe('up')
  })

  it('refuses deltas before the first snapshot', () => {
    const s = new Store()
    s.setTopology(topology)
    expect(s.apply(frame(1))).toBe('gap')
  })

  it('passes over a frame that it has already', () => {
    const s = started()
    expect(s.apply(frame(5, { links: [{ i: 0, state: 'down' }] }))).toBe('old')
    expect(s.links[0]!.state).toBe('up')
  })

  it('begins anew with the snapshot of another run, and keeps no figures of the one before', () => {
    const s = started()
    s.apply(frame(6, { history: [{ at: 1 }], faults: [report(1)], events: [{ seq: 1, at: 1, kind: 'cut' }] }))
    expect(s.history.data.at).toEqual([1])
    expect(s.apply(frame(1, { run: 'r2' }))).toBe('gap')
    expect(s.apply(frame(1, { run: 'r2', kind: 'snapshot', history: [{ at: 0.25, delivered_per_second: 7 }] }))).toBe('snapshot')
    expect(s.run).toBe('r2')
    expect(s.history.data.delivered).toEqual([7])
    expect(s.faults.size).toBe(0)
    expect(s.events).toEqual([])
    expect(s.links[1]!.state).toBe('up')
    expect(s.apply(frame(2, { run: 'r2' }))).toBe('delta')
  })

  it('keeps the newest form of a fault report', () => {
    const s = started()
    s.apply(frame(6, { faults: [report(1), report(2)] }))
    s.apply(frame(7, { faults: [{ ...report(1), rerouted: 9, restored_at: 3, open: false }] }))
    expect(s.faults.get(1)!.rerouted).toBe(9)
    expect(s.faultsInForce('s0-s1').map((r) => r.id)).toEqual([2])
  })

  it('forgets a deadlock that a frame does not tell of', () => {
    const s = started()
    s.apply(frame(6, { deadlock: [{ link: 0, dir: 'ab', vc: 0 }] }))
    expect(s.deadlock).toHaveLength(1)
    s.apply(frame(7))
    expect(s.deadlock).toEqual([])
  })

  it('tells what a frame changed', () => {
    const s = started()
    const seen: Change[] = []
    const end = s.subscribe((c) => seen.push(c))
    s.apply(frame(6, { links: [{ i: 2, state: 'init' }], switches: [{ i: 1, state: 'down' }] }))
    end()
    s.apply(frame(7))
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatchObject({ all: false, links: [2], switches: [1] })
  })

  it('tells a change of state from one of figures alone', () => {
    const s = started()
    let state: boolean | null = null
    s.subscribe((c) => (state = c.state))
    const changes = (seq: number, of: Partial<Frame>) => {
      s.apply(frame(seq, of))
      return state
    }
    const up = { state: 'up', a_up: true, b_up: true } as const
    expect(changes(6, { links: [{ i: 2, ...up, load_ab: 0.5 }], switches: [{ i: 1, state: 'up', held: 3 }] })).toBe(false)
    expect(changes(7, { links: [{ i: 2, ...up, cut_ab: 'silent' }] })).toBe(true)
    expect(changes(8, { links: [{ i: 2, ...up, cut_ab: 'silent', load_ab: 0.1 }] })).toBe(false)
    expect(changes(9, { switches: [{ i: 1, state: 'suspect' }] })).toBe(true)
    expect(changes(10, { deadlock: [{ link: 0, dir: 'ab', vc: 0 }] })).toBe(true)
    expect(changes(11, { deadlock: [{ link: 0, dir: 'ab', vc: 0 }] })).toBe(false)
    expect(changes(12, {})).toBe(true)
    expect(changes(13, { events: [{ seq: 1, at: 1, kind: 'cut' }] })).toBe(true)
  })

  it('tells which switches run another firmware than the fabric\'s, and whether all run the same', () => {
    const s = started()
    const told: boolean[] = []
    s.subscribe((c) => told.push(c.state))
    const runs = (seq: number, routings: string[], switches: NonNullable<Frame['switches']>) => {
      s.apply(frame(seq, { switches, routings }))
      return s.firmwares()
    }
    expect(s.firmwares()).toEqual({ runs: [3], mixed: false })
    expect(runs(6, ['b'], [{ i: 1, state: 'up', routing: 1 }])).toEqual({ runs: [2, 1], mixed: true })
    expect(runs(7, ['b'], [{ i: 0, state: 'up', routing: 1 }, { i: 2, state: 'up', routing: 1 }])).toEqual({ runs: [0, 3], mixed: false })
    expect(runs(8, ['a', 'b'], [{ i: 1, state: 'up', routing: 2 }, { i: 2, state: 'up', routing: 2 }])).toEqual({ runs: [0, 1, 2], mixed: true })
    runs(9, ['a', 'b'], [{ i: 0, state: 'up', routing: 1, held: 3 }])
    expect(told).toEqual([true, true, true, false])
  })

  it('ignores links that the topology does not have', () => {
    const s = started()
    s.apply(frame(6, { links: [{ i: 99, state: 'cut' }] }))
    expect(s.links).toHaveLength(4)
  })

  it('finds the link at a port', () => {
    const s = started()
    expect(s.linkAt('s2', 1)).toBe(2)
    expect(s.linkAt('n0', 0)).toBe(3)
    expect(s.linkAt('s2', 7)).toBeUndefined()
    expect(s.linksAt('s0')).toEqual([0, 2, 3])
  })

  it('bounds the events it keeps', () => {
    const s = started()
    for (let i = 6; i < 30; i++) {
      s.apply(frame(i, { events: Array.from({ length: 50 }, (_, k) => ({ seq: i * 50 + k, at: i, kind: 'cut' })) }))
    }
    expect(s.events).toHaveLength(400)
    expect(s.events.at(-1)!.seq).toBe(29 * 50 + 49)
  })
})

describe('the history', () => {
  it('is that of the fabric, with zeros for what is left out, and goes on with each frame', () => {
    const s = started()
    s.apply(frame(9, { kind: 'snapshot', history: [{ at: 1, delivered_per_second: 50 }, { at: 2, lost_per_second: 4 }] }))
    s.apply(frame(10, { history: [{ at: 3, p99_us: 7 }] }))
    s.apply(frame(11))
    const { at, delivered, lost, p99 } = s.history.data
    expect([at, delivered, lost, p99]).toEqual([[1, 2, 3], [50, 0, 0], [0, 4, 0], [0, 0, 7]])
  })

  it('holds ten minutes, and what a snapshot says of them', () => {
    const s = started()
    s.apply(frame(9, { kind: 'snapshot', history: Array.from({ length: 603 }, (_, at) => ({ at })) }))
    expect(s.history.data.at).toHaveLength(600)
    expect(s.history.data.at.at(-1)).toBe(602)
    s.apply(frame(20, { kind: 'snapshot', history: [{ at: 603 }] }))
    expect(s.history.data.at).toEqual([603])
  })
})

function report(id: number): FaultReport {
  return made<FaultReport>({
    id, kind: 'cut', target: 's0-s1', what: 'cut s0-s1', at: 1, open: true, lost_wire: 0, lost_queued: 0, lost_crash: 0,
    rerouted: 0, requeued: 0, discarded: 0, reordered: 0, duplicated: 0,
  })
}
