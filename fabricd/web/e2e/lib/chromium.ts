// Which browser, and how to start it where there is no screen and no graphics card.

import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const names = ['chromium', 'chromium-browser', 'google-chrome']

// found looks for the browser in WEFT_CHROMIUM, else on the PATH.
function found(): string {
  if (process.env.WEFT_CHROMIUM) return process.env.WEFT_CHROMIUM
  for (const dir of (process.env.PATH ?? '').split(delimiter)) {
    for (const name of names) {
      try {
        accessSync(join(dir, name), constants.X_OK)
        return join(dir, name)
      } catch {
        // not there
      }
    }
  }
  throw new Error(`no browser: install one of ${names.join(', ')}, or name it in WEFT_CHROMIUM`)
}

export function chromium() {
  return {
    executablePath: found(),
    // WebGL without a graphics card, and the rest of the page without WebGL's renderer, as a browser has it there: it would take
    // several times as long. As root there is no sandbox.
    args: ['--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--disable-gpu-compositing', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])],
  }
}
