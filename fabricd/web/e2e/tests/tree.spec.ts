// A 3-ary 3-tree under traffic, at soak a 4-ary one: what is done to it on the map, in its panels, by keys and by linkmon.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, type Page } from '@playwright/test'
import { Fabric, type Topology } from '../lib/fabric'
import { soak } from '../lib/level'
import { apart, linkState, live, look, open, places, selected, unpainted, type Point } from '../lib/map'
import { test as base } from '../lib/page'
import { median } from '../lib/results'

const k = soak ? 4 : 3 // of the tree

const guest = join(import.meta.dirname, '../../../../switch/firmware/examples/c/adaptive_link.wasm')

let f: Fabric
let t: Topology

// Each test finds the page as it was at first but for what can be undone; what fails leaves it to nobody.
let kept: Page | null = null
let whole: (Point | null)[] // where a switch is while all of the map is seen
const test = base.extend<{ shared: Page }>({
  shared: async ({ page }, use, info) => {
    if (page !== kept) await open(page, f)
    await expect(page.getByTestId('all-well')).toBeVisible()
    if (page !== kept) whole = await places(page, [t.switches[0]!.id])
    kept = null
    await use(page)
    if (info.status !== info.expectedStatus) return
    await page.keyboard.press('Escape') // out of what is typed into
    await page.keyboard.press('Escape') // nothing is selected
    await page.getByTestId('tab-fabric').click()
    await page.keyboard.press('0') // all of the map is seen again
    await expect.poll(() => places(page, [t.switches[0]!.id])).toEqual(whole)
    kept = page
  },
})

test.beforeAll(async () => {
  f = await Fabric.up('--topology', `kary-ntree:${k},3`, '--traffic', 'uniform:0.005')
  t = await f.topology()
})
test.afterAll(async () => {
  await f.heal()
  expect(await f.stop()).toBe(0)
  expect(f.ledger).toMatchObject({ balanced: true, in_flight: 0 })
})
test.afterEach(() => f.heal())

const cut = (id: string) => expect.poll(async () => (await f.link(id)).state, `${id} in the fabric`).toBe('cut')
const up = (id: string) => expect.poll(async () => (await f.link(id)).state, `${id} in the fabric`).toBe('up')

// clickable is the link that a click on the map hits best.
async function clickable(page: Page): Promise<{ id: string; at: Point }> {
  const [best] = await apart(page, t)
  return { id: best!.link.id, at: best!.at }
}

// choose selects by keys alone what has this name.
async function choose(page: Page, id: string): Promise<void> {
  await page.keyboard.press('/')
  await page.keyboard.type(id) // as fast as can be
  await page.keyboard.press('Enter')
  await expect.poll(() => selected(page)).toBe(id)
}

test('the map has all switches and links', async ({ shared: page }, info) => {
  expect(t.switches).toHaveLength(3 * k ** 2)
  expect(t.links).toHaveLength(3 * k ** 3)
  expect(await page.evaluate(() => [window.weft.switches, window.weft.links, window.weft.nics])).toEqual([3 * k ** 2, 3 * k ** 3, k ** 3])
  await expect(page.getByTestId('switch-count')).toHaveText(String(3 * k ** 2))
  await expect(page.getByTestId('link-count')).toHaveText(String(3 * k ** 3))
  await expect(page.getByTestId('all-well')).toBeVisible()
  const ids = [...t.switches, ...t.links].map((e) => e.id)
  const at = await places(page, ids)
  expect(at).not.toContain(null)
  const nowhere = { x: 20, y: 70 }
  const missing = await unpainted(page, [...(at as Point[]), nowhere])
  expect(missing.map((i) => ids[i] ?? 'nowhere'), 'nothing is drawn where these are').toEqual(['nowhere'])
  await look(page, info, 'tree')
  await page.getByTestId('theme').click()
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'light')
  await look(page, info, 'tree-light')
  await page.getByTestId('theme').click()
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark')
})

test('a double click cuts too, and undo takes back what was done', async ({ shared: page }) => {
  const { id, at } = await clickable(page)
  await expect(page.getByTestId('undo')).toBeDisabled() // nothing has been done on this page
  await page.mouse.dblclick(at.x, at.y)
  await cut(id)
  await page.getByTestId('undo').click()
  await up(id)
  await expect(page.getByTestId('undo')).toBeDisabled()
})

test('a click on a link cuts it in the fabric, and its report appears', async ({ shared: page }, info) => {
  const { id, at } = await clickable(page)
  await page.getByTestId('scissors').click()
  await page.mouse.click(at.x, at.y)
  await cut(id)
  const [report] = (await f.faults()).filter((r) => r.target === id)
  expect(report).toMatchObject({ kind: 'cut' })
  await expect.poll(() => linkState(page, id)).toBe('cut')
  expect(await selected(page)).toBe(id)
  await expect(page.getByTestId('link-state')).toHaveAttribute('data-state', 'cut')
  await page.getByTestId('tab-faults').click()
  await page.getByTestId('faults-panel').locator(`[data-testid=fault][data-fault="${report!.id}"] button`).click()
  const shown = page.getByTestId('fault-report')
  await expect(shown).toContainText(`cut ${id}`)
  await expect(shown).toContainText('by signal') // both ends have noticed
  await expect(page.locator(`[data-testid=timeline-fault][data-fault="${report!.id}"]`)).toBeVisible()
  await look(page, info, 'cut')

  // The same click restores what is cut.
  await page.mouse.click(at.x, at.y)
  await up(id)
  await expect.poll(() => linkState(page, id)).toBe('up')
  await look(page, info, 'restored')
  await page.keyboard.press('Escape')
  await expect(page.getByTestId('scissors')).toHaveAttribute('aria-pressed', 'false')
})

test('of two links under the pointer the page asks which', async ({ shared: page }, info) => {
  const pair = ['s1.00-s2.01', 's1.01-s2.00'] // they cross in the middle
  const at = (await page.evaluate((id) => window.weft.place(id), pair[0]!))!
  await page.getByTestId('scissors').click()
  for (const leave of [() => page.keyboard.press('Escape'), () => page.getByTestId('choice').getByText(pair[1]!).click()]) {
    await page.mouse.click(at.x, at.y)
    await expect(page.getByTestId('choice').getByRole('menuitem')).toHaveCount(2)
    await look(page, info, 'choice')
    expect((await f.status()).links_cut).toEqual([])
    await leave()
    await expect(page.getByTestId('choice')).toHaveCount(0)
  }
  await cut(pair[1]!)
  await up(pair[0]!)
  await page.keyboard.press('Escape')
})

test('on a small screen the panel folds, and the map has all of the width', async ({ shared: page }, info) => {
  const size = page.viewportSize()!
  const panel = page.getByTestId('fabric-panel')
  await page.setViewportSize({ width: 800, height: 600 })
  if (await panel.isVisible()) await page.getByTestId('tab-fabric').click()
  await expect(panel).toBeHidden()
  const map = (await page.getByTestId('map').boundingBox())!
  expect([map.width, map.height > 300]).toEqual([800, true])
  const help = (await page.getByTestId('help-button').boundingBox())!
  expect(help.x + help.width, 'the header fits').toBeLessThanOrEqual(800)
  const [left, right] = (await places(page, [t.nics[0]!.id, t.nics.at(-1)!.id])) as [Point, Point]
  expect(right.x - left.x, 'a tree fills the width').toBeGreaterThan(620)
  await look(page, info, 'small')
  await page.getByTestId('tab-faults').click()
  await expect(page.getByTestId('faults-panel')).toBeVisible()
  await page.setViewportSize(size)
})

test('a cut by linkmon appears within a second', async ({ shared: page }, info) => {
  await page.getByTestId('tab-fabric').click()
  const took: number[] = []
  for (const { id } of t.links.slice(0, soak ? 5 : 3)) {
    // When the page has drawn it, by the clock that this process has as well.
    const drawn = page.evaluate((id) => new Promise<number>((resolve) => {
      const see = () => {
        const listed = [...document.querySelectorAll('[data-testid=faulty] button')].some((e) => e.textContent === id)
        if (listed && window.weft.link(id)?.state === 'cut') resolve(Date.now())
        else requestAnimationFrame(see)
      }
      see()
    }), id)
    await f.linkmon('cut', id)
    const done = Date.now()
    took.push(Math.max(0, (await drawn) - done))
  }
  const text = `a cut by linkmon is drawn ${took.join(', ')} ms after linkmon says that it is done`
  console.log(text)
  info.annotations.push({ type: 'measured', description: text })
  expect(median(took), text).toBeLessThan(1000) // single ones may be late because the machine is busy
  await look(page, info, 'cut-by-linkmon')
})

test('a silent cut is shown as that until it is noticed', async ({ shared: page }, info) => {
  const id = t.links[3]!.id
  await choose(page, id)
  await page.getByTestId('cut-silently').click()
  await expect.poll(async () => (await f.link(id)).cut_ab).toBe('silent')
  await expect(page.getByTestId('link-state')).toHaveAttribute('data-story', 'noticed')
  await look(page, info, 'silent')
  await page.getByTestId('restore').click()
  await up(id)
  await expect(page.getByTestId('link-state')).toHaveAttribute('data-story', 'up')
})

test('a link is cut one way and impaired from its panel', async ({ shared: page }) => {
  const id = t.links[4]!.id
  await choose(page, id)
  await page.getByTestId('direction').selectOption('to')
  await page.getByTestId('cut').click()
  await expect.poll(async () => ((l) => [l.cut_ab, l.cut_ba])(await f.link(id))).toEqual(['signalled', ''])
  await page.getByTestId('direction').selectOption('')
  await page.getByTestId('restore').click()
  await up(id)
  await page.getByTestId('loss').fill('10%')
  await page.getByTestId('impair').click()
  await expect.poll(async () => (await f.link(id)).suffers_ab).toBe('loss 10%')
  await expect(page.getByTestId('link-state')).toHaveAttribute('data-story', 'impaired')
  await page.getByTestId('flap').click()
  await expect.poll(async () => (await f.link(id)).flapping).toBe(true)
  await expect(page.getByTestId('link-state')).toHaveAttribute('data-story', 'flapping')
})

test('a switch is crashed on the map and restarted', async ({ shared: page }, info) => {
  const id = t.switches[0]!.id
  const [at] = await places(page, [id])
  await page.mouse.click(at!.x, at!.y)
  await expect(page.getByTestId('switch-panel')).toContainText(id)
  await expect(page.getByTestId('switch-panel').locator('.ports')).toBeVisible()
  await look(page, info, 'switch')
  await page.getByTestId('crash').click()
  await expect.poll(async () => (await f.switchState(id)).state).toBe('down')
  await expect(page.getByTestId('switch-state')).toHaveAttribute('data-state', 'down')
  for (const l of t.links.filter((l) => l.a === id || l.b === id)) expect((await f.link(l.id)).state).toBe('down')
  await look(page, info, 'crashed')
  await page.getByTestId('restart').click()
  await expect.poll(async () => (await f.switchState(id)).state).toBe('up')
  await expect(page.getByTestId('switch-state')).toHaveAttribute('data-state', 'up')
})

test('heal all ends every fault, and can be undone', async ({ shared: page }, info) => {
  const [a, b] = [t.links[0]!.id, t.links[9]!.id]
  const s = t.switches[5]!.id
  await f.linkmon('cut', a)
  await f.linkmon('cut', b, '--silent')
  await f.linkmon('crash', s)
  await page.getByTestId('tab-fabric').click()
  await expect(page.getByTestId('faulty')).toContainText(a)
  await expect(page.getByTestId('faulty')).toContainText(s)
  await look(page, info, 'faulty')
  await page.getByTestId('heal').click()
  await expect.poll(() => f.status()).toMatchObject({ links_cut: [], switches_down: [] })
  await expect(page.getByTestId('all-well')).toBeVisible()
  await page.getByTestId('undo').click()
  await expect.poll(async () => (await f.status()).switches_down).toEqual([s])
  expect(await f.link(a)).toMatchObject({ cut_ab: 'signalled', cut_ba: 'signalled' })
  expect(await f.link(b)).toMatchObject({ cut_ab: 'silent', cut_ba: 'silent' })
})

test('a second tab agrees', async ({ shared: page }, info) => {
  const other = await page.context().newPage()
  await open(other, f, f.url) // without a token: it may only look
  await expect(other.getByTestId('read-only')).toBeVisible()
  await expect(other.getByTestId('heal')).toBeDisabled()
  const { id, at } = await clickable(page)
  await page.mouse.click(at.x, at.y)
  await page.getByTestId('cut').click()
  await cut(id)
  for (const p of [page, other]) await expect.poll(() => linkState(p, id)).toBe('cut')
  await expect(other.getByTestId('faulty')).toContainText(id)
  const told = (p: Page) => p.evaluate((ids) => ids.map((id) => window.weft.link(id)?.state), t.links.map((l) => l.id))
  await expect.poll(() => told(other)).toEqual(await told(page))
  await look(other, info, 'second-tab')
  await choose(other, 's1.00')
  await expect(other.getByTestId('firmware')).toBeVisible()
  await expect(other.getByTestId('load')).toBeDisabled()
  await other.close()
})

test('the keyboard alone finds a link, cuts it and restores it', async ({ shared: page }, info) => {
  const { a, id } = t.links.find((l) => l.a.startsWith('s'))!
  await choose(page, a)
  await expect(async () => { // through the links of the switch, one by one
    await page.keyboard.press(']')
    expect(await selected(page)).toBe(id)
  }).toPass({ intervals: [50] })
  await page.keyboard.press('c')
  await cut(id)
  await expect.poll(() => linkState(page, id)).toBe('cut')
  await look(page, info, 'cut-by-key')
  for (const key of 'rC') await page.keyboard.press(key) // orders given faster than they are answered
  await expect.poll(async () => (await f.link(id)).cut_ab).toBe('silent')
  await page.keyboard.press('u')
  await up(id)
  await page.keyboard.press('c')
  await cut(id)
  await page.keyboard.press('H')
  await up(id)
  await page.keyboard.press('?')
  await expect(page.getByTestId('help-dialog')).toBeVisible()
  await look(page, info, 'keys')
  await page.keyboard.press('Escape')
  await expect(page.getByTestId('help-dialog')).toBeHidden()
})

test('the search finds switches, links and NICs, and says when there is none', async ({ shared: page }) => {
  for (const [kind, id] of [['switch', 's1.00'], ['nic', 'n012'], ['link', 's0.00-s1.00']] as const) {
    await page.getByTestId('search-button').click()
    await page.getByTestId('search').fill(id)
    await page.getByTestId('search-dialog').getByRole('option').first().click()
    expect(await selected(page)).toBe(id)
    await expect(page.getByTestId(`${kind}-panel`)).toBeVisible()
  }
  await page.keyboard.press('/')
  await page.getByTestId('search').fill('s9.99')
  await expect(page.getByTestId('search-dialog')).toContainText('nothing by that name')
  await page.keyboard.press('Escape')
  await live(page)
})

test('packets of a flow are followed', async ({ shared: page }, info) => {
  await page.keyboard.press('t')
  await page.getByTestId('flow-src').fill('n000')
  await page.getByTestId('flow-dst').fill('n222')
  await page.getByTestId('flow-toggle').click()
  await expect(page.getByTestId('journey').first()).toContainText('s')
  await look(page, info, 'flow')
  await page.getByTestId('flow-toggle').click()
})

// others counts the switches that run another firmware than the fabric's, as the map has it.
const others = (page: Page) => page.evaluate((ids) => ids.filter((id) => window.weft.switch(id)?.routing === 1).length, t.switches.map((s) => s.id))

test('a switch runs another firmware, chosen in its panel', async ({ shared: page }, info) => {
  const id = 's1.00'
  await choose(page, id)
  await expect(page.getByTestId('firmware')).toHaveText('runs adaptive-link')
  await expect(page.locator('#routings option[value="updn"]')).toBeAttached()
  await expect(page.locator('#routings option[value="dimension-order"]'), 'is for meshes').toHaveCount(0)
  await page.getByTestId('load-routing').fill('adaptiv-switch')
  await page.getByTestId('load').click()
  await expect(page.getByTestId('toast').last()).toContainText('did you mean "adaptive-switch"')
  await expect(page.getByTestId('rollout-cost')).toHaveCount(0)
  await page.getByTestId('load-routing').fill('adaptive-switch')
  await expect(page.getByTestId('load-about')).toContainText('re-routes around dead switches')
  await page.getByTestId('load').click()
  await expect(page.getByTestId('rollout-cost')).toContainText(/^1 switch runs adaptive-switch after \d+\.\d s\nmeanwhile [\d,]+ delivered, 0 lost, 0 discarded, \d+ reordered, 0 re-routed; worst latency /)
  await expect(page.getByTestId('firmware')).toHaveText('runs adaptive-switch in place of adaptive-link, the fabric\'s')
  expect((await f.switchState(id)).routing).toBe('adaptive-switch')
  await expect.poll(() => others(page)).toBe(1)
  await look(page, info, 'loaded')
  await f.linkmon('load', id, 'adaptive-link')
  await expect(page.getByTestId('firmware')).toHaveText('runs adaptive-link')
})

test('switches run a module that was chosen, with its hash, and what is none is refused', async ({ shared: page }, info) => {
  await choose(page, 's1.00')
  const run = () => page.getByTestId('load').click()
  await page.getByTestId('load-routing').fill('wasm:./fw.wasm')
  await run()
  await expect(page.getByTestId('toast').last()).toContainText('choose it with the button File')
  await page.getByTestId('load-file').setInputFiles({ name: 'none.wasm', mimeType: 'application/wasm', buffer: Buffer.from('no module') })
  await run()
  await expect(page.getByTestId('toast').last()).toContainText('none.wasm: it is no WebAssembly module')
  const opened = page.waitForEvent('filechooser')
  await page.getByTestId('load-choose').click()
  await (await opened).setFiles(guest)
  await expect(page.getByTestId('load-routing')).toHaveValue('wasm:adaptive_link.wasm')
  await look(page, info, 'module-chosen')
  await run()
  const name = `wasm:adaptive_link.wasm@${createHash('sha256').update(readFileSync(guest)).digest('hex').slice(0, 16)}`
  await expect(page.getByTestId('rollout-cost')).toContainText(`1 switch runs ${name} after`)
  expect((await f.switchState('s1.00')).routing).toBe(name)
  await look(page, info, 'module-loaded')
  await page.getByTestId('load-routing').fill('wasm:adaptive_link.wasm:no=1')
  await run()
  await expect(page.getByTestId('toast').last()).toContainText('unknown option')
  await f.linkmon('load', 's1.00', 'adaptive-link')
  await expect(page.getByTestId('firmware')).toHaveText('runs adaptive-link')
})

test('all switches run another firmware, one after the other until that is stopped, or at once', async ({ shared: page }, info) => {
  const all = t.switches.length
  await choose(page, 's1.00')
  await page.getByTestId('load-routing').fill('adaptive-switch')
  await expect(page.getByTestId('load-every')).toBeHidden()
  await page.getByTestId('load-into').selectOption('rolling')
  await page.getByTestId('load-every').fill('0.2')
  await page.getByTestId('load').click()
  await expect(page.getByTestId('load')).toBeDisabled()
  await expect.poll(() => others(page)).toBeGreaterThan(2)
  await page.getByTestId('tab-fabric').click() // it goes on, and is stopped from here too
  await expect(page.getByTestId('firmwares')).toContainText('adaptive-switch')
  await look(page, info, 'rolling')
  await page.getByTestId('rollout-stop').click()
  const cost = page.getByTestId('rollout-cost')
  await expect(cost).toContainText(new RegExp(`^stopped: \\d+ of ${all} switches run adaptive-switch, the others what they ran, after `))
  const done = Number(/\d+/.exec((await cost.textContent())!)![0])
  expect(done).toBeLessThan(all)
  await expect.poll(() => others(page)).toBe(done)
  await expect(page.getByTestId('firmwares').locator('div')).toHaveText([`adaptive-link ${all - done} of ${all} switches`, `1 adaptive-switch ${done} of ${all} switches`])

  await page.getByTestId('tab-selected').click()
  await page.getByTestId('load-routing').fill('adaptive-link')
  await page.getByTestId('load-into').selectOption('all')
  await page.getByTestId('load').click()
  await expect(cost).toContainText(`${all} switches run adaptive-link after `)
  await expect.poll(() => others(page)).toBe(0)
  await page.getByTestId('tab-fabric').click()
  await expect(page.getByTestId('firmwares')).toHaveCount(0)
})
