import { expect, it } from 'vitest'
import { overloaded } from '../src/ui/overload'

const sample = { at: 1, injected_per_second: 9, offered_per_second: 0, delivered_per_second: 3, in_flight: 99, lost: 0, discarded: 0, rerouted: 0, links_down: 0 }

it('the sentence is that of fabricd, and there is none while all is carried', () => {
  expect(overloaded({ sample: null })).toBe('')
  expect(overloaded({ sample })).toBe('')
  expect(overloaded({ sample: { ...sample, overload: 'more is offered than carried' } })).toBe('more is offered than carried')
})
