import { expect, it } from 'vitest'
import type { LinkView } from '../src/net/types'
import { asBefore, impairOf, type Spec } from '../src/state/spec'

const link = { id: 's0-s1', a: 's0', a_port: 0, b: 's1', b_port: 0 }
const before = (v: Partial<LinkView>, flap: Spec | null = null) => asBefore(link, { i: 0, state: 'up', ...v }, flap)
const restore = { do: 'restore', a: 's0-s1' }

it('reads what fabricd says a link suffers', () => {
  expect(impairOf('loss 10%, delay 5ms ± 1ms, rate 100 kB/s')).toEqual({ loss: '10%', delay: '5ms', jitter: '1ms', rate: '100kB/s' })
  expect(impairOf('delay 1.5s')).toEqual({ delay: '1.5s' })
  expect(impairOf('')).toBeNull()
})

it('restores a link that was well', () => {
  expect(before({})).toEqual([restore])
})

it('cuts again what was cut, the same way', () => {
  expect(before({ cut_ab: 'signalled', cut_ba: 'signalled' })).toEqual([restore, { do: 'cut', a: 's0-s1' }])
  expect(before({ cut_ab: 'silent' })).toEqual([restore, { do: 'cut', a: 's0-s1', direction: 'to', silent: true }])
  expect(before({ cut_ab: 'signalled', cut_ba: 'silent' })).toEqual([
    restore, { do: 'cut', a: 's0-s1', direction: 'to' }, { do: 'cut', a: 's0-s1', direction: 'from', silent: true },
  ])
})

it('impairs again what was impaired', () => {
  expect(before({ suffers_ab: 'loss 5%', suffers_ba: 'loss 5%' })).toEqual([restore, { do: 'impair', a: 's0-s1', impair: { loss: '5%' } }])
  expect(before({ suffers_ba: 'delay 5ms' })).toEqual([restore, { do: 'impair', a: 's0-s1', direction: 'from', impair: { delay: '5ms' } }])
})

it('flaps again only what was ordered here', () => {
  const flap: Spec = { do: 'flap', a: 's0-s1', flap: { period: '1s' } }
  expect(before({ flapping: true, cut_ab: 'signalled', cut_ba: 'signalled' }, flap)).toEqual([restore, flap])
  expect(before({ flapping: true })).toEqual([restore])
})
