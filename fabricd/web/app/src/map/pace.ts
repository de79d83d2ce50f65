// How often the page draws. What a person does is drawn with the next frame of the screen; what moves or grows by itself waits
// longer where drawing is slow: without a graphics card it is the processor that draws.

// Draw draws a part of the page. now is the time of the frame, in ms of the page's clock.
export type Draw = (now: number) => void

// at once: what a person does, and changes of state. moving: packets on their way. figures: loads, charts, counters.
export type When = 'at once' | 'moving' | 'figures'

// Screen is what Pace needs of a window.
export interface Screen {
  requestAnimationFrame(f: Draw): unknown
  setTimeout(f: () => void, ms: number): number
  clearTimeout(timer: number): void
  performance: { now(): number }
}

// The least time from one drawing of what moves to the next, in ms. 0: as often as the screen.
const steps = [0, 33, 66, 133] as const
const withoutCard = 2 // the step to begin with where the processor draws
const figuresEvery = 8 // figures wait so many times as long as what moves
const screenFrame = 17 // ms
const late = 25 // ms after its time: the browser cannot keep up
const few = 8 // so many drawings in a row late: from now on half as many
const rest = 1000 // ms; what moves after such a rest is drawn as often as at the beginning

export class Pace {
  private step: number
  private lates = 0
  private readonly due = new Map<Draw, number>() // when to draw it at the earliest
  private readonly drawn = new Map<Draw, number>() // when it was drawn last
  private readonly moving = new Set<Draw>() // what of due moves
  private asked = false // for a frame
  private timer = 0

  constructor(private readonly first: number, private readonly screen: Screen = window) {
    this.step = first
  }

  // of is the pace for what draws with gl.
  static of(gl: WebGLRenderingContext | WebGL2RenderingContext | null): Pace {
    return new Pace(gl && inSoftware(gl) ? withoutCard : 0)
  }

  // every is the least time between two drawings, in ms.
  every(when: When): number {
    if (when === 'at once') return 0
    return steps[this.step]! * (when === 'figures' ? figuresEvery : 1)
  }

  // draw has something drawn once, when its time has come.
  draw(what: Draw, when: When): void {
    const at = when === 'at once' ? 0 : (this.drawn.get(what) ?? -Infinity) + this.every(when)
    this.due.set(what, Math.min(at, this.due.get(what) ?? Infinity))
    if (when === 'moving') this.moving.add(what)
    this.wait()
  }

  private wait(): void {
    if (this.asked || this.due.size === 0) return
    this.screen.clearTimeout(this.timer)
    const left = Math.min(...this.due.values()) - this.screen.performance.now()
    // The last part of it is waited for with the screen's own frames.
    if (left > screenFrame) {
      this.timer = this.screen.setTimeout(() => this.ask(), left - screenFrame)
    } else {
      this.ask()
    }
  }

  private ask(): void {
    if (this.asked) return
    this.asked = true
    this.screen.requestAnimationFrame((now) => this.frame(now))
  }

  private frame(now: number): void {
    this.asked = false
    for (const [what, at] of [...this.due]) {
      if (at > now) continue
      this.due.delete(what)
      if (this.moving.delete(what)) this.judge(now, at, this.drawn.get(what) ?? -Infinity)
      this.drawn.set(what, now)
      what(now)
    }
    this.wait()
  }

  // judge slows down what moves when it is drawn late again and again: now, though its time was at. before is when it was
  // drawn last.
  private judge(now: number, at: number, before: number): void {
    if (now - before > rest) {
      this.step = this.first
      this.lates = 0
      return
    }
    this.lates = now - at > late ? this.lates + 1 : 0
    if (this.lates < few) return
    this.lates = 0
    this.step = Math.min(this.step + 1, steps.length - 1)
  }
}

// inSoftware says whether the processor draws what gl is told to draw: by the names of what then does so.
export function inSoftware(gl: WebGLRenderingContext | WebGL2RenderingContext): boolean {
  const more = gl.getExtension('WEBGL_debug_renderer_info')
  const name = String(gl.getParameter(more ? more.UNMASKED_RENDERER_WEBGL : gl.RENDERER))
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name)
}
