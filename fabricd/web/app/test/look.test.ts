import { expect, it } from 'vitest'
import type { LinkView } from '../src/net/types'
import { dark, light, scale } from '../src/map/colors'
import { badges, look, story, type LinkStory } from '../src/map/look'

const up: LinkView = { i: 0, state: 'up', a_up: true, b_up: true }

const cases: [LinkStory, LinkView][] = [
  ['up', up],
  ['cut', { i: 0, state: 'cut', cut_ab: 'signalled', cut_ba: 'signalled' }],
  ['silent', { ...up, state: 'cut', cut_ab: 'silent', cut_ba: 'silent' }],
  ['noticed', { i: 0, state: 'cut', cut_ab: 'silent', cut_ba: 'silent', a_up: false, b_up: true }],
  ['flapping', { ...up, flapping: true }],
  ['impaired', { ...up, suffers_ab: 'loss 10%' }],
  ['coming', { i: 0, state: 'init' }],
  ['down', { i: 0, state: 'down' }],
  ['held', { ...up, held_a: true }],
]

it('sums a link up by what is worst about it', () => {
  for (const [want, l] of cases) expect(story(l), JSON.stringify(l)).toBe(want)
})

it('tells any two states apart without their colours', () => {
  for (const theme of [dark, light]) {
    const seen = new Map<string, LinkStory>()
    for (const [name, l] of cases) {
      const k = look(l, theme, true)
      const key = k.ab.dash.join('/')
      expect(seen.get(key), `${name} has the dash of ${seen.get(key)}`).toBeUndefined()
      seen.set(key, name)
    }
    const marks = cases.map(([name]) => badges[name])
    expect(new Set(marks).size).toBe(marks.length)
  }
})

it('marks the direction that is cut and leaves the other as long as nobody has noticed', () => {
  const k = look({ ...up, state: 'cut', cut_ab: 'silent', rate_ba: 100, load_ba: 0.5 }, dark, true)
  expect(k.ab.color).toEqual(dark.silent)
  expect(k.ba.dash[1]).toBe(0)
  expect(k.ba.color).toEqual(scale(dark, 0.5))
})

it('draws an idle link and a busy one differently, and does not leave the scale above full load', () => {
  const idle = look(up, dark, true)
  const busy = look({ ...up, rate_ab: 10, load_ab: 1 }, dark, true)
  expect(busy.width).toBeGreaterThan(idle.width)
  expect(busy.ab.color).not.toEqual(idle.ab.color)
  expect(scale(dark, 7)).toEqual(dark.load.at(-1))
})
