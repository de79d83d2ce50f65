// The mouse on the map: what is clicked and pointed at.

import type { Selection } from '../state/ui'
import type { Point } from './geometry'
import type { MapView } from './view'

export interface Pointing {
  select(s: Selection | null): void
  act(s: Selection): void // cut it, or restore it
  ask(at: Point, links: string[]): void // which of them to act on
  hover(s: Selection | null): void
}

type Click = Point & { original: MouseEvent | TouchEvent }

// A link is under the pointer when it passes so near, in pixels: as thick as links are.
const reach = 4

// under are the links at a place of the window, the nearest first.
function under(map: MapView, at: Point): string[] {
  const near = map.store.topology!.links.map((l, i) => ({ id: l.id, away: distance(map, i, at) })).filter((l) => l.away <= reach)
  return near.sort((a, b) => a.away - b.away).map((l) => l.id)
}

// distance is how far a place is from a link, whose curve is taken for a few straight pieces.
function distance(map: MapView, link: number, at: Point): number {
  const pieces = map.geometry.bends[link] ? 16 : 1
  let least = Infinity
  let a = map.screen(link, 0)
  for (let k = 1; k <= pieces; k++) {
    const b = map.screen(link, k / pieces)
    const [dx, dy] = [b.x - a.x, b.y - a.y]
    const t = Math.min(1, Math.max(0, ((at.x - a.x) * dx + (at.y - a.y) * dy) / (dx * dx + dy * dy || 1)))
    least = Math.min(least, Math.hypot(a.x + t * dx - at.x, a.y + t * dy - at.y))
    a = b
  }
  return least
}

export function listen(map: MapView, on: Pointing): void {
  const link = (edge: string): Selection => ({ kind: 'link', id: map.store.topology!.links[Number(edge)]!.id })
  const node = (id: string): Selection => ({ kind: map.store.nic(id) === undefined ? 'switch' : 'nic', id })
  // sigma takes any two quick clicks for a double click, wherever they are, and tells of the second as that alone.
  let last = ''
  const act = (link: Selection, e: Click) => {
    const links = under(map, e)
    if (links.length > 1) on.ask(e, links)
    else on.act(link)
  }
  const click = (at: Selection, e: Click) => {
    last = at.id
    if (at.kind === 'link' && (map.ui.scissors || e.original.shiftKey)) act(at, e)
    else on.select(at)
  }
  const again = (at: Selection, e: Click) => {
    const same = last === at.id && !map.ui.scissors && !e.original.shiftKey
    if (!same) click(at, e)
    else if (at.kind === 'link') act(at, e)
    else map.show(at)
  }
  map.sigma.on('clickEdge', ({ edge, event }) => click(link(edge), event))
  map.sigma.on('clickNode', ({ node: id, event }) => click(node(id), event))
  map.sigma.on('doubleClickEdge', ({ edge, event, preventSigmaDefault }) => {
    preventSigmaDefault()
    again(link(edge), event)
  })
  map.sigma.on('doubleClickNode', ({ node: id, event, preventSigmaDefault }) => {
    preventSigmaDefault()
    again(node(id), event)
  })
  map.sigma.on('clickStage', () => {
    last = ''
    on.select(null)
  })
  map.sigma.on('doubleClickStage', ({ preventSigmaDefault }) => {
    preventSigmaDefault()
    last = ''
    on.select(null)
  })
  map.sigma.on('enterEdge', ({ edge }) => on.hover(link(edge)))
  map.sigma.on('leaveEdge', () => on.hover(null))
  map.sigma.on('enterNode', ({ node: id }) => on.hover(node(id)))
  map.sigma.on('leaveNode', () => on.hover(null))
}
