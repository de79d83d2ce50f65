// The mouse on the map: what is clicked and pointed at.

import type { Selection } from '../state/ui'
import type { MapView } from './view'

export interface Pointing {
  select(s: Selection | null): void
  act(s: Selection): void // cut it, or restore it
  hover(s: Selection | null): void
}

export function listen(map: MapView, on: Pointing): void {
  const link = (edge: string): Selection => ({ kind: 'link', id: map.store.topology!.links[Number(edge)]!.id })
  const node = (id: string): Selection => ({ kind: map.store.nic(id) === undefined ? 'switch' : 'nic', id })
  // sigma takes any two quick clicks for a double click, wherever they are, and tells of the second as that alone.
  let last = ''
  const click = (at: Selection, shift: boolean) => {
    last = at.id
    if (at.kind === 'link' && (map.ui.scissors || shift)) on.act(at)
    else on.select(at)
  }
  const again = (at: Selection, shift: boolean) => {
    const same = last === at.id && !map.ui.scissors && !shift
    if (!same) click(at, shift)
    else if (at.kind === 'link') on.act(at)
    else map.show(at)
  }
  const shift = (e: { original: MouseEvent | TouchEvent }) => e.original.shiftKey
  map.sigma.on('clickEdge', ({ edge, event }) => click(link(edge), shift(event)))
  map.sigma.on('clickNode', ({ node: id, event }) => click(node(id), shift(event)))
  map.sigma.on('doubleClickEdge', ({ edge, event, preventSigmaDefault }) => {
    preventSigmaDefault()
    again(link(edge), shift(event))
  })
  map.sigma.on('doubleClickNode', ({ node: id, event, preventSigmaDefault }) => {
    preventSigmaDefault()
    again(node(id), shift(event))
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
