// A fabricd up of its own for a test, in a registry of its own, asked and ordered over HTTP, past the page.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'

// Where fabricd and linkmon are: make build puts them there.
export const bin = resolve(process.env.WEFT_BIN ?? join(import.meta.dirname, '../../../../bin'))

export interface LinkEnds {
  id: string
  a: string
  b: string
  bend?: number
}

export interface Topology {
  spec: string
  switches: { id: string }[]
  nics: { id: string }[]
  links: LinkEnds[]
  layout: { kind: string }
}

export interface LinkState {
  link: string
  state: string
  cut_ab: string
  cut_ba: string
  flapping: boolean
  suffers_ab: string
  a_up: boolean
  b_up: boolean
}

export interface Report {
  id: number
  kind: string
  target: string
  silent?: boolean
  restored_at?: number
}

export interface Ledger {
  injected: number
  delivered: number
  lost: number
  discarded: number
  in_flight: number
  balanced: boolean
}

export interface Status {
  topology: string
  links_cut: string[]
  switches_down: string[]
  totals: { packet_hops: number; delivered: number }
  ledger: Ledger
}

interface Line {
  up?: { page: string }
  ledger?: Ledger
}

export class Fabric {
  page = '' // the address with the token of this run
  ledger: Ledger | null = null // as it prints at its end
  private process: ChildProcess | null = null
  private said = '' // to stderr
  private readonly dir = mkdtempSync(join(tmpdir(), 'weft-e2e-'))
  private readonly env = { ...process.env, WEFT_RUN_DIR: this.dir }

  // nice is how it stands back behind other processes, below 0 how it comes before them, which takes being root.
  constructor(private readonly args: string[], private readonly nice = 0) {}

  static async up(...args: string[]): Promise<Fabric> {
    const f = new Fabric(args)
    await f.start()
    return f
  }

  // start runs fabricd on a free port, or on the one it had before.
  async start(): Promise<void> {
    const listen = this.page ? new URL(this.page).host : '127.0.0.1:0'
    const fabricd = [join(bin, 'fabricd'), 'up', '--json', '--listen', listen, ...this.args]
    const [command, ...args] = this.nice ? ['nice', '-n', String(this.nice), ...fabricd] : fabricd
    const p = spawn(command!, args, { env: this.env, stdio: ['ignore', 'pipe', 'pipe'] })
    this.process = p
    this.said = ''
    p.stderr.on('data', (b: Buffer) => (this.said += b.toString()))
    const lines = createInterface({ input: p.stdout })
    this.page = await new Promise<string>((resolve, reject) => {
      lines.on('line', (text) => {
        const line = JSON.parse(text) as Line
        if (line.up) resolve(line.up.page)
        if (line.ledger) this.ledger = line.ledger
      })
      p.on('error', (e) => reject(new Error(`${p.spawnfile}: ${e.message}: make build builds it; WEFT_BIN says where it is`)))
      p.on('exit', (code) => reject(new Error(`fabricd ended with ${code}: ${this.said}`)))
    })
  }

  get pid(): number { return this.process!.pid! }
  get url(): string { return this.page.split('#')[0]! }
  get token(): string { return this.page.split('#token=')[1]! }

  // stop ends it as Ctrl-C does, and returns its exit code. What is cut off from its destination would be waited for: heal first.
  async stop(): Promise<number | null> {
    const code = await this.end('SIGINT')
    rmSync(this.dir, { recursive: true, force: true })
    return code
  }

  async kill(): Promise<void> {
    await this.end('SIGKILL')
  }

  private async end(signal: NodeJS.Signals): Promise<number | null> {
    const p = this.process
    this.process = null
    if (!p || p.exitCode !== null || p.signalCode !== null) return p?.exitCode ?? null
    const ended = once(p, 'close')
    p.kill(signal)
    await ended
    return p.exitCode
  }

  async get<T>(path: string): Promise<T> {
    const answer = await fetch(`${this.url}api/v1/${path}`)
    if (!answer.ok) throw new Error(`GET ${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as T
  }

  async post<T>(path: string, body: unknown = {}): Promise<T> {
    const answer = await fetch(`${this.url}api/v1/${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${this.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as T
  }

  topology(): Promise<Topology> { return this.get('topology') }
  status(): Promise<Status> { return this.get('status') }
  link(id: string): Promise<LinkState> { return this.get(`links/${encodeURIComponent(id)}`) }
  switchState(id: string): Promise<{ state: string; routing?: string }> { return this.get(`switches/${encodeURIComponent(id)}?forwarding=false`) }
  faults(): Promise<Report[]> { return this.get('faults') }
  heal(): Promise<unknown> { return this.post('heal') }

  // linkmon runs a command to its end and returns what it printed.
  async linkmon(...args: string[]): Promise<string> {
    const p = this.spawnLinkmon(args)
    let out = ''
    p.stdout!.on('data', (b: Buffer) => (out += b.toString()))
    p.stderr!.on('data', (b: Buffer) => (out += b.toString()))
    const [code] = (await once(p, 'close')) as [number | null]
    if (code !== 0) throw new Error(`linkmon ${args.join(' ')} ended with ${code}: ${out}`)
    return out
  }

  spawnLinkmon(args: string[]): ChildProcess {
    return spawn(join(bin, 'linkmon'), args, { env: this.env, stdio: ['ignore', 'pipe', 'pipe'] })
  }

  // fullScreen runs linkmon as a person sees it, on a terminal of script(1), and reads what it draws.
  fullScreen(): { drawn: Promise<unknown>; end: () => void } {
    const p = spawn('script', ['-qec', `stty rows 40 cols 120; exec ${join(bin, 'linkmon')}`, '/dev/null'], {
      env: { ...this.env, TERM: 'xterm-256color' }, stdio: ['pipe', 'pipe', 'ignore'],
    })
    let bytes = 0
    const drawn = new Promise((resolve, reject) => {
      p.stdout.on('data', (b: Buffer) => {
        bytes += b.length
        if (bytes > 4000) resolve(bytes) // a screenful: more than a message
      })
      p.on('exit', (code) => reject(new Error(`linkmon ended with ${code} before it had drawn a screen`)))
    })
    return { drawn, end: () => p.kill() }
  }
}
