// How soon a page is live, and how smooth it is while events arrive. Written to results/web.md.

import { test, type Browser } from '@playwright/test'
import { Fabric } from '../lib/fabric'
import { open } from '../lib/map'
import { machine, median, table, write } from '../lib/results'

const loads = 5 // pages opened, one after the other
const seconds = 10 // that are watched
const flapping = 8 // links

const fabrics = [
  ['kary-ntree:4,3', '--traffic', 'uniform:0.05'],
  ['mport-tree:36,2', '--routing', 'none'],
  ['torus:10x10x10', '--routing', 'none'],
  ['irregular:1000,2000,1', '--routing', 'none'],
  ['kary-ntree:4,4', '--traffic', 'uniform:0.01'],
] as const

test('frames', async ({ browser }) => {
  const rows: (string | number)[][] = []
  for (const [topology, ...more] of fabrics) {
    const f = await Fabric.up('--topology', topology, ...more)
    try {
      rows.push([topology, ...(await measured(browser, f))])
      console.log(rows.at(-1)!.join('  '))
    } finally {
      await f.kill() // nothing of it is of interest any more
    }
  }
  write('web.md', `# The page: time to a live map, and frames

Written by \`make watching\`. ${machine(browser.version())}

*Live after*: from the start of the navigation until the first frame of the stream is on the map, with nothing cached, median and
worst of ${loads}. *Frames*: of the screen per second, while ${flapping} links flap twice a second each and the stream brings all that it has:
median and least of ${seconds} seconds, and the longest time from one frame to the next. Asked for are 1000 ms and 30 frames.

${table(['fabric', 'switches', 'links', 'live after, ms', 'worst', 'frames at rest', 'frames under events', 'least', 'longest frame, ms', 'events/s'], rows)}
`)
})

async function measured(browser: Browser, f: Fabric): Promise<(string | number)[]> {
  const t = await f.topology()
  const live: number[] = []
  for (let i = 0; i < loads; i++) {
    const context = await browser.newContext()
    const page = await context.newPage()
    await open(page, f)
    await page.waitForFunction(() => window.weft.liveAfterMs > 0)
    live.push(await page.evaluate(() => window.weft.liveAfterMs))
    await context.close()
  }

  const page = await browser.newPage()
  await open(page, f)
  const watch = async () => {
    const got = { fps: [] as number[], longest: 0 }
    await page.evaluate(() => window.weft.fps) // they are counted from now on
    await page.waitForTimeout(2000) // the figures are of the second before
    for (let i = 0; i < seconds; i++) {
      await page.waitForTimeout(1000)
      const [fps, worst] = await page.evaluate(() => [window.weft.fps, window.weft.worstFrameMs] as const)
      got.fps.push(fps)
      got.longest = Math.max(got.longest, worst)
    }
    return got
  }
  const rest = await watch()
  const links = t.links.filter((l) => l.a.startsWith('s') && l.b.startsWith('s'))
  const some = Array.from({ length: flapping }, (_, i) => links[Math.floor((i * links.length) / flapping)]!)
  await f.post('apply', { specs: some.map((l) => ({ do: 'flap', a: l.id, flap: { period: '500ms' } })) })
  const before = await lastEvent(f)
  const began = Date.now()
  const busy = await watch()
  const rate = ((await lastEvent(f)) - before) / ((Date.now() - began) / 1000)
  await page.close()
  const round = (v: number) => Math.round(v)
  return [
    t.switches.length, t.links.length, round(median(live)), round(Math.max(...live)), round(median(rest.fps)), round(median(busy.fps)),
    round(Math.min(...busy.fps)), round(busy.longest), round(rate),
  ]
}

// lastEvent is the number of the newest event. They come in pages.
async function lastEvent(f: Fabric): Promise<number> {
  for (let last = 0; ; ) {
    const page = await f.get<{ seq: number }[]>(`events?after=${last}`)
    if (page.length === 0) return last
    last = page.at(-1)!.seq
  }
}
