// The page as a test sees it: what window.weft tells, where things are on the map, and which of them a click can hit.

import { expect, type Page, type TestInfo } from '@playwright/test'
import type { Fabric, LinkEnds, Topology } from './fabric'

export interface Point {
  x: number
  y: number
}

interface Weft {
  switches: number
  links: number
  nics: number
  frames: number
  run: string
  connection: string
  fps: number
  worstFrameMs: number
  liveAfterMs: number
  selected: { kind: string; id: string } | null
  link(id: string): { state: string; cut_ab?: string; cut_ba?: string } | null
  switch(id: string): { state: string } | null
  place(id: string): Point | null
}

declare global {
  interface Window {
    readonly weft: Weft
  }
}

// open goes to the page of a fabric and waits until it is live.
export async function open(page: Page, f: Fabric, address = f.page): Promise<void> {
  await page.goto(address)
  await live(page)
}

export async function live(page: Page): Promise<void> {
  await expect(page.getByTestId('connection')).toHaveAttribute('data-state', 'live')
}

// linkState is the state of a link as the page has it; null before there is any.
export function linkState(page: Page, id: string): Promise<string | null> {
  return page.evaluate((id) => window.weft.link(id)?.state ?? null, id)
}

export function selected(page: Page): Promise<string | null> {
  return page.evaluate(() => window.weft.selected?.id ?? null)
}

// places asks the map where nodes and the middles of links are, in pixels of the window.
export function places(page: Page, ids: string[]): Promise<(Point | null)[]> {
  return page.evaluate((ids) => ids.map((id) => window.weft.place(id)), ids)
}

// apart returns links between switches that cross nothing near their middle, those with the most room around it first.
// A click on the middle of any other link may well mean its neighbour, for a person too.
export async function apart(page: Page, t: Topology): Promise<{ link: LinkEnds; at: Point; room: number }[]> {
  const names = [...t.switches.map((s) => s.id), ...t.nics.map((n) => n.id)]
  const nodes = new Map(names.map((n, i) => [n, i]))
  const nodeAt = await places(page, names)
  const middles = await places(page, t.links.map((l) => l.id))
  const curves = t.links.map((l, i) => curve(nodeAt[nodes.get(l.a)!]!, middles[i]!, nodeAt[nodes.get(l.b)!]!))
  const covered = await page.evaluate((all) => all.map((p) => !document.elementFromPoint(p!.x, p!.y)?.closest('#map')), middles)
  const free = t.links.flatMap((link, i) => {
    const at = middles[i]!
    if (covered[i]) return []
    const nic = nodes.get(link.a)! >= t.switches.length || nodes.get(link.b)! >= t.switches.length
    if (nic) return []
    let room = Infinity
    curves.forEach((c, j) => c.forEach((p) => (room = j === i ? room : Math.min(room, Math.hypot(p.x - at.x, p.y - at.y)))))
    t.switches.forEach((_, j) => (room = Math.min(room, Math.hypot(nodeAt[j]!.x - at.x, nodeAt[j]!.y - at.y))))
    return [{ link, at, room }]
  })
  return free.sort((p, q) => q.room - p.room)
}

// curve returns points along a link, of which the map tells ends and middle: a quadratic curve.
function curve(a: Point, middle: Point, b: Point): Point[] {
  const c = { x: 2 * middle.x - (a.x + b.x) / 2, y: 2 * middle.y - (a.y + b.y) / 2 }
  const steps = 20
  return Array.from({ length: steps + 1 }, (_, i) => {
    const t = i / steps
    const mix = (p: number, q: number, r: number) => (1 - t) * (1 - t) * p + 2 * t * (1 - t) * q + t * t * r
    return { x: mix(a.x, c.x, b.x), y: mix(a.y, c.y, b.y) }
  })
}

// look takes a screenshot into the test's folder.
export async function look(page: Page, info: TestInfo, name: string): Promise<void> {
  await page.screenshot({ path: info.outputPath(`${name}.png`) })
}

// unpainted returns those of the points around which the window shows one colour only: nothing is drawn there.
export async function unpainted(page: Page, points: Point[], reach = 2): Promise<number[]> {
  const shot = (await page.screenshot()).toString('base64')
  // Decoded in a page of its own: this one's policy forbids images that it did not load.
  const blank = await page.context().newPage()
  try {
    return await blank.evaluate(async ({ shot, points, reach }) => {
      const bytes = Uint8Array.from(atob(shot), (c) => c.charCodeAt(0))
      const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }))
      const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d', { willReadFrequently: true })!
      canvas.drawImage(image, 0, 0)
      const background = (x: number, y: number) => canvas.getImageData(x, y, 1, 1).data.slice(0, 3).join()
      const counts = new Map<string, number>()
      for (let x = 4; x < image.width; x += 16) {
        for (let y = 4; y < image.height; y += 16) {
          const c = background(x, y)
          counts.set(c, (counts.get(c) ?? 0) + 1)
        }
      }
      const ground = [...counts].sort((p, q) => q[1] - p[1])[0]![0]
      return points.flatMap((p, i) => {
        for (let dx = -reach; dx <= reach; dx++) {
          for (let dy = -reach; dy <= reach; dy++) {
            if (background(Math.round(p.x) + dx, Math.round(p.y) + dy) !== ground) return []
          }
        }
        return [i]
      })
    }, { shot, points, reach })
  } finally {
    await blank.close()
  }
}
