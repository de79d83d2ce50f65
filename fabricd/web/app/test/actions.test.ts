import { beforeEach, expect, it } from 'vitest'
import type { Client } from '../src/net/client'
import type { Frame, LinkView, Topology } from '../src/net/types'
import { Actions } from '../src/state/actions'
import { Store } from '../src/state/store'
import type { Ui } from '../src/state/ui'
import { made } from './made'

const topology = made<Topology>({
  spec: '', kind: 'ring', switches: [{ id: 's0', ports: 1 }, { id: 's1', ports: 1 }], nics: [],
  links: [{ id: 's0-s1', a: 's0', a_port: 0, b: 's1', b_port: 0 }, { id: 's1-s2', a: 's1', a_port: 1, b: 's2', b_port: 0 }],
})

let store: Store
let actions: Actions
let asked: { path: string; body: unknown; answer: (ok: boolean, changed?: boolean) => void }[]
let said: string[]
let seq: number

// frames tells what became of the link, as two frames of the stream, the first of which may be of before an order.
async function frames(link: Partial<LinkView> = {}): Promise<void> {
  for (let i = 0; i < 2; i++) store.apply(made<Frame>({ seq: ++seq, kind: 'delta', run: 'r1', at: seq, links: [{ i: 0, state: 'up', ...link }] }))
  await settled()
}

// settled lets everything run that waits for nothing.
const settled = () => new Promise((resolve) => setTimeout(resolve, 0))

beforeEach(() => {
  store = new Store()
  store.setTopology(topology)
  seq = 1
  store.apply(made<Frame>({ seq, kind: 'snapshot', run: 'r1', at: 1 }))
  asked = []
  said = []
  const client = {
    post: (path: string, body: unknown) => new Promise<object>((resolve, reject) => {
      asked.push({ path, body, answer: (ok, changed = true) => (ok ? resolve({ changed }) : reject(new Error('no'))) })
    }),
  }
  const ui = { say: (text: string) => said.push(text), changed: () => {} }
  actions = new Actions(client as unknown as Client, store, ui as unknown as Ui)
})

it('has orders wait for one another, so that undo takes back the last of them', async () => {
  void actions.cut('s0-s1')
  void actions.restore('s0-s1')
  void actions.undo()
  await settled()
  expect(asked.map((a) => a.path)).toEqual(['links/s0-s1/cut'])
  asked[0]!.answer(true)
  await settled()
  await frames({ state: 'cut', cut_ab: 'signalled', cut_ba: 'signalled' })
  expect(asked).toHaveLength(2)
  asked[1]!.answer(true)
  await settled()
  await frames()
  expect(asked[2]).toMatchObject({ path: 'apply', body: { specs: [{ do: 'restore', a: 's0-s1' }, { do: 'cut', a: 's0-s1' }] } })
})

it('takes back nothing for an order that changed nothing', async () => {
  void actions.cut('s0-s1', { silent: true })
  await settled()
  asked[0]!.answer(true, false)
  await settled()
  expect(said).toEqual(['s0-s1 is cut already'])
  expect(actions.deeds).toEqual([])
})

it('cuts several links quickly, not waiting for the stream', async () => {
  void actions.cut('s0-s1')
  void actions.cut('s1-s2')
  await settled()
  expect(asked).toHaveLength(1)
  asked[0]!.answer(true)
  await settled()
  expect(asked.map((a) => a.path)).toEqual(['links/s0-s1/cut', 'links/s1-s2/cut'])
})

it('cuts and restores by two clicks, however quick they are', async () => {
  void actions.toggle({ kind: 'link', id: 's0-s1' })
  void actions.toggle({ kind: 'link', id: 's0-s1' })
  await settled()
  asked[0]!.answer(true)
  await settled()
  expect(asked).toHaveLength(1) // what the first has made of the link is not known yet
  await frames({ state: 'cut', cut_ab: 'signalled', cut_ba: 'signalled' })
  expect(asked.map((a) => a.path)).toEqual(['links/s0-s1/cut', 'links/s0-s1/restore'])
})

it('goes on after an order that is refused, of which there is nothing to undo', async () => {
  void actions.cut('s0-s1')
  void actions.restore('s0-s1')
  await settled()
  asked[0]!.answer(false)
  await settled()
  await frames()
  expect(asked).toHaveLength(2)
  expect(actions.deeds).toEqual([])
  expect(said[0]).toContain('no')
})

it('takes back a heal by doing again what was wrong, and nothing in another run', async () => {
  store.apply(made<Frame>({ seq: ++seq, kind: 'delta', run: 'r1', at: 2, links: [{ i: 0, state: 'cut', cut_ab: 'silent' }], switches: [{ i: 1, state: 'down' }] }))
  void actions.heal()
  await settled()
  asked[0]!.answer(true)
  await settled()
  expect(actions.deeds[0]!.back).toEqual([{ do: 'cut', a: 's0-s1', direction: 'to', silent: true }, { do: 'crash', a: 's1' }])
  store.apply(made<Frame>({ seq: 1, kind: 'snapshot', run: 'r2', at: 1 }))
  store.apply(made<Frame>({ seq: 2, kind: 'delta', run: 'r2', at: 2 }))
  await settled()
  await actions.undo()
  expect(asked).toHaveLength(1)
  expect(said.at(-1)).toContain('anew')
})
