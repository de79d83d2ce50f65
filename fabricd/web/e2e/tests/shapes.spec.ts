// Fabrics of other shapes, without traffic: all of each is on the map, and a click on a link cuts it.

import { expect } from '@playwright/test'
import { Fabric } from '../lib/fabric'
import { soak } from '../lib/level'
import { apart, linkState, look, open, places, unpainted, type Point } from '../lib/map'
import { test } from '../lib/page'

for (const [topology, kind, switches, links] of [
  ['torus:8x8', 'grid', 64, 192],
  ['irregular:64,128,1', 'free', 64, 192],
  ['mport-tree:36,2', 'tree', 54, 1296],
  ['torus:4x4x4', 'planes', 64, 256],
] as const) {
  test(`${topology} is all there, and a click cuts`, async ({ page }, info) => {
    test.skip(kind === 'tree' && !soak, 'tree.spec.ts has a smaller one')
    test.skip(kind === 'grid' && !soak, 'planes are grids')
    const f = await Fabric.up('--topology', topology, '--routing', 'none')
    try {
      await open(page, f)
      const t = await f.topology()
      expect(t.layout.kind).toBe(kind)
      expect([t.switches.length, t.links.length]).toEqual([switches, links])
      expect(await page.evaluate(() => [window.weft.switches, window.weft.links])).toEqual([switches, links])
      const nodes = (await places(page, t.switches.map((s) => s.id))) as Point[]
      const nowhere = { x: 20, y: 70 }
      expect(await unpainted(page, [...nodes, nowhere]), 'switches of which nothing is drawn').toEqual([nodes.length])
      await look(page, info, 'whole')

      const [best] = await apart(page, t)
      const { id } = best!.link
      const clip = { x: best!.at.x - 3, y: best!.at.y - 3, width: 6, height: 6 }
      const before = await page.screenshot({ clip })
      await page.keyboard.down('Shift')
      await page.mouse.click(best!.at.x, best!.at.y)
      await page.keyboard.up('Shift')
      await expect.poll(async () => (await f.link(id)).state).toBe('cut')
      expect((await f.faults()).map((r) => r.target)).toEqual([id])
      await expect.poll(() => linkState(page, id)).toBe('cut')
      await page.keyboard.press('Escape') // no longer selected
      await page.mouse.move(2, 2)
      await expect.poll(async () => (await page.screenshot({ clip })).equals(before), 'drawn as before').toBe(false)
      await page.getByTestId('tab-faults').click()
      await expect(page.getByTestId('faults-panel').getByTestId('fault')).toContainText(`cut ${id}`)
      await look(page, info, 'cut')

      const shown = await page.screenshot({ clip })
      await f.heal()
      await expect.poll(() => linkState(page, id)).toBe('up')
      await expect.poll(async () => (await page.screenshot({ clip })).equals(shown), 'drawn as cut still').toBe(false)
    } finally {
      expect(await f.stop()).toBe(0)
    }
  })
}
