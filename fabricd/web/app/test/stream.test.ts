import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Client } from '../src/net/client'
import { Stream } from '../src/net/stream'
import type { Frame, Topology } from '../src/net/types'
import { Store } from '../src/state/store'
import { made } from './made'

const ring = (n: number): Topology => made<Topology>({
  spec: `ring:${n}`, kind: 'ring', switches: Array.from({ length: n }, (_, i) => ({ id: `s${i}`, ports: 2 })), nics: [], links: [],
})

// Source stands for the browser's EventSource: the test says what comes.
class Source {
  static all: Source[] = []
  static get last(): Source { return Source.all.at(-1)! }
  closed = false
  private readonly on = new Map<string, (e: unknown) => void>()

  constructor() { Source.all.push(this) }
  addEventListener(kind: string, f: (e: unknown) => void): void { this.on.set(kind, f) }
  close(): void { this.closed = true }
  send(f: Partial<Frame>): void { this.on.get('frame')!({ data: JSON.stringify({ at: 1, kind: 'delta', run: 'r1', ...f }) }) }
  fail(): void { this.on.get('error')!({}) }
}

let store: Store
let stream: Stream
let size = 3
let topologies = 0
const runs: string[] = []
let opening: Promise<void> | null = null

beforeEach(async () => {
  vi.useFakeTimers()
  vi.stubGlobal('EventSource', Source)
  vi.stubGlobal('window', globalThis)
  Source.all = []
  runs.length = 0
  opening = null
  size = 3
  topologies = 0
  store = new Store()
  const client = {
    topology: () => {
      topologies++
      return Promise.resolve(ring(size))
    },
    setRun: (r: string) => runs.push(r),
    open: () => opening,
    forget: () => { opening = null },
  }
  stream = new Stream(store, client as unknown as Client, () => {})
  stream.start()
  await vi.advanceTimersByTimeAsync(0)
})

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

it('is live with the first snapshot, and knows the run', () => {
  expect(stream.connection).toBe('connecting')
  Source.last.send({ kind: 'snapshot', seq: 4 })
  expect(stream.connection).toBe('live')
  expect(runs).toEqual(['r1'])
})

it('keeps frames that come before the topology', async () => {
  Source.all = []
  const early = new Store()
  const s = new Stream(early, { topology: () => Promise.resolve(ring(5)), setRun: () => {}, open: () => null } as unknown as Client, () => {})
  s.start()
  Source.last.send({ kind: 'snapshot', seq: 4 })
  Source.last.send({ seq: 5 })
  await vi.advanceTimersByTimeAsync(0)
  expect(early.switches).toHaveLength(5)
  expect(early.seq).toBe(5)
})

it('begins anew after a gap, with the topology it has', async () => {
  Source.last.send({ kind: 'snapshot', seq: 4 })
  const first = Source.last
  first.send({ seq: 6 })
  expect(first.closed).toBe(true)
  await vi.advanceTimersByTimeAsync(300)
  expect(Source.last).not.toBe(first)
  expect(topologies).toBe(1)
  Source.last.send({ kind: 'snapshot', seq: 9 })
  expect(store.seq).toBe(9)
})

it('says that fabricd is away, and goes on with another run of another shape', async () => {
  Source.last.send({ kind: 'snapshot', seq: 4 })
  Source.last.fail()
  expect(stream.connection).toBe('away')
  size = 8
  await vi.advanceTimersByTimeAsync(1000)
  Source.last.send({ kind: 'snapshot', run: 'r2', seq: 1 })
  await vi.advanceTimersByTimeAsync(0)
  expect(topologies).toBe(2)
  Source.last.send({ kind: 'snapshot', run: 'r2', seq: 2 })
  expect(store.switches).toHaveLength(8)
  expect(stream.connection).toBe('live')
  expect(runs.at(-1)).toBe('r2')
})

it('takes a fabricd that says nothing for away, and tries ever again', async () => {
  Source.last.send({ kind: 'snapshot', seq: 4 })
  await vi.advanceTimersByTimeAsync(5100)
  expect(stream.connection).toBe('away')
  const tried = Source.all.length
  await vi.advanceTimersByTimeAsync(30_000)
  expect(Source.all.length).toBeGreaterThan(tried + 2)
})

it('does not listen to a source that it has closed', () => {
  Source.last.send({ kind: 'snapshot', seq: 4 })
  const old = Source.last
  old.fail()
  old.send({ seq: 5 })
  expect(store.seq).toBe(4)
})

it('gives its connection back while nobody sees the page', async () => {
  Source.last.send({ kind: 'snapshot', seq: 1 })
  stream.show(false)
  expect(Source.last.closed).toBe(true)
  const before = Source.all.length
  await vi.advanceTimersByTimeAsync(60_000)
  expect(Source.all.length).toBe(before)
  expect(stream.connection).toBe('live')
  stream.show(true)
  expect(Source.all.length).toBe(before + 1)
  Source.last.send({ kind: 'snapshot', seq: 9 })
  expect(store.seq).toBe(9)
})

it('takes a cookie for its token before it asks for the stream', async () => {
  stream.show(false)
  Source.all = []
  let taken = () => {}
  opening = new Promise((done) => { taken = done })
  stream.show(true)
  await vi.advanceTimersByTimeAsync(0)
  expect(Source.all).toHaveLength(0)
  taken()
  await vi.advanceTimersByTimeAsync(0)
  expect(Source.all).toHaveLength(1)
})
