// Programs that have NICs, on the page: who talks to whom, by which path, and how fast they go.

import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from '@playwright/test'
import { Fabric } from '../lib/fabric'
import { look, open } from '../lib/map'

let f: Fabric
let server: ChildProcess
let client: ChildProcess | undefined

test.beforeAll(async () => {
  f = await Fabric.up('--topology', 'kary-ntree:2,3', '--traffic', 'none', '--routing', 'adaptive-link')
  await f.linkmon('exec', 'n000', '--', 'iperf3', '--version').catch(async (e: Error) => {
    await f.stop()
    test.skip(!process.env.CI, `programs need a network, and iperf3 (Debian: apt-get install iperf3): ${e.message}`)
    throw e
  })
  server = f.spawnLinkmon(['exec', 'n111', '--', 'iperf3', '--server', '--forceflush'])
  await new Promise<void>((resolve, reject) => {
    server.stdout!.on('data', (b: Buffer) => String(b).includes('listening') && resolve())
    server.on('exit', (code) => reject(new Error(`iperf3 ended with ${code}: ${String(server.stderr!.read() ?? '')}`)))
  })
  client = f.spawnLinkmon(['exec', '--rate', 'Mbits/sec', 'n000', '--', 'iperf3', '--client', 'n111', '--time', '600', '--format', 'm', '--forceflush'])
})
test.afterAll(async () => {
  if (!client) return // it was skipped
  await f.heal()
  for (const p of [client, server]) {
    const ended = p.exitCode === null ? once(p, 'exit') : null
    p.kill('SIGTERM')
    await ended
  }
  expect(await f.stop()).toBe(0)
  expect(f.ledger).toMatchObject({ balanced: true })
})

test('the page shows who talks to whom, by which path, and how fast they go', async ({ page }, info) => {
  await page.setViewportSize({ width: 1280, height: 800 })
  await open(page, f)
  await page.keyboard.press('5')
  const talks = page.getByTestId('program-connection').filter({ hasText: /iperf3 n000.*iperf3 n111/ })
  await expect(talks).toHaveCount(2) // iperf3 has one that controls, and one that carries
  await expect(page.getByTestId('program-nics').locator('[data-nic=n000]')).toContainText(/[1-9].*kB\/s/)
  await expect(page.getByTestId('program-rate')).toContainText(/iperf3 from n000.*Mbits\/sec/s)
  await expect(page.getByTestId('chart-rates')).toContainText('iperf3, Mbits/sec')

  // A click lights the links that packets of the connection take, and a cut moves them.
  const carries = talks.filter({ hasText: /kB\/s/ }).first()
  await carries.getByRole('button').first().click()
  await expect(page.getByTestId('connection-details')).toContainText(/iperf3, process \d+/)
  const lit = () => page.evaluate(() => window.weft.lit)
  const t = await f.topology()
  const atNic = (nic: string) => t.links.find((l) => l.a === nic || l.b === nic)!.id
  await expect.poll(lit).toEqual(expect.arrayContaining([atNic('n000'), atNic('n111')]))
  await expect(page.getByTestId('connection-paths')).toContainText(/n000 → s2\.00 → .* → n111/)
  const leaf = (l: { a: string; b: string }) => l.a === 's2.00' || l.b === 's2.00'
  const up = t.links.filter((l) => leaf(l) && /^s1/.test(l.a === 's2.00' ? l.b : l.a)).map((l) => l.id)
  expect(up).toHaveLength(2)
  await f.post(`links/${up[0]}/cut`)
  await expect.poll(async () => {
    const now = await lit()
    return up.filter((id) => now.includes(id))
  }).toEqual([up[1]])
  await look(page, info, 'programs')

  // The NIC says what it carries.
  await page.getByTestId('program-nics').getByRole('button', { name: 'n111' }).click()
  await expect(page.getByTestId('nic-bytes')).toContainText(/in[1-9][\d.]* kB\/s/)
})

test('who may only look sees no paths, and is told why', async ({ page }) => {
  await open(page, f, f.url)
  await page.getByTestId('tab-programs').click()
  await page.getByTestId('program-connection').first().getByRole('button').first().click()
  await expect(page.getByTestId('programs-panel')).toContainText('takes a token that may operate')
})

test('a program that ends is said to have ended', async ({ page }) => {
  await open(page, f)
  await page.getByTestId('tab-programs').click()
  await expect(page.getByTestId('program-rate')).toBeVisible()
  client!.kill('SIGTERM')
  await expect(page.getByTestId('program-rate')).toContainText('at its end')
  await page.locator('details.ended summary').click()
  await expect(page.getByTestId('program-connection').filter({ hasText: /iperf3 n000.*iperf3 n111/ }).first()).toBeVisible()
})
