// Figures as people read them.

const number = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

export function count(n: number | undefined): string {
  return number.format(n ?? 0)
}

// short keeps three digits: 12.9k.
export function short(n: number | undefined): string {
  const v = n ?? 0
  for (const [unit, size] of [['G', 1e9], ['M', 1e6], ['k', 1e3]] as const) {
    if (Math.abs(v) >= size) return `${digits(v / size)}${unit}`
  }
  return digits(v)
}

function digits(v: number): string {
  if (v === 0) return '0'
  if (Math.abs(v) >= 100) return v.toFixed(0)
  if (Math.abs(v) >= 10) return v.toFixed(1).replace(/\.0$/, '')
  return v.toFixed(2).replace(/\.?0+$/, '')
}

export function rate(n: number | undefined): string {
  return `${short(n)}/s`
}

// bytes in powers of ten, as rates of links are.
export function bytes(n: number | undefined): string {
  const text = short(n)
  return /[kMG]$/.test(text) ? `${text.slice(0, -1)} ${text.slice(-1)}B` : `${text} B`
}

export function byteRate(n: number | undefined): string {
  return `${bytes(n)}/s`
}

export function percent(share: number | undefined): string {
  return `${((share ?? 0) * 100).toFixed((share ?? 0) >= 0.1 ? 0 : 1)}%`
}

// seconds since the fabric started.
export function clock(s: number): string {
  if (s < 60) return `${s.toFixed(1)} s`
  const m = Math.floor(s / 60)
  if (m < 60) return `${m}:${String(Math.floor(s % 60)).padStart(2, '0')}`
  return `${Math.floor(m / 60)}:${String(m % 60).padStart(2, '0')}:${String(Math.floor(s % 60)).padStart(2, '0')}`
}

export function micro(us: number | undefined): string {
  const v = us ?? 0
  if (v >= 1e6) return `${digits(v / 1e6)} s`
  if (v >= 1000) return `${digits(v / 1000)} ms`
  return `${digits(v)} µs`
}

// span is a time that was measured, in seconds.
export function span(s: number | null | undefined): string {
  return s === null || s === undefined ? '–' : micro(s * 1e6)
}
