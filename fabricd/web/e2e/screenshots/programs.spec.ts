// Pictures of programs on the page, for docs/tutorials/mpi.md: MPI adds numbers while links are cut, with local rerouting, with a
// subnet manager, and with neither. They take Linux, Open MPI, and the right to make networks.

import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, type Page } from '@playwright/test'
import { Fabric } from '../lib/fabric'
import { open } from '../lib/map'
import { folder } from '../lib/results'

const root = join(import.meta.dirname, '../../../..')
const out = join(folder, 'screenshots')
const cuts = ['s1.00-s2.00', 's1.01-s2.00', 's1.02-s2.00'].map((a) => ({ do: 'cut', a }))
const seconds = 24 // that the program goes on; links are cut after a third of it, and healed after another

const ways: Record<string, string[]> = {
  rerouting: [], manager: ['--routing', 'updn'], neither: ['--routing', 'updn', '--method', 'none'],
}

for (const [name, args] of Object.entries(ways)) {
  test(`mpi-${name}`, async ({ page }) => {
    const dir = mkdtempSync(join(tmpdir(), 'weft-mpi-'))
    const program = join(dir, 'allreduce')
    execFileSync('mpicc', ['-O2', '-o', program, 'scenarios/programs/allreduce.c'], { cwd: root })
    const f = await Fabric.up('--topology', 'kary-ntree:4,3', '--traffic', 'none', '--unpaced', ...args)
    try {
      await page.setViewportSize({ width: 1280, height: 800 })
      await open(page, f)
      const mpi = f.spawnLinkmon(['mpirun', '-n', '4', '--', program, String(seconds)])
      const ended = once(mpi, 'close')
      await page.getByTestId('tab-programs').click()
      await expect(page.getByTestId('program-rate')).toBeVisible()
      const ranks = page.getByTestId('program-connection').filter({ hasText: /allreduce n000.*allreduce/ })
      await ranks.first().click()
      await page.waitForTimeout((seconds / 3) * 1000)
      await f.post('apply', { specs: cuts })
      await page.waitForTimeout((seconds / 3) * 1000)
      await look(page, name)
      await f.heal()
      await ended
      await page.waitForTimeout(1500)
      await take(page, `mpi-${name}-over`)
    } finally {
      await f.kill()
      rmSync(dir, { recursive: true, force: true })
    }
  })
}

// look takes pictures of all that people have for a screen.
async function look(page: Page, name: string): Promise<void> {
  await take(page, `mpi-${name}-dark`)
  const shown = join(root, 'docs', `mpi-${name}.png`)
  if (name === 'manager') await page.locator('footer').screenshot({ path: shown })
  else copyFileSync(join(out, `mpi-${name}-dark.png`), shown)
  if (name !== 'rerouting') return
  await page.emulateMedia({ colorScheme: 'light' })
  await page.waitForTimeout(500)
  await take(page, `mpi-${name}-light`)
  await page.setViewportSize({ width: 800, height: 600 })
  await page.waitForTimeout(500)
  await take(page, `mpi-${name}-800x600`)
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.setViewportSize({ width: 1280, height: 800 })
}

async function take(page: Page, name: string): Promise<void> {
  mkdirSync(out, { recursive: true })
  await page.screenshot({ path: join(out, `${name}.png`) })
}
