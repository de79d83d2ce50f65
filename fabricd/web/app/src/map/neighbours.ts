// Going over the map by keys. Pure.

import type { Store } from '../state/store'
import type { Selection } from '../state/ui'
import type { Geometry } from './geometry'

// next is the node of the same kind that is nearest to s in the direction (dx, dy), y upwards; null: there is none.
export function next(g: Geometry, store: Store, s: Selection, dx: number, dy: number): Selection | null {
  const here = g.nodes.get(s.id)
  const t = store.topology
  if (!here || !t) return null
  let best: string | null = null
  let least = Infinity
  for (const { id } of s.kind === 'nic' ? t.nics : t.switches) {
    const p = g.nodes.get(id)!
    const ahead = (p.x - here.x) * dx + (p.y - here.y) * dy
    const aside = Math.abs((p.x - here.x) * dy) + Math.abs((p.y - here.y) * dx)
    // What is more aside than ahead belongs to another key.
    if (ahead <= 1e-9 || aside > ahead * 1.5) continue
    const far = ahead + 2 * aside
    if (far < least) {
      least = far
      best = id
    }
  }
  return best === null ? null : { kind: s.kind, id: best }
}

// nextLink goes around the links of a node: of the selected one, or of that which was before the link that is selected now.
export function nextLink(store: Store, s: Selection | null, around: string, step: number): Selection | null {
  const t = store.topology
  if (!t || !s) return null
  const i = s.kind === 'link' ? store.link(s.id) : undefined
  const at = i === undefined ? s.id : t.links[i]!.b === around ? around : t.links[i]!.a
  const list = store.linksAt(at)
  if (list.length === 0) return null
  const k = i === undefined ? (step > 0 ? 0 : list.length - 1) : (list.indexOf(i) + step + list.length) % list.length
  return { kind: 'link', id: t.links[list[k]!]!.id }
}
