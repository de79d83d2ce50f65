import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Client } from '../src/net/client'
import type { Frame, Hop, ProgramRate, Programs, Topology } from '../src/net/types'
import { ProgramWatch, rateLine, silence } from '../src/state/programs'
import { Store } from '../src/state/store'
import type { Ui } from '../src/state/ui'
import { bytes } from '../src/ui/format'
import { made } from './made'

// rate is one whose program goes by a clock that is so many times as fast as the fabric's.
function rate(ended: boolean, silent: number, list: [number, number][], factor = 1): ProgramRate {
  const points = list.map(([at, value], i) => ({ at, value, after_seconds: i === 0 ? 0 : factor * (at - list[i - 1]![0]) }))
  return { nic: 'n0', program: 'p', unit: 'steps/s', ended, points, silent_seconds: silent }
}

describe('the line of a rate', () => {
  it('is as the program says while it goes on', () => {
    expect(rateLine(rate(false, 1, [[1, 5], [2, 6], [3, 7]]), 4)).toEqual([[1, 2, 3], [5, 6, 7]])
  })

  it('is at nought while it said nothing for long', () => {
    expect(rateLine(rate(false, 0.5, [[1, 5], [2, 6], [6, 1], [7, 9]]), 7.5)).toEqual([[1, 2, 3, 5.96, 6, 7], [5, 6, 0, 0, 1, 9]])
    expect(rateLine(rate(false, 7, [[1, 5], [2, 6]]), 9)).toEqual([[1, 2, 3, 8.93], [5, 6, 0, 0]])
  })

  it('goes by the clock that the program has', () => {
    const slow = rate(false, 1, [[1, 5], [1.1, 6], [2.1, 7]], 10) // the fabric went slower at first
    slow.points[2]!.after_seconds = 1
    expect(rateLine(slow, 3)).toEqual([[1, 1.1, 2.1], [5, 6, 7]])
  })

  it('ends with the program', () => {
    expect(rateLine(rate(true, 58, [[1, 5], [2, 6]]), 60)).toEqual([[1, 2], [5, 6]])
    expect(rateLine(rate(false, 0, []), 60)).toEqual([[], []])
  })

  it('says for how long there is silence', () => {
    expect(silence(rate(false, 1.5, [[1, 5], [2, 6]]))).toBe(0)
    expect(silence(rate(false, 3, [[1, 5], [2, 6]]))).toBe(3)
    expect(silence(rate(true, 50, [[1, 5], [2, 6]]))).toBe(0)
  })
})

it('writes bytes with their unit', () => {
  expect([0, 12, 1200, 1.5e6, 2e9].map(bytes)).toEqual(['0 B', '12 B', '1.2 kB', '1.5 MB', '2 GB'])
})

describe('the connection that is chosen', () => {
  const topology = made<Topology>({
    spec: 'x', kind: 'mesh',
    switches: [{ id: 's0', ports: 2 }],
    nics: [{ id: 'n0', switch: 's0', switch_port: 0 }, { id: 'n1', switch: 's0', switch_port: 1 }],
    links: [{ id: 's0-n0', a: 's0', a_port: 0, b: 'n0', b_port: 0 }, { id: 's0-n1', a: 's0', a_port: 1, b: 'n1', b_port: 0 }],
  })
  const now = made<Programs>({
    at: 1, nics: [{ nic: 'n0' }], rates: [],
    connections: [{ ended: false, a: { nic: 'n0', address: 'a:1' }, b: { nic: 'n1', address: 'b:2' } }],
  })
  const hop = (seq: number, node: string, at: number, rest: Partial<Hop> = {}): Hop => made<Hop>({ src: 'n0', dst: 'n1', seq, node, at, ...rest })
  const told = (hops: Hop[]) => made<Frame>({ kind: 'snapshot', run: 'r', seq: 1, at: 1, hops })

  beforeEach(() => {
    vi.useFakeTimers()
    vi.stubGlobal('window', globalThis)
    vi.stubGlobal('document', { hidden: false })
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.unstubAllGlobals()
  })

  function watching() {
    const store = new Store()
    store.setTopology(topology)
    const asked: string[] = []
    const client = made<Client>({
      mayAct: true,
      programs: () => Promise.resolve(now),
      trace: (src: string, dst: string) => {
        asked.push(`${src}>${dst}`)
        return Promise.resolve()
      },
    })
    const w = new ProgramWatch(client, store, made<Ui>({ tab: 'fabric', changed: () => undefined }), () => undefined)
    store.apply(told([]))
    return { w, store, asked }
  }

  it('has packets traced both ways, and the links lit that they take', async () => {
    const { w, store, asked } = watching()
    w.follow(() => true)
    await vi.advanceTimersByTimeAsync(1)
    w.choose(w.now.connections[0]!)
    expect(asked).toEqual(['n0>n1', 'n1>n0'])
    await vi.advanceTimersByTimeAsync(1600)
    expect(asked).toHaveLength(4)
    expect([...w.lit]).toEqual([])
    store.apply({ ...told([hop(1, 's0', 1, { in: 0, out: 1 }), hop(1, 'n1', 2, { in: 0, end: 'delivered' })]), kind: 'delta', seq: 2 })
    expect([...w.lit].sort()).toEqual([0, 1])
    expect(w.ways('n0', 'n1')).toEqual([{ nodes: ['n0', 's0', 'n1'], packets: 1, end: 'delivered' }])
    // Those of others stay dark.
    store.apply({ ...told([{ ...hop(2, 's0', 3, { in: 0, out: 0 }), src: 'n7' }]), kind: 'delta', seq: 3 })
    expect(w.ways('n7', 'n1')).toEqual([])
    w.choose(null)
    expect([...w.lit]).toEqual([])
    await vi.advanceTimersByTimeAsync(5000)
    expect(asked).toHaveLength(4)
  })

  it('tells of a path in the order of its links, whatever the clocks of hosts say', () => {
    const { w, store } = watching()
    w.choose(now.connections[0]!)
    store.apply({ ...told([hop(1, 's0', 1, { in: 0, out: 1 }), hop(1, 'n0', 1.5, { out: 0, left: true }), hop(1, 'n1', 2, { in: 0, end: 'delivered' })]), kind: 'delta', seq: 2 })
    expect(w.ways('n0', 'n1')).toEqual([{ nodes: ['n0', 's0', 'n1'], packets: 1, end: 'delivered' }])
    w.forget()
  })

  it('keeps the paths of the latest packets alone', () => {
    const { w, store } = watching()
    w.choose(now.connections[0]!)
    for (let seq = 1; seq <= 20; seq++) {
      store.apply({ ...told([hop(seq, 's0', seq, { in: 0, out: 1 }), hop(seq, 'n1', seq + 0.5, { in: 0, end: 'delivered' })]), kind: 'delta', seq: seq + 1 })
    }
    expect(w.ways('n0', 'n1')).toEqual([{ nodes: ['n0', 's0', 'n1'], packets: 6, end: 'delivered' }])
    w.forget()
  })
})
