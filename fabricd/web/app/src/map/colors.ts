// Colours. Loads are on the viridis scale, which grows evenly in brightness and so reads the same with every kind of colour
// blindness; states are in the colours of Okabe and Ito, and each also has a dash and a badge of its own.

export type Rgb = readonly [number, number, number]

export interface Theme {
  name: 'dark' | 'light'
  background: string
  text: string
  faint: string
  switchFill: Rgb
  switchLevel: Rgb // the part of it that is full
  switchBorder: Rgb
  nicFill: Rgb
  idle: Rgb
  load: readonly Rgb[]
  cut: Rgb
  silent: Rgb
  impaired: Rgb
  coming: Rgb
  down: Rgb
  reroute: Rgb
  uturn: Rgb
  vector: Rgb
  firmware: Rgb // another than the fabric's
  blocked: Rgb
  deadlock: Rgb
  packet: Rgb
  path: Rgb // of a connection
  select: Rgb
}

// hex reads #rrggbb.
export function hex(s: string): Rgb {
  const n = parseInt(s.slice(1), 16)
  return [n >> 16, (n >> 8) & 255, n & 255]
}

export function css([r, g, b]: Rgb, alpha = 1): string {
  return `rgba(${Math.round(r)},${Math.round(g)},${Math.round(b)},${alpha})`
}

// Points of viridis (van der Walt and Smith 2015) that stand out from the dark.
const viridis = ['#3b528b', '#31688e', '#26828e', '#1f9e89', '#35b779', '#6ece58', '#b5de2b', '#fde725'].map(hex)
// On white the far end must be the dark one: pale blue into viridis' own dark end.
const pale = ['#b4c3d8', '#94b2cd', '#6f9cc0', '#4b84b0', '#31688e', '#374f8b', '#432f7d', '#440154'].map(hex)

export const dark: Theme = {
  name: 'dark',
  background: '#0c131f',
  text: '#dfe7f3',
  faint: '#7f8da3',
  switchFill: hex('#1b2a42'),
  switchLevel: hex('#5878a6'),
  switchBorder: hex('#8fb0de'),
  nicFill: hex('#52647f'),
  idle: hex('#3b4c69'),
  load: viridis,
  cut: hex('#ff6f3c'),
  silent: hex('#e58bc0'),
  impaired: hex('#e69f00'),
  coming: hex('#56b4e9'),
  down: hex('#76808f'),
  reroute: hex('#3cc9a0'),
  uturn: hex('#56b4e9'),
  vector: hex('#f0e442'),
  firmware: hex('#b79cf2'),
  blocked: hex('#ff9f6b'),
  deadlock: hex('#ff3d6e'),
  packet: hex('#ffffff'),
  path: hex('#e9f2ff'),
  select: hex('#ffffff'),
}

export const light: Theme = {
  name: 'light',
  background: '#f6f8fb',
  text: '#16202f',
  faint: '#5f6b7c',
  switchFill: hex('#ffffff'),
  switchLevel: hex('#a9bfdd'),
  switchBorder: hex('#34547f'),
  nicFill: hex('#9aa7ba'),
  idle: hex('#d3d9e2'),
  load: pale,
  cut: hex('#d55e00'),
  silent: hex('#b0437f'),
  impaired: hex('#b97b00'),
  coming: hex('#0072b2'),
  down: hex('#8a929d'),
  reroute: hex('#009e73'),
  uturn: hex('#0072b2'),
  vector: hex('#8a7a00'),
  firmware: hex('#6a3fb5'),
  blocked: hex('#c24d00'),
  deadlock: hex('#c4003c'),
  packet: hex('#111111'),
  path: hex('#1b2a42'),
  select: hex('#111111'),
}

// scale is the colour of a share of 0 to 1. Low shares get a little more of the scale, since links are seldom full.
export function scale(theme: Theme, share: number): Rgb {
  const colors = theme.load
  const at = Math.pow(Math.min(1, Math.max(0, share)), 0.7) * (colors.length - 1)
  const k = Math.min(colors.length - 2, Math.floor(at))
  const a = colors[k]!
  const b = colors[k + 1]!
  const t = at - k
  return [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t, a[2] + (b[2] - a[2]) * t]
}
