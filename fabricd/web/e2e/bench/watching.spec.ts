// What it costs the fabric to be watched: packet-hops per CPU-second of fabricd with two browsers and a linkmon, against
// none, in one run, in turns. Written to results/watching.md.

import { readFileSync } from 'node:fs'
import { test, type Browser } from '@playwright/test'
import { Fabric } from '../lib/fabric'
import { open } from '../lib/map'
import { machine, median, table, write } from '../lib/results'

const rounds = Number(process.env.WEFT_ROUNDS ?? 7)
const seconds = Number(process.env.WEFT_SECONDS ?? 10)

// Paced, it takes half a core, and has precedence: how much else runs on the machine must not matter. Unpaced it would take
// all there is from those who watch.
const fabrics: [what: string, nice: number, args: string[]][] = [
  ['paced, as `fabricd up` does it', -10, ['--topology', 'kary-ntree:4,3', '--traffic', 'uniform:0.2']],
  ['unpaced, as fast as it goes', 0, ['--topology', 'kary-ntree:4,3', '--traffic', 'uniform:1', '--unpaced', '--link-rate', '25600000']],
]

interface Round {
  alone: number // packet-hops per CPU-second
  watched: number
  cpuAlone: number // CPU-seconds per second
  cpuWatched: number
}

test('watching', async ({ browser }) => {
  const parts: string[] = []
  const rows: (string | number)[][] = []
  for (const [what, nice, args] of fabrics) {
    const f = new Fabric(args, nice)
    await f.start()
    try {
      const all: Round[] = []
      await pause(5000)
      for (let i = 0; i < rounds; i++) {
        all.push(await round(browser, f, i % 2 === 0))
        console.log(what, JSON.stringify(all.at(-1)))
      }
      const of = (k: keyof Round) => median(all.map((r) => r[k]))
      const ratio = median(all.map((r) => r.watched / r.alone))
      rows.push([what, Math.round(of('alone')), Math.round(of('watched')), percent(ratio), of('cpuAlone').toFixed(2), of('cpuWatched').toFixed(2)])
      parts.push(`${what}: ${all.map((r) => percent(r.watched / r.alone)).join(', ')}`)
    } finally {
      await f.kill() // at such a load it would take long to drain, and nothing of it is of interest any more
    }
  }
  write('watching.md', `# What it costs to be watched

Written by \`make watching\`. ${machine(browser.version())}

Packet-hops that fabricd forwards in a second of its own CPU time, in a 4-ary 3-tree: with two pages open in a browser and a
\`linkmon\` on full screen, and with none, in turns in one run; medians of ${rounds} rounds of ${seconds} s each, and the median of each round's
ratio. Asked for is at least 95%. The paced fabric has precedence over other processes where the user may give it that. How many
packets it forwards each time that it wakes depends on what else runs, browsers too, so its rounds differ by more than watching costs.

${table(['traffic', 'hops per CPU-second, alone', 'watched', 'ratio', 'CPUs used, alone', 'watched'], rows)}

The ratio of each round:

${parts.map((p) => `- ${p}`).join('\n')}
`)
})

// round measures both ways, once in this order and once in the other.
async function round(browser: Browser, f: Fabric, aloneFirst: boolean): Promise<Round> {
  const watched = async () => {
    const leave = await watchers(browser, f)
    const got = await measure(f)
    await leave()
    await pause(1000)
    return got
  }
  const a = aloneFirst ? await measure(f) : await watched()
  const b = aloneFirst ? await watched() : await measure(f)
  const [alone, seen] = aloneFirst ? [a, b] : [b, a]
  return { alone: alone.hops / alone.cpu, watched: seen.hops / seen.cpu, cpuAlone: alone.cpu / alone.seconds, cpuWatched: seen.cpu / seen.seconds }
}

async function measure(f: Fabric): Promise<{ hops: number; cpu: number; seconds: number }> {
  const look = async () => ({ hops: (await f.status()).totals.packet_hops, cpu: cpuTime(f.pid), at: performance.now() })
  const before = await look()
  await pause(seconds * 1000)
  const after = await look()
  return { hops: after.hops - before.hops, cpu: after.cpu - before.cpu, seconds: (after.at - before.at) / 1000 }
}

// watchers has two pages, each in a window of its own, and a linkmon look at the fabric. It returns what makes them leave.
async function watchers(browser: Browser, f: Fabric): Promise<() => Promise<void>> {
  const contexts = await Promise.all([0, 1].map(() => browser.newContext()))
  await Promise.all(contexts.map(async (c) => open(await c.newPage(), f)))
  const linkmon = f.fullScreen()
  await linkmon.drawn
  await pause(3000)
  return async () => {
    linkmon.end()
    await Promise.all(contexts.map((c) => c.close()))
  }
}

// cpuTime is what a process has used so far, in seconds: user and system time, which Linux counts in hundredths.
function cpuTime(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function percent(v: number): string {
  return `${(v * 100).toFixed(1)}%`
}
