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
  lit: string[]
  link(id: string): { state: string; cut_ab?: string; cut_ba?: string } | null
  switch(id: string): { state: string; routing?: number } | null
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

// apart returns links between switches that a click on their middle hits, those with the most room around it first: among
// thousands that cross each other it may well mean its neighbour, for a person too. Looked for among the outermost.
export async function apart(page: Page, t: Topology): Promise<{ link: LinkEnds; at: Point; room: number }[]> {
  const nodes = t.switches.map((s) => s.id)
  const names = [...nodes, ...t.nics.map((n) => n.id)]
  const nodeAt = new Map<string, Point>()
  for (const [i, p] of (await places(page, names)).entries()) nodeAt.set(names[i]!, p!)
  const middles = (await places(page, t.links.map((l) => l.id))) as Point[]
  const covered = await page.evaluate((all) => all.map((p) => !document.elementFromPoint(p.x, p.y)?.closest('#map')), middles)
  const curves = t.links.map((l, i) => curve(nodeAt.get(l.a)!, middles[i]!, nodeAt.get(l.b)!))

  const mean = (of: (p: Point) => number) => middles.reduce((sum, p) => sum + of(p), 0) / middles.length
  const center = { x: mean((p) => p.x), y: mean((p) => p.y) }
  const switches = new Set(nodes)
  const outer = t.links
    .map((link, i) => ({ link, i, at: middles[i]!, out: distance(middles[i]!, center) }))
    .filter(({ link, i }) => !covered[i] && switches.has(link.a) && switches.has(link.b))
    .sort((p, q) => q.out - p.out)
    .slice(0, 60)
  return outer
    .map(({ link, i, at }) => {
      const others = curves.flatMap((c, j) => (j === i ? [] : c))
      const near = [...others, ...nodes.map((n) => nodeAt.get(n)!)]
      return { link, at, room: near.reduce((least, p) => Math.min(least, distance(p, at)), Infinity) }
    })
    .sort((p, q) => q.room - p.room)
}

function distance(p: Point, q: Point): number {
  return Math.hypot(p.x - q.x, p.y - q.y)
}

// curve returns points along a link, of which the map tells ends and middle: one that is bent runs beside the straight way.
function curve(a: Point, middle: Point, b: Point): Point[] {
  const aside = { x: middle.x - (a.x + b.x) / 2, y: middle.y - (a.y + b.y) / 2 }
  const steps = 20
  return Array.from({ length: steps + 1 }, (_, i) => {
    const t = i / steps
    const up = Math.min(1, 5 * t, 5 * (1 - t))
    return { x: a.x + (b.x - a.x) * t + aside.x * up, y: a.y + (b.y - a.y) * t + aside.y * up }
  })
}

// look takes a screenshot into the test's folder, for a person to look at, when WEFT_LOOK is set. Of what fails there is one anyway.
export async function look(page: Page, info: TestInfo, name: string): Promise<void> {
  if (!process.env.WEFT_LOOK) return
  await page.screenshot({ path: info.outputPath(`${name}.png`) })
}

// unpainted returns the numbers of those points around which the map shows nothing but its ground.
export async function unpainted(page: Page, points: Point[], reach = 2): Promise<number[]> {
  const box = (await page.getByTestId('map').boundingBox())!
  const corner = { x: box.x + 4, y: box.y + 4 } // where the ground is to be seen
  const shot = (await page.screenshot()).toString('base64')
  return page.evaluate(async ({ shot, points, corner, reach }) => {
    const bytes = Uint8Array.from(atob(shot), (c) => c.charCodeAt(0))
    const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }))
    const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d', { willReadFrequently: true })!
    canvas.drawImage(image, 0, 0)
    const around = (p: { x: number; y: number }, reach: number) => {
      const size = 2 * reach + 1
      const { data } = canvas.getImageData(Math.round(p.x) - reach, Math.round(p.y) - reach, size, size)
      return Array.from({ length: size * size }, (_, i) => data.slice(4 * i, 4 * i + 3).join())
    }
    const [ground] = around(corner, 0)
    return points.flatMap((p, i) => (around(p, reach).every((c) => c === ground) ? [i] : []))
  }, { shot, points, corner, reach })
}
