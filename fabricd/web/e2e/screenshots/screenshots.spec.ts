// Pictures of what users see, for people to look at: the page, a report, the screen of linkmon. Written to
// results/screenshots; those that the documentation shows to docs too.

import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test, type Page } from '@playwright/test'
import { bin, Fabric } from '../lib/fabric'
import { open } from '../lib/map'
import { folder } from '../lib/results'

Object.assign(process.env, { CLICOLOR_FORCE: '1', COLORTERM: 'truecolor', TERM: 'xterm-256color' }) // for linkmon, which writes to a pipe
const root = join(import.meta.dirname, '../../../..')
const out = join(folder, 'screenshots')

// What docs shows, by the name of its picture.
const shown: Record<string, string> = {
  'tree-dark-1440x900': 'page.png', 'deadlock-light-1440x900': 'deadlock.png', 'tree-screen-120x40': 'screen.png', 'report-light': 'report.png',
}

interface State {
  args: string[]
  seconds: number // that the fabric has before it is looked at
  act?: (f: Fabric) => Promise<unknown>
  look?: (page: Page) => Promise<unknown>
  alarm?: string // what is to be seen then
}

const states: Record<string, State> = {
  tree: {
    args: ['--topology', 'kary-ntree:4,3', '--traffic', 'uniform:0.1'], seconds: 40,
    act: (f) => f.post('apply', { specs: [{ do: 'cut', a: 's0.00', b: 's1.10' }, { do: 'crash', a: 's1.21' }] }),
  },
  link: {
    args: ['--topology', 'kary-ntree:4,3', '--traffic', 'uniform:0.1'], seconds: 5,
    act: (f) => f.linkmon('cut', 's0.00', 's1.00', '--silent'),
    look: async (page) => {
      await page.getByTestId('tab-fabric').click()
      if (!(await page.locator('#panel').isVisible())) await page.getByTestId('tab-fabric').click()
      await page.getByTestId('faulty').getByRole('button').first().click()
      if ((await page.getByTestId('legend').getAttribute('open')) === null) await page.keyboard.press('l')
    },
  },
  deadlock: { args: ['--topology', 'ring:8', '--routing', 'minimal-hop', '--traffic', 'tornado:1'], seconds: 4, alarm: 'deadlock' },
  irregular: { args: ['--topology', 'irregular:16,32,1'], seconds: 6 },
  torus: { args: ['--topology', 'torus:4x4x4'], seconds: 6, act: (f) => f.linkmon('crash', 's1.1.1') },
  large: { args: ['--topology', 'mport-tree:36,2'], seconds: 12 },
  pods: { args: ['--topology', 'mport-tree:36,3', '--traffic', 'none'], seconds: 12, act: (f) => f.linkmon('cut', 's0.0.0', 's1.0.0') },
  slow: { args: ['--topology', 'kary-ntree:4,3', '--traffic', 'uniform:0.1', '--time-factor', '0.1', '--fixed'], seconds: 12 },
  behind: {
    args: ['--topology', 'mport-tree:36,2', '--time-factor', '1', '--fixed', '--traffic', 'uniform:0.5'], seconds: 20, alarm: 'overload',
  },
}

for (const [name, s] of Object.entries(states)) {
  test(name, async ({ page }) => {
    const f = await Fabric.up(...s.args)
    try {
      await page.waitForTimeout(s.seconds * 500)
      await s.act?.(f)
      await page.waitForTimeout(s.seconds * 500)
      await open(page, f)
      for (const [width, height] of [[1440, 900], [800, 600]] as const) {
        for (const colorScheme of ['dark', 'light'] as const) {
          await page.emulateMedia({ colorScheme })
          await page.setViewportSize({ width, height })
          if (s.alarm) await expect(page.getByTestId(s.alarm)).toBeVisible()
          await s.look?.(page)
          await page.mouse.move(2, 2)
          await page.waitForTimeout(2000) // for charts and map to have settled
          await take(page, `${name}-${colorScheme}-${width}x${height}`)
        }
      }
      await page.goto('about:blank')
      for (const [columns, lines] of [[80, 24], [120, 40], [200, 60]] as const) {
        await terminal(page, await f.linkmon('screen', '--once', '--columns', `${columns}`, '--lines', `${lines}`))
        await take(page, `${name}-screen-${columns}x${lines}`)
      }
    } finally {
      await f.kill() // what is left of its packets is of no interest
    }
  })
}

test('report', async ({ page }) => {
  const folder = 'results/heal'
  execFileSync(join(bin, 'fabricd'), ['run', '--virtual', 'scenarios/heal.yaml', '--report', folder], { cwd: root })
  await page.setViewportSize({ width: 1440, height: 900 })
  for (const scheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme: scheme })
    await page.goto(pathToFileURL(join(root, folder, 'report.html')).href)
    await take(page, `report-${scheme}`)
    await page.screenshot({ path: join(out, `report-${scheme}-whole.png`), fullPage: true })
  }
})

async function take(page: Page, name: string): Promise<void> {
  mkdirSync(out, { recursive: true })
  const path = join(out, `${name}.png`)
  await page.screenshot({ path })
  const doc = shown[name]
  if (doc) copyFileSync(path, join(root, 'docs', doc))
}

const [ground, text] = ['#0c131f', '#d8dee8']

// terminal shows what a terminal would of lines with SGR sequences.
async function terminal(page: Page, lines: string): Promise<void> {
  const escaped = lines.replace(/&/g, '&amp;').replace(/</g, '&lt;')
  // The font has no braille, and what stands in for it is wider.
  const braille = escaped.replace(/[\u2800-\u28ff]/g, '<i>$&</i>')
  const spans = braille.replace(/\x1b\[([\d;]*)m/g, (_, codes: string) => `</span><span style="${style(codes)}">`)
  await page.setContent(`<style>i { display: inline-block; width: 1ch; transform: scaleX(.8); transform-origin: 0; font-style: normal }</style>
    <body style="margin:0;background:${ground}"><pre style="width:max-content;margin:0;padding:12px;color:${text};
    font:14px/17px 'DejaVu Sans Mono',monospace"><span>${spans}</span></pre></body>`)
  const box = (await page.locator('pre').boundingBox())!
  await page.setViewportSize({ width: Math.ceil(box.width), height: Math.ceil(box.height) })
}

function style(codes: string): string {
  const colour = /38;2;(\d+;\d+;\d+)/.exec(codes)?.[1]?.replaceAll(';', ',')
  const flags = codes.replace(/38;2;\d+;\d+;\d+/, '').split(';')
  return `font-weight:${flags.includes('1') ? 'bold' : 'normal'};` +
    (flags.includes('7') ? `background:${text};color:${ground}` : colour ? `color:rgb(${colour})` : '')
}
