// What is measured goes into results, which git ignores, as Markdown, with what it was measured on.

import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'

export const folder = process.env.WEFT_RESULTS ?? join(import.meta.dirname, '../../../../results')

export function median(values: number[]): number {
  const v = [...values].sort((a, b) => a - b)
  const middle = v.length >> 1
  return v.length % 2 ? v[middle]! : (v[middle - 1]! + v[middle]!) / 2
}

export function table(head: string[], rows: (string | number)[][]): string {
  const line = (cells: (string | number)[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n')
}

// machine says what the figures are of. The load is that of the last minute, of everything that runs there.
export function machine(browser: string): string {
  const revision = git('rev-parse', '--short=12', 'HEAD')
  const changed = git('status', '--porcelain', '--', ':/', ':!/docs') ? '+dirty' : ''
  return `Revision ${revision}${changed}, ${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores (${cpus()[0]?.model.trim()}), ` +
    `Chromium ${browser} headless without a graphics card, load average ${loadavg()[0]!.toFixed(1)}.`
}

export function write(name: string, text: string): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, name), text)
  console.log(text)
}

function git(...args: string[]): string {
  try {
    return execFileSync('git', args, { encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}
