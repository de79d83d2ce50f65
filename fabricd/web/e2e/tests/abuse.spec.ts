// A burst of requests while a browser watches: bounded answers, and the fabric goes on unharmed.

import { request, Agent } from 'node:http'
import { expect } from '@playwright/test'
import { Fabric } from '../lib/fabric'
import { soak } from '../lib/level'
import { look, open } from '../lib/map'
import { test } from '../lib/page'

const burst = soak ? 10_000 : 800
const atOnce = 400 // more than fabricd holds connections

interface Ask {
  method: string
  path: string
  body?: string
  headers?: Record<string, string>
}

// ask sends one request and returns its status, or the error that ended it.
function ask(f: Fabric, agent: Agent, a: Ask): Promise<string> {
  return new Promise((resolve) => {
    const sent = request(new URL(a.path, f.url), { agent, method: a.method, headers: { ...a.headers } }, (answer) => {
      answer.resume()
      answer.on('end', () => resolve(String(answer.statusCode)))
      answer.on('error', (e: NodeJS.ErrnoException) => resolve(e.code ?? e.message))
    })
    sent.on('error', (e: NodeJS.ErrnoException) => resolve(e.code ?? e.message))
    sent.end(a.body)
  })
}

test('a burst of requests harms nobody', async ({ page }, info) => {
  const f = await Fabric.up('--topology', 'kary-ntree:4,2', '--traffic', 'uniform:0.05')
  const token = { Authorization: `Bearer ${f.token}`, 'Content-Type': 'application/json' }
  const asks: Ask[] = [
    { method: 'GET', path: 'api/v1/status' },
    { method: 'GET', path: 'api/v1/topology' },
    { method: 'GET', path: 'api/v1/links' },
    { method: 'GET', path: 'api/v1/switches/s0.0' },
    { method: 'GET', path: 'metrics' },
    { method: 'GET', path: 'api/v1/links/no%20such%20link' },
    { method: 'POST', path: 'api/v1/links/s0.0-s1.0/cut', headers: token, body: '{}' },
    { method: 'POST', path: 'api/v1/links/s0.0-s1.0/restore', headers: token, body: '{}' },
    { method: 'POST', path: 'api/v1/links/s0.0-s1.1/cut', headers: token, body: '{"silent": tru' },
    { method: 'POST', path: 'api/v1/heal', body: '{}' },
    { method: 'POST', path: 'api/v1/heal', headers: { Authorization: 'Bearer WRONG' }, body: '{}' },
    { method: 'DELETE', path: 'api/v1/links' },
  ]
  // Each of them alone, before the crowd.
  const agent = new Agent({ keepAlive: false, maxSockets: atOnce }) // connections kept would be in the way of those that wait for one
  try {
    const alone: string[] = []
    for (const a of asks) alone.push(await ask(f, agent, a))
    expect(alone).toEqual(['200', '200', '200', '200', '200', '404', '200', '200', '400', '401', '401', '405'])

    await open(page, f)
    const watched = await page.evaluate(() => window.weft.frames)
    const delivered = (await f.status()).totals.delivered
    const counts = new Map<string, number>()
    let next = 0
    const began = Date.now()
    await Promise.all(Array.from({ length: atOnce }, async () => {
      for (let i = next++; i < burst; i = next++) {
        const got = await ask(f, agent, asks[i % asks.length]!)
        counts.set(got, (counts.get(got) ?? 0) + 1)
      }
    }))
    console.log(`${burst} requests, ${atOnce} at once, in ${Date.now() - began} ms: ${[...counts].sort().map(([k, n]) => `${n} x ${k}`).join(', ')}`)
    expect([...counts.values()].reduce((a, b) => a + b)).toBe(burst)
    const known = ['200', '400', '401', '404', '405', '429', '503']
    expect([...counts.keys()].filter((k) => !known.includes(k)), 'other answers than these').toEqual([])

    // It goes on: who watches gets frames, packets arrive, and the next order is taken.
    await expect(page.getByTestId('connection')).toHaveAttribute('data-state', 'live')
    await expect.poll(() => page.evaluate(() => window.weft.frames)).toBeGreaterThan(watched)
    await expect.poll(async () => (await f.status()).totals.delivered).toBeGreaterThan(delivered)
    await look(page, info, 'after-the-burst')
    await f.heal()
  } finally {
    agent.destroy()
    expect(await f.stop()).toBe(0)
  }
  expect(f.ledger).toMatchObject({ balanced: true, in_flight: 0 })
})
