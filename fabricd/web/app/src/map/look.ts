// How a link looks, as a function of its state alone. Every state differs from the others by colour, by dash and by badge.

import type { LinkView } from '../net/types'
import { scale, type Rgb, type Theme } from './colors'

// LinkStory is what a user calls the state of a link.
export type LinkStory = 'up' | 'cut' | 'silent' | 'noticed' | 'flapping' | 'impaired' | 'coming' | 'down' | 'held'

export const storyText: Record<LinkStory, string> = {
  up: 'up',
  cut: 'signalled cut',
  silent: 'silent cut, not yet noticed',
  noticed: 'silent cut, noticed',
  flapping: 'flapping',
  impaired: 'impaired',
  coming: 'coming up',
  down: 'down: switch crashed',
  held: 'held down by damping',
}

// badges are drawn at the middle of a link that is not simply up.
export const badges: Record<LinkStory, string> = {
  up: '', cut: '✕', silent: '?', noticed: '!', flapping: '≈', impaired: '~', coming: '↻', down: '▽', held: '‖',
}

// Dashes of the shader: on and off in pixels. 0 off is a solid line.
export type Dash = readonly [number, number]
const dashes: Record<LinkStory, Dash> = {
  up: [1, 0], cut: [9, 7], silent: [2.5, 4.5], noticed: [2.5, 9], flapping: [13, 4], impaired: [24, 4], coming: [5, 5],
  down: [1.5, 6], held: [4, 10],
}

// Lane is one direction of a link.
export interface Lane {
  color: Rgb
  dash: Dash
  alpha: number // a share: idle links stand back
}

export interface Look {
  ab: Lane
  ba: Lane
  width: number // pixels of both lanes
  story: LinkStory
}

// story sums a link up by what is worst about it.
export function story(l: LinkView): LinkStory {
  const silent = l.cut_ab === 'silent' || l.cut_ba === 'silent'
  if (l.flapping) return 'flapping'
  if (l.state === 'down') return 'down'
  if (silent) return l.a_up && l.b_up ? 'silent' : 'noticed'
  if (l.cut_ab || l.cut_ba || l.state === 'cut') return 'cut'
  if (l.state === 'init') return 'coming'
  if (l.held_a || l.held_b) return 'held'
  if (l.suffers_ab || l.suffers_ba) return 'impaired'
  return 'up'
}

export function look(l: LinkView, theme: Theme, byLoad: boolean): Look {
  const s = story(l)
  const busiest = Math.max(l.load_ab ?? 0, l.load_ba ?? 0)
  return {
    story: s,
    ab: lane(l, s, l.cut_ab, l.suffers_ab, l.load_ab ?? 0, l.rate_ab ?? 0, theme, byLoad),
    ba: lane(l, s, l.cut_ba, l.suffers_ba, l.load_ba ?? 0, l.rate_ba ?? 0, theme, byLoad),
    width: s === 'up' || s === 'impaired' ? 2.2 + (byLoad ? 3 * Math.sqrt(Math.min(1, busiest)) : 0) : 3.6,
  }
}

function lane(
  l: LinkView, s: LinkStory, cut: string | undefined, suffers: string | undefined, load: number, rate: number,
  theme: Theme, byLoad: boolean,
): Lane {
  const busy = byLoad && rate > 0
  const loaded: Lane = {
    color: busy ? scale(theme, load) : theme.idle, dash: dashes.up, alpha: busy ? 0.55 + 0.45 * Math.sqrt(Math.min(1, load)) : 0.8,
  }
  switch (s) {
    case 'up':
      return loaded
    case 'impaired':
      return suffers ? { color: theme.impaired, dash: dashes.impaired, alpha: 1 } : loaded
    case 'coming':
      return { color: theme.coming, dash: dashes.coming, alpha: 1 }
    case 'held':
      return { color: theme.coming, dash: dashes.held, alpha: 1 }
    case 'down':
      return { color: theme.down, dash: dashes.down, alpha: 1 }
    case 'flapping':
      return { color: l.state === 'up' ? theme.impaired : theme.cut, dash: dashes.flapping, alpha: 1 }
  }
  // Of a link cut one way the other direction is out of use too once it is noticed: it keeps its dash, but not the colour.
  if (!cut) return l.a_up && l.b_up ? loaded : { color: theme.down, dash: dashes[s], alpha: 1 }
  return { color: cut === 'silent' ? theme.silent : theme.cut, dash: dashes[s], alpha: 1 }
}
