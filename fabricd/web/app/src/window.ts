// window.weft: figures for tests and for the curious. Read-only.

import type { Selection } from './state/ui'
import type { Context } from './ui/context'

interface Weft {
  readonly switches: number
  readonly links: number
  readonly nics: number
  readonly frames: number // of the stream, since the page was opened
  readonly lastSeq: number
  readonly run: string
  readonly connection: string
  readonly fps: number // of the screen, over the last second
  readonly worstFrameMs: number // over the last second
  readonly liveAfterMs: number // from the page's start until the map was live; 0: not yet
  readonly selected: Selection | null
  readonly moving: boolean
  readonly lit: string[] // links of the paths of the connection that is chosen
  link(id: string): unknown // as the stream tells it
  switch(id: string): unknown
  // where a link's middle or a node is, in pixels of the window; null: there is none by that name
  place(id: string): { x: number; y: number } | null
  // where on a link no other is near, which takes long to find where there are thousands
  clear(id: string): { x: number; y: number } | null
}

declare global {
  interface Window {
    readonly weft: Weft
  }
}

function place(x: Context, id: string, share: (link: number) => number): { x: number; y: number } | null {
  const i = x.store.link(id)
  const p = i === undefined ? x.map.nodeOnScreen(id) : x.map.screen(i, share(i))
  if (!p) return null
  const box = x.map.container.getBoundingClientRect()
  return { x: box.left + p.x, y: box.top + p.y }
}

// clearest is where on a link, as a share of its way, the others are farthest: links cross, and at a crossing nobody can tell
// which of them is meant.
function clearest(x: Context, i: number): number {
  const shares = Array.from({ length: 17 }, (_, k) => 0.1 + k * 0.05)
  const own = shares.map((at) => x.map.point(i, at))
  const least = own.map(() => Infinity)
  x.store.topology!.links.forEach((_, j) => {
    if (j === i) return
    for (let k = 0; k <= 40; k++) {
      const q = x.map.point(j, k / 40)
      own.forEach((p, n) => { least[n] = Math.min(least[n]!, (p.x - q.x) ** 2 + (p.y - q.y) ** 2) })
    }
  })
  return shares[least.indexOf(Math.max(...least))]!
}

export function expose(x: Context): void {
  let fps = 0
  let worst = 0
  let live = 0
  let frames = 0
  let longest = 0
  let second = performance.now()
  let last = second
  const tick = (now: number) => {
    frames++
    longest = Math.max(longest, now - last)
    last = now
    if (now - second >= 1000) {
      fps = (frames * 1000) / (now - second)
      worst = longest
      frames = 0
      longest = 0
      second = now
    }
    requestAnimationFrame(tick)
  }
  // Frames are counted once somebody has asked: a page that asks for each of them never rests.
  let counting = false
  const count = () => {
    if (!counting) requestAnimationFrame(tick)
    counting = true
  }
  x.store.subscribe(() => {
    if (live === 0 && x.store.frames > 0) live = performance.now()
  })
  const weft: Weft = {
    get switches() { return x.store.topology?.switches.length ?? 0 },
    get links() { return x.store.topology?.links.length ?? 0 },
    get nics() { return x.store.topology?.nics.length ?? 0 },
    get frames() { return x.store.frames },
    get lastSeq() { return x.store.seq },
    get run() { return x.store.run },
    get connection() { return x.stream.connection },
    get fps() { count(); return fps },
    get worstFrameMs() { return worst },
    get liveAfterMs() { return live },
    get selected() { return x.ui.selected },
    get moving() { return x.map.motion.active },
    get lit() { return [...x.programs.lit].map((i) => x.store.topology!.links[i]!.id) },
    link: (id) => x.store.links[x.store.link(id) ?? -1] ?? null,
    switch: (id) => x.store.switches[x.store.switchOf(id) ?? -1] ?? null,
    place: (id) => place(x, id, () => 0.5),
    clear: (id) => place(x, id, (i) => clearest(x, i)),
  }
  Object.defineProperty(window, 'weft', { value: weft })
}
