// What GET /api/v1/switches/{id} answers.

export interface SwitchDetail {
  id?: string
  state?: string
  firmware?: string
  held?: number
  stats?: Record<string, number>
  ports?: PortDetail[]
  registers?: RegisterDetail[]
  discards?: Record<string, number>
  blocked?: unknown[]
  table?: TableEntry[] | null
  process?: string
}

export interface PortDetail {
  port: number
  peer?: string
  link?: string
  state?: string
  lost?: number
  vcs?: VcDetail[]
}

export interface VcDetail {
  vc?: number
  input?: number
  output?: number
  credits?: number
  stalls?: Record<string, number>
}

export interface RegisterDetail {
  name: string
  width?: number
  value?: number | string
}

export interface TableEntry {
  dst?: string
  port?: number
  ports?: number[]
}
