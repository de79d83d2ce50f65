// The page of a fabric that other machines can reach: HTTPS with a certificate of its own authority, and tokens to look and to operate.

import { execFileSync } from 'node:child_process'
import { createHash, X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium as browsers, expect, type Page } from '@playwright/test'
import { chromium } from '../lib/chromium'
import { bin, Fabric } from '../lib/fabric'
import { soak } from '../lib/level'
import { linkState, live, look } from '../lib/map'
import { test } from '../lib/page'

const link = 's0.0-s1.0'

// seen are all addresses that a page asks for, and what else of its requests is told to whom it asks but for the token's own header.
function seen(page: Page): string[] {
  const all: string[] = []
  page.on('request', (r) => {
    const { authorization, ...headers } = r.headers()
    all.push(r.url(), JSON.stringify(headers), r.postData() ?? '')
  })
  page.on('console', (m) => all.push(m.text()))
  return all
}

test('tokens to look and to operate, over HTTPS', async ({ page: stranger }, info) => {
  const dir = mkdtempSync(join(tmpdir(), 'weft-e2e-keys-'))
  const keys = join(dir, 'keys')
  const made = execFileSync(join(bin, 'fabricd'), ['auth', 'init', '--fabric', 'lab', '--dir', keys]).toString()
  const [view, operate] = ['view', 'operate'].map((role) => new RegExp(`${role} +([A-Z2-7]{26})`).exec(made)![1]!) as [string, string]
  const f = new Fabric([
    '--topology', 'kary-ntree:2,2', '--traffic', 'uniform:0.01', '--listen', '0.0.0.0:0', '--tokens', join(keys, 'leader/tokens.json'),
    '--page-cert', join(keys, 'leader/cert.pem'), '--page-key', join(keys, 'leader/key.pem'),
  ])
  await f.start()
  expect(f.url).toMatch(/^https:/)
  expect(f.page, 'what is printed may be kept: the token of the run is not in it').toBe(f.url)
  // The browser takes the one certificate that our authority has signed, as one in which that authority was installed.
  const spki = new X509Certificate(readFileSync(join(keys, 'leader/cert.pem'))).publicKey.export({ type: 'spki', format: 'der' })
  const pin = createHash('sha256').update(spki).digest('base64')
  const start = chromium()
  const browser = await browsers.launch({ ...start, args: [...start.args, `--ignore-certificate-errors-spki-list=${pin}`] })
  try {
    await expect(stranger.goto(f.url)).rejects.toThrow('ERR_CERT_AUTHORITY_INVALID')

    const one = async () => {
      const page = await (await browser.newContext()).newPage()
      return { page, told: seen(page) }
    }
    const open = async (page: Page, token: string) => {
      await page.goto('about:blank') // else it would only be told of what is behind the #
      await page.goto(f.url + (token && `#token=${token}`))
    }
    const looks = await one()
    for (const token of soak ? ['', 'A'.repeat(26)] : ['']) {
      const { page } = looks
      await open(page, token)
      await expect(page.getByTestId('connection')).toHaveAttribute('data-state', 'locked')
      await expect(page.getByTestId('connection')).toContainText('to look needs a token')
      expect(await page.evaluate(() => window.weft.links)).toBe(0)
    }

    await open(looks.page, view)
    await live(looks.page)
    await expect(looks.page.getByTestId('read-only')).toContainText('the token is one to view')
    await expect(looks.page.getByTestId('heal')).toBeDisabled()
    await looks.page.keyboard.press('H') // there is a key for it, too
    await looks.page.keyboard.press('k')
    await expect(looks.page.getByTestId('scissors')).toBeDisabled()
    await expect(looks.page.getByTestId('scissors')).toHaveAttribute('aria-pressed', 'false')
    await expect(looks.page.getByText('this token may look and not act')).toBeVisible()
    await look(looks.page, info, 'view')

    const acts = await one()
    await open(acts.page, operate)
    await live(acts.page)
    await expect(acts.page.getByTestId('read-only')).toBeHidden()
    await acts.page.getByTestId('search-button').click()
    await acts.page.keyboard.type(link)
    await acts.page.keyboard.press('Enter')
    await acts.page.getByTestId('cut').click()
    await expect.poll(() => linkState(looks.page, link), 'who looks sees what is done').not.toBe('up')
    await expect.poll(() => linkState(acts.page, link)).not.toBe('up')
    await acts.page.getByTestId('heal').click()
    await expect.poll(() => linkState(looks.page, link)).toBe('up')

    // What was given behind the # is in no address, and nothing that the browser sends tells it, nor what it keeps for longer than the tab.
    for (const { page, told } of [looks, acts]) {
      expect(page.url()).toBe(f.url)
      const kept = await page.evaluate(async () => ({
        history: history.length, local: JSON.stringify(localStorage), cookie: document.cookie, html: document.documentElement.outerHTML,
      }))
      expect(kept.cookie, 'HttpOnly').toBe('')
      for (const token of [view, operate]) {
        for (const text of [...told, kept.local, kept.html]) expect(text).not.toContain(token)
      }
      expect(told.length).toBeGreaterThan(10)
      if (page === looks.page && !soak) continue // both come back in the same way
      await page.goto('about:blank')
      await page.goBack()
      expect(page.url()).toBe(f.url)
      await live(page)
    }
  } finally {
    await browser.close()
    await f.stop()
    rmSync(dir, { recursive: true, force: true })
  }
})
