// fabricd goes and comes back, and pages that may not act.

import { expect } from '@playwright/test'
import { Fabric } from '../lib/fabric'
import { soak } from '../lib/level'
import { live, look, open } from '../lib/map'
import { test } from '../lib/page'

const small = ['--topology', 'kary-ntree:2,2', '--traffic', 'uniform:0.02']

test('killed and started again, the page goes on with the new run', async ({ page }, info) => {
  const f = await Fabric.up(...small)
  try {
    await open(page, f)
    await f.linkmon('cut', 's0.0-s1.0')
    await expect(page.getByTestId('faulty')).toContainText('s0.0-s1.0')
    const run = await page.evaluate(() => window.weft.run)
    await f.kill()
    await expect(page.getByTestId('connection')).toHaveAttribute('data-state', 'away')
    await look(page, info, 'away')

    await f.start() // at the same address, with another token
    await live(page)
    expect(await page.evaluate(() => window.weft.run)).not.toBe(run)
    await expect(page.getByTestId('all-well')).toBeVisible()
    await expect(page.getByTestId('faults-panel')).toHaveCount(0)
    await expect(page.getByTestId('read-only')).toBeVisible()
    await expect(page.getByTestId('heal')).toBeDisabled()
    await look(page, info, 'another-run')

    // The address of the new run, in the same tab, brings its token.
    await page.goto(f.page)
    await live(page)
    await expect(page.getByTestId('read-only')).toBeHidden()
    await f.linkmon('cut', 's0.0-s1.0')
    await page.getByTestId('heal').click()
    await expect.poll(async () => (await f.link('s0.0-s1.0')).state).toBe('up')
  } finally {
    expect(await f.stop()).toBe(0)
  }
})

test('who manages a fabric of InfiniBand, and what a fault cost in each phase', async ({ page }) => {
  const f = await Fabric.up(...small, '--routing', 'infiniband', `--ib=page-${process.pid}`, '--ib-priority', '2')
  try {
    await open(page, f)
    const managers = page.getByTestId('managers')
    await expect(managers).toContainText('our own manager at n11: master, priority 2')
    await expect(managers).toContainText('16 active')
    await f.linkmon('cut', 's0.0-s1.0')
    await expect(managers).toContainText('14 active, 2 down')
    await f.linkmon('restore', 's0.0-s1.0') // its ports begin at Init
    await expect(managers).toContainText('16 active')
    await page.getByTestId('tab-faults').click()
    await page.getByTestId('fault').first().getByRole('button').click()
    await expect(page.getByTestId('fault-report')).toContainText('lost meanwhile')
  } finally {
    expect(await f.stop()).toBe(0)
  }
})

test('another shape after a restart is drawn anew', async ({ page }) => {
  test.skip(!soak, 'another run is drawn anew as well')
  const f = await Fabric.up(...small)
  let other: Fabric | null = null
  try {
    await open(page, f)
    expect(await page.evaluate(() => window.weft.switches)).toBe(4)
    await f.kill()
    other = new Fabric(['--topology', 'torus:4x4', '--routing', 'none'])
    other.page = f.page
    await other.start()
    await expect.poll(() => page.evaluate(() => [window.weft.connection, window.weft.switches, window.weft.links])).toEqual(['live', 16, 48])
  } finally {
    await f.stop()
    await other?.stop()
  }
})

test('with a wrong token the page shows, and may not act', async ({ page }, info) => {
  const f = await Fabric.up(...small)
  try {
    await open(page, f, `${f.url}#token=WRONG`)
    await page.getByTestId('heal').click()
    await expect(page.getByTestId('toast')).toContainText('token')
    await expect(page.getByTestId('read-only')).toBeVisible()
    await expect(page.getByTestId('heal')).toBeDisabled()
    await look(page, info, 'wrong-token')
    // The right one, in the same tab.
    await page.goto(f.page)
    await expect(page.getByTestId('heal')).toBeEnabled()
    await page.keyboard.press('H')
    await expect(page.getByTestId('toast').last()).toContainText('heal everything')
    // It is kept over a reload, though the address no longer shows it.
    expect(page.url()).toBe(f.url)
    await page.reload()
    await live(page)
    await expect(page.getByTestId('heal')).toBeEnabled()
  } finally {
    expect(await f.stop()).toBe(0)
  }
})

test('a page of somebody else cannot act, or look', async ({ page }) => {
  const f = await Fabric.up(...small)
  const stranger = await Fabric.up(...small)
  try {
    await page.goto(stranger.url) // its origin is another: the port differs
    await expect(page.getByTestId('connection')).toHaveAttribute('data-state', 'live')
    const tried = await page.evaluate(async (url) => {
      const attempt = async (path: string, init: RequestInit) => {
        try {
          return (await fetch(url + path, init)).status
        } catch {
          return 'refused'
        }
      }
      return [
        await attempt('api/v1/links/s0.0-s1.0/cut', { method: 'POST', mode: 'no-cors', body: '{}' }),
        await attempt('api/v1/status', {}),
      ]
    }, f.url)
    expect(tried).toEqual(['refused', 'refused'])
    expect((await f.link('s0.0-s1.0')).state).toBe('up')
  } finally {
    await f.stop()
    await stranger.stop()
  }
})

test('nothing goes wrong in the console, and nothing is loaded from elsewhere', async ({ page }) => {
  await page.goto('about:blank') // the page of the test before asks for a fabric that has ended
  const f = await Fabric.up(...small)
  const said: string[] = []
  page.on('console', (m) => m.type() === 'error' && said.push(m.text()))
  page.on('pageerror', (e) => said.push(e.message))
  const hosts = new Set<string>()
  page.on('request', (r) => hosts.add(new URL(r.url()).host))
  try {
    await open(page, f)
    await page.getByTestId('heal').click()
    for (const tab of ['selected', 'flow', 'faults', 'fabric']) await page.getByTestId(`tab-${tab}`).click()
    await page.getByTestId('fabric-picker').click()
    await expect(page.getByTestId('fabrics-dialog')).toContainText('this one')
    expect(said).toEqual([])
    expect([...hosts]).toEqual([new URL(f.url).host])
  } finally {
    expect(await f.stop()).toBe(0)
  }
})
