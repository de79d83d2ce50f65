// A WebAssembly module on its way to fabricd: what linkmon load makes of wasm:PATH[:OPTIONS]. fabricd checks it all again.

const most = 8 << 20 // bytes of a module that fabricd takes
const hashDigits = 16 // of its SHA-256 that are in its name

// pathOf is how the routing names a file: a path there holds no colon.
export const pathOf = (file: File): string => file.name.replaceAll(':', '_')

// pin puts the hash of the module into the name of a routing that is one, and returns the module in base64.
export async function pin(routing: string, file: File | null): Promise<{ routing: string; file?: string }> {
  const [kind, path, ...options] = routing.split(':')
  if (kind !== 'wasm' || /@[0-9a-f]{16}$/.test(path ?? '')) return { routing } // fabricd has it, or says that it has not
  if (!file || path !== pathOf(file)) throw new Error('a page cannot open a file by its name: choose it with the button File')
  if (file.size === 0 || file.size > most) throw new Error(`${path} has ${file.size} bytes: expected a module of 1 to ${most}`)
  const bytes = await file.arrayBuffer().catch(() => {
    throw new Error(`${path} cannot be read, or has changed: choose it again`)
  })
  if (!globalThis.crypto?.subtle) throw new Error('a browser hashes files only on this machine or over HTTPS: linkmon load takes the file everywhere')
  const sum = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  const hash = Array.from(sum, (b) => b.toString(16).padStart(2, '0')).join('').slice(0, hashDigits)
  let text = ''
  for (const b of new Uint8Array(bytes)) text += String.fromCharCode(b)
  return { routing: ['wasm', `${path}@${hash}`, ...options].join(':'), file: btoa(text) }
}
