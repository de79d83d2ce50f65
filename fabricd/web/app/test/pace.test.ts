import { beforeEach, expect, it, vi } from 'vitest'
import { inSoftware, Pace, type Draw } from '../src/map/pace'

// A screen with a frame every 10 ms, or later while the browser is busy with what was drawn before.
let now = 0
let takes = 0 // ms to draw something
let free = 0 // when the browser has drawn it
let frames: Draw[] = []
let timers = new Map<number, { at: number; f: () => void }>()
let asked = 0 // frames that were asked for
const screen = {
  requestAnimationFrame: (f: Draw) => {
    asked++
    frames.push(f)
  },
  setTimeout: (f: () => void, ms: number) => {
    timers.set(timers.size + 1, { at: now + ms, f })
    return timers.size
  },
  clearTimeout: (timer: number) => void timers.delete(timer),
  performance: { now: () => now },
}

// pass lets so many ms pass.
function pass(ms: number): void {
  for (const end = now + ms; now < end; ) {
    now += 10
    for (const [n, t] of [...timers]) {
      if (t.at > now) continue
      timers.delete(n)
      t.f()
    }
    if (now < free) continue
    for (const f of frames.splice(0)) f(now)
  }
}

beforeEach(() => {
  now = 5000
  takes = 0
  free = 0
  asked = 0
  frames = []
  timers = new Map()
})

// runner moves for ever; it returns how often it was drawn, in how many ms.
function runner(pace: Pace): (ms: number) => number {
  let drawn = 0
  const draw = () => {
    drawn++
    pace.draw(draw, 'moving')
  }
  pace.draw(draw, 'moving')
  return (ms) => {
    drawn = 0
    pass(ms)
    return drawn
  }
}

it('draws with every frame of the screen where there is a graphics card', () => {
  const pace = new Pace(0, screen)
  expect(runner(pace)(1000)).toBe(100)
  expect(pace.every('figures')).toBe(0)
})

it('draws less often where the processor draws, and figures still less', () => {
  const pace = new Pace(2, screen)
  expect(runner(pace)(7000)).toBe(100)
  const figures = vi.fn()
  for (let i = 0; i < 40; i++) { // ten seconds of the stream
    pace.draw(figures, 'figures')
    pass(250)
  }
  expect(figures.mock.calls.length).toBeGreaterThan(17)
  expect(figures.mock.calls.length).toBeLessThan(20)
})

it('draws at once what a person does, even if it was only to be drawn later', () => {
  const pace = new Pace(3, screen)
  const draw = vi.fn()
  pace.draw(draw, 'figures')
  pass(10)
  expect(draw).toHaveBeenCalledTimes(1) // nothing was drawn before it
  pace.draw(draw, 'figures')
  pass(100)
  expect(draw).toHaveBeenCalledTimes(1)
  pace.draw(draw, 'at once')
  pass(10)
  expect(draw).toHaveBeenCalledTimes(2)
  pass(5000)
  expect(draw).toHaveBeenCalledTimes(2) // once, not again when it would have been time
})

it('asks for no frame while there is nothing to draw', () => {
  const pace = new Pace(0, screen)
  pace.draw(() => {}, 'at once')
  pass(1000)
  expect(asked).toBe(1)
})

it('halves how often it draws while frames come late, and begins again after a rest', () => {
  const pace = new Pace(0, screen)
  const draw = () => { free = now + takes }
  const move = (ms: number) => {
    for (const end = now + ms; now < end; pass(10)) pace.draw(draw, 'moving')
  }
  takes = 15 // every second frame of the screen
  move(3000)
  expect(pace.every('moving')).toBe(0)
  takes = 60
  move(3000)
  expect(pace.every('moving')).toBe(66)
  takes = 200
  move(3000)
  expect(pace.every('moving')).toBe(133)
  takes = 0
  pass(2000)
  move(100)
  expect(pace.every('moving')).toBe(0)
})

it('knows by its name what draws without a graphics card', () => {
  const gl = (name: string, hidden = true) => ({
    RENDERER: 1, getExtension: () => (hidden ? { UNMASKED_RENDERER_WEBGL: 2 } : null),
    getParameter: (p: number) => (hidden === (p === 2) ? name : ''),
  }) as unknown as WebGLRenderingContext
  expect(inSoftware(gl('ANGLE (Google, Vulkan 1.3.0 (SwiftShader Device (Subzero)), SwiftShader driver)'))).toBe(true)
  expect(inSoftware(gl('llvmpipe (LLVM 15.0.6, 256 bits)', false))).toBe(true)
  expect(inSoftware(gl('ANGLE (Microsoft, Microsoft Basic Render Driver Direct3D11)'))).toBe(true)
  expect(inSoftware(gl('ANGLE (NVIDIA, NVIDIA GeForce RTX 3060 Direct3D11 vs_5_0 ps_5_0)'))).toBe(false)
  expect(inSoftware(gl('Mesa Intel(R) UHD Graphics 620', false))).toBe(false)
})
