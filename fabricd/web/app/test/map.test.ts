import { expect, it } from 'vitest'
import { along, place, roomForNics } from '../src/map/geometry'
import { next, nextLink } from '../src/map/neighbours'
import type { Topology } from '../src/net/types'
import { Store } from '../src/state/store'

// A tree of two tiers, as wide as its lower switches and with so many NICs below each.
function tree(width: number, nicsEach: number): Topology {
  const low = Array.from({ length: width }, (_, i) => ({ id: `s1.${i}`, ports: 2, tier: 1, x: i + 0.5, y: 1.5 }))
  const nics = low.flatMap((s, i) => Array.from({ length: nicsEach }, (_, k) => ({
    id: `n${i}.${k}`, switch: s.id, switch_port: k, x: i + (k + 0.5) / nicsEach, y: 2,
  })))
  return {
    spec: '', kind: 'tree', layout: { kind: 'tree', width, height: 3 },
    switches: [{ id: 's0', ports: width, tier: 0, x: width / 2, y: 0.5 }, ...low], nics,
    links: low.map((s, i) => ({ id: `s0-${s.id}`, a: 's0', a_port: i, b: s.id, b_port: 0 })),
  }
}

it('stretches a tree to the shape of the window, with y upwards', () => {
  const g = place(tree(20, 1), 800, 400)
  const width = g.box.x[1] - g.box.x[0]
  expect(width / (g.box.y[1] - g.box.y[0])).toBeCloseTo(2)
  expect(g.nodes.get('s0')!.y).toBeGreaterThan(g.nodes.get('s1.0')!.y)
})

it('fills the window with the switches alone where the NICs have no room', () => {
  const few = place(tree(20, 2), 800, 400)
  const many = place(tree(20, 40), 800, 400)
  const room = (few.box.y[1] - few.box.y[0]) * (36 / 400) // for names
  expect(few.box.y[0]).toBeCloseTo(few.nodes.get('n0.0')!.y - room)
  expect(many.box.y[0]).toBeGreaterThan(many.nodes.get('n0.0')!.y)
  expect(roomForNics(many, 40)).toBe(false)
  expect(roomForNics(many, 40 * 8)).toBe(true)
})

it('leaves the shape of everything else as fabricd gives it', () => {
  const t = tree(4, 0)
  t.layout = { kind: 'grid', width: 4, height: 3 }
  const g = place(t, 1000, 100)
  expect(g.nodes.get('s1.0')).toEqual({ x: 0.5, y: -1.5 })
  expect(g.spacing).toBeCloseTo(1)
})

it('bends a link to the side that fabricd says', () => {
  const t = tree(4, 0)
  t.layout = { kind: 'grid', width: 4, height: 3 }
  t.switches = [{ id: 'a', ports: 1, x: 0, y: 0 }, { id: 'b', ports: 1, x: 4, y: 0 }]
  t.links = [{ id: 'a-b', a: 'a', a_port: 0, b: 'b', b_port: 0, bend: 1 }]
  const g = place(t, 100, 100)
  // bend (dy, -dx) / length beside the straight way, with y downwards: above it.
  expect(along(g.nodes.get('a')!, g.nodes.get('b')!, g.bends[0]!, 0.5)).toEqual({ x: 2, y: 1 })
  expect(along(g.nodes.get('a')!, g.nodes.get('b')!, g.bends[0]!, 1)).toEqual({ x: 4, y: 0 })
  expect(along(g.nodes.get('a')!, g.nodes.get('b')!, g.bends[0]!, 0.075).y, 'half up its ramp').toBeCloseTo(0.75)
  expect(along(g.nodes.get('a')!, g.nodes.get('b')!, g.bends[0]!, 0.85)).toEqual({ x: 3.4, y: 1 })
  expect(along({ x: 0, y: 0 }, { x: 0, y: 4 }, { aside: 1 / 8, ramp: 0.5 }, 0.5)).toEqual({ x: -0.5, y: 2 })
  expect(g.box.y[1], 'what is seen at first has all of the curve').toBe(1)
})

it('draws switches of a tree so small that its flattest link runs above its neighbour', () => {
  for (const [width, height] of [[800, 400], [2000, 60]] as const) {
    const g = place(tree(40, 0), width, height)
    const top = g.nodes.get('s0')!
    const end = g.nodes.get('s1.39')!
    const beside = g.nodes.get('s1.38')!
    const rises = (along(top, end, g.bends[0]!, (beside.x + g.half - top.x) / (end.x - top.x)).y - end.y)
    expect(rises).toBeGreaterThan(g.half)
  }
})

it('bends links between pods around the pods between them', () => {
  const t = tree(5, 0)
  t.layout = { kind: 'grid', width: 5, height: 1 }
  t.switches = t.switches.slice(1).map((s) => ({ ...s, y: 0 }))
  t.links = [{ id: 'far', a: 's1.0', a_port: -1, b: 's1.4', b_port: -1 }, { id: 'near', a: 's1.0', a_port: -1, b: 's1.1', b_port: -1 }]
  t.pods = []
  const g = place(t, 100, 100)
  expect(g.bends[1]!.aside).toBeCloseTo(0)
  for (const at of [0.25, 0.5, 0.75]) {
    expect(Math.abs(along(g.nodes.get('s1.0')!, g.nodes.get('s1.4')!, g.bends[0]!, at).y)).toBeGreaterThan(0.3)
  }
})

it('goes to the switch that lies in the direction of the key', () => {
  const t = tree(5, 0)
  const store = new Store()
  store.setTopology(t)
  const g = place(t, 400, 800)
  const go = (id: string, dx: number, dy: number) => next(g, store, { kind: 'switch', id }, dx, dy)?.id
  expect(go('s1.1', 1, 0)).toBe('s1.2')
  expect(go('s1.1', -1, 0)).toBe('s1.0')
  expect(go('s1.2', 0, 1)).toBe('s0')
  expect(go('s1.4', 1, 0)).toBeUndefined()
  expect(go('s0', 1, 0)).toBeUndefined() // all others are more below it than beside it
})

it('goes around the links of a switch', () => {
  const t = tree(3, 0)
  const store = new Store()
  store.setTopology(t)
  let s = nextLink(store, { kind: 'switch', id: 's0' }, 's0', 1)
  const seen = [s!.id]
  for (let i = 0; i < 3; i++) {
    s = nextLink(store, s, 's0', 1)
    seen.push(s!.id)
  }
  expect(seen).toEqual(['s0-s1.0', 's0-s1.1', 's0-s1.2', 's0-s1.0'])
  expect(nextLink(store, { kind: 'link', id: 's0-s1.1' }, 's1.1', 1)!.id).toBe('s0-s1.1') // the only link of s1.1
})
